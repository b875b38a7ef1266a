"""Joint training of phi and the policy on many wikis (sec. 4.2, 5.3; app. B.1, B.3).

The encoder and the compass learn together from lessons (``lessons``): goals of one wiki, pages seen on the way to them,
and every page's distance to every goal. With V the pages' vectors of unit length and q the direction of a goal, the
terms of the loss are

step       the right links of a page among its unseen ones, as in ``own_walks``;
wiki       the pages nearest to a goal among all pages of the lesson, those on the walks to other goals too: which
           pages of the wiki lead to such a goal, whatever page they are linked from;
sentence   both once more, with one sentence of the goal in place of its text (sec. 4.1), turned by a matrix of its own;
search     a sentence is nearest to its own block among the lesson's, so that the table serves to search as well.

Labels are soft: a page one click further is e^-3 as right.
"""

import time
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize, one_hot

from linkwalk.arrays import Int32s
from linkwalk.graph.csr import owners
from linkwalk.graph.store import TYPES
from linkwalk.learn.encoders.lessons import Ground, Lesson, LessonConfig, Teacher
from linkwalk.learn.encoders.phi import BertPhi
from linkwalk.learn.encoders.word_phi import WordPhi
from linkwalk.learn.loop import LoopConfig, Training
from linkwalk.learn.own_walks import SHARPNESS
from linkwalk.navigate.moves import MapConfig, MoveConfig
from linkwalk.policy.compass import LinearCompass
from linkwalk.policy.heads import CompassHead, HeadConfig, highest, shared_likelihood
from linkwalk.settings import Count, CountOrNone, NotNegative, Share


@dataclass(frozen=True, kw_only=True)
class JointConfig(LoopConfig):
    """How phi and the compass are trained."""

    updates: Count = 450
    learning_rate: NotNegative = 1e-4
    head_rate: NotNegative = 10.0
    """The compass's learning rate, times phi's."""
    warmup: CountOrNone = 40
    weight_decay: NotNegative = 0.01
    lessons: Count = 4
    """Lessons in an update, of as many wikis as chance has it."""
    lesson: LessonConfig = field(default_factory=LessonConfig)
    wiki: NotNegative = 1.0
    sentence: NotNegative = 1.0
    search: NotNegative = 0.2
    """What the terms of the loss weigh beside the first."""
    temperature: float = 20.0
    """By which cosines are multiplied at the start."""
    refresh_every: CountOrNone = 150
    """Updates between two readings of all blocks; those that are learned from are seen anew at once.

    0: walkers go on as untrained as they began, and lessons are made of such walks.
    """
    even: NotNegative = 0.5
    """How often a wiki is learned from: in proportion to its number of blocks to this power."""
    trust: Share = 0.6
    """How far the weights that are kept lie from the first ones (0) to the trained ones (1).

    All the way is best on wikis like those that were trained on, and worse on others.
    """
    kept_rank: Count = 32
    """Of each layer's change so many directions are kept (``embed.encoder_change``)."""
    rank: CountOrNone = 0
    """Of adapters that are trained in place of the transformer's own matrices; 0: these themselves."""
    ahead: CountOrNone = 64
    """Lessons that are drawn ahead; 0: none, and a run can be repeated."""
    map: MapConfig = field(default_factory=lambda: MapConfig(detour=0.03, crowding=0.08, likeness=0.5))
    """What walkers trade against what: those that make the lessons, and those that go by what is trained.

    Pages that lead to the same goals come to lie closer together than MiniLM has them.
    """


JointSettings = TypeVar("JointSettings", bound=JointConfig, covariant=True)


@dataclass(eq=False)
class Joint(Training[JointSettings]):
    """phi and a compass that learn from lessons on some grounds."""

    phi: BertPhi | WordPhi
    grounds: list[Ground]
    device: torch.device

    def begin(self) -> None:
        """Begin with a compass that points at the goal, and lessons of walks by it."""
        config, width = self.config, self.phi.width
        head = HeadConfig(head="compass", width=width, temperature=config.temperature)
        self.compass = CompassHead(head).to(self.device)
        self.reader = nn.Linear(width, width, bias=False, device=self.device)
        """What turns the vector of a sentence, before the compass looks at it (``policy.target``)."""
        nn.init.zeros_(self.reader.weight)
        self.scales = nn.Parameter(torch.zeros(2, device=self.device))
        """Logarithms of the temperatures of ``wiki`` and ``search``, as far as they have moved."""
        self._seen: list[tuple[int, Int32s, Tensor]] = []
        self._copied = (
            torch.cuda.Event() if self.device.type == "cuda" else None  # type: ignore[no-untyped-call]
        )
        self._noted = 0
        self.waited = 0.0
        """Seconds in which there was no lesson to learn from."""
        self._direction = self.look()
        sizes = np.array([ground.forward.nodes for ground in self.grounds], np.float64) ** config.even
        shares, ways = sizes / sizes.sum(), MoveConfig(map=config.map)
        self.teacher = Teacher(
            self.grounds, shares, lambda: self._direction, ways, self.rng, ahead=config.ahead
        )

    def loss(self, update: int) -> Tensor:
        """Of fresh lessons."""
        config = self.config
        if config.refresh_every and update > 1 and (update - 1) % config.refresh_every == 0:
            self.refresh()
        clock = time.monotonic()
        lessons = [self.teacher.lesson() for _ in range(config.lessons)]
        self.waited += time.monotonic() - clock
        self._note()
        vectors = self.phi.vectors(
            [(lesson.ground, lesson.pages) for lesson in lessons],
            [sentence for lesson in lessons for sentence in lesson.sentences],
        )
        counts = [len(lesson.pages) for lesson in lessons]
        counts += [len(lesson.sentences) for lesson in lessons]
        parts = torch.split(normalize(vectors, dim=-1), counts)
        self._seen = [
            (lesson.ground, lesson.pages, self._to_host(part))
            for lesson, part in zip(lessons, parts, strict=False)
        ]
        if self._copied is not None:
            self._copied.record()
        terms = [
            self._terms(lesson, pages, read)
            for lesson, pages, read in zip(lessons, parts, parts[len(lessons) :], strict=False)
        ]
        mean = torch.stack(terms).mean(0)
        self._last = mean.detach()
        return (mean[:4] * mean.new_tensor([1.0, config.wiki, config.sentence, config.search])).sum()

    def _terms(self, lesson: Lesson, pages: Tensor, read: Tensor) -> Tensor:
        """The four terms of one lesson, and how often the right link would be taken [5]."""
        device = pages.device
        own = torch.from_numpy(np.searchsorted(lesson.pages, lesson.goals)).to(device)
        away = torch.from_numpy(lesson.distance).to(device).float()
        step, wiki, right = self._paths(lesson, pages, pages[own], away)
        if not len(read):
            none = step.new_zeros(())
            return torch.stack((step, wiki, none, none, right))
        turned = normalize(read + self.reader(read), dim=-1)
        by_step, by_wiki, _ = self._paths(lesson, pages, turned, away)
        cosines = self.config.temperature * self.scales[1].exp() * (read @ pages.T)
        search = cross_entropy(cosines, own)
        return torch.stack((step, wiki, by_step + by_wiki, search, right))

    def _paths(
        self, lesson: Lesson, pages: Tensor, goals: Tensor, away: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The terms ``step`` and ``wiki`` for goals [G, D] as they are shown, and the share of right links."""
        device = pages.device
        cosines = self.compass.direction(goals) @ pages.T  # [G, C]
        goal, owner, page, kind = (
            torch.from_numpy(x).to(device)
            for x in (lesson.goal, owners(lesson.bounds), lesson.page, lesson.kind)
        )
        at = goal[owner] * cosines.shape[1] + page
        kinds = one_hot(kind.long(), len(TYPES)).float()
        logits = self.compass.scaled(cosines.flatten().index_select(0, at), kinds)
        share = _share(away.flatten()[at], owner, len(goal))
        step, right = shared_likelihood(logits, owner, share, len(goal))
        # The goal itself is not among what leads to it.
        itself = away == 0
        away = away.masked_fill(itself, torch.inf)
        wanted = torch.softmax(-SHARPNESS * (away - away.min(1, keepdim=True).values), 1)
        whole = self.config.temperature * self.scales[0].exp() * cosines
        among = whole.masked_fill(itself, -torch.inf).log_softmax(1).masked_fill(itself, 0.0)
        return step, -(wanted * among).sum(1).mean(), right

    def refresh(self) -> None:
        """Read all blocks anew, so that walkers see what phi sees now."""
        self._seen = []
        for number, ground in enumerate(self.grounds):
            ground.table[:] = self.phi.table(number)

    def _to_host(self, rows: Tensor) -> Tensor:
        """A copy that is under way: nobody waits for it before the next update."""
        host = torch.empty(rows.shape, pin_memory=self.device.type == "cuda")
        return host.copy_(rows.detach(), non_blocking=True)

    def _note(self) -> None:
        """Put what the update before has read into the tables, and look where the compass looks now."""
        if not self.config.refresh_every:
            return
        if self._copied is not None:
            self._copied.synchronize()
        for ground, pages, vectors in self._seen:
            self.grounds[ground].table[pages] = vectors.numpy()
        self._noted += 1
        if self._noted % 8 == 0:  # it moves slowly, and looking waits for the device
            self._direction = self.look()

    def look(self) -> LinearCompass:
        """Where the compass looks now, for walkers."""
        turn = self.compass.turn
        return LinearCompass(*(x.detach().cpu().float().numpy() for x in (turn.weight, turn.bias)))

    def row(self) -> dict[str, float]:
        """The terms, and how often the right link would be taken."""
        step, wiki, sentence, search, right = self._last.tolist()
        return {"accuracy": right, "step": step, "wiki": wiki, "sentence": sentence, "search": search}

    def parameters(self) -> list[nn.Parameter]:
        """Of phi and of the compass."""
        return [*self.phi.parameters(), *self._head()]

    def _head(self) -> list[nn.Parameter]:
        return [*self.compass.parameters(), *self.reader.parameters(), self.scales]

    def weights(self) -> dict[str, Tensor]:
        """The same by name."""
        found = {f"phi.{name}": value for name, value in self.phi.weights().items()}
        found |= {f"compass.{name}": value.detach() for name, value in self.compass.named_parameters()}
        return found | {"reader.weight": self.reader.weight.detach(), "scales": self.scales.detach()}

    def optimiser(self) -> torch.optim.Optimizer:
        """AdamW, quicker for the compass."""
        return self.adamw(self.groups(), fused=self.device.type == "cuda")

    def groups(self) -> list[dict[str, Any]]:
        """The weights, and by what the learning rate is multiplied for them."""
        parts = (self.phi.parameters(), 1.0), (self._head(), self.config.head_rate)
        return [{"params": weights, "scale": scale} for weights, scale in parts]


def _share(away: Tensor, owner: Tensor, decisions: int) -> Tensor:
    """How right each action is [A], by its distance; 1 in all for a decision."""
    nearest = -highest(-away, owner, decisions)
    share = torch.exp(-SHARPNESS * (away - nearest[owner]))
    return share / torch.zeros(decisions, device=away.device).scatter_add(0, owner, share)[owner]
