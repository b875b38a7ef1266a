"""Trains the cross-encoder: of each list of sentences the one that bears on the query must come first (sec. 4.3).

A list is a query, sentences that are evidence, and hard negatives: what TF-IDF and BM25 would have put first. In each
visit one piece of evidence stands against ``negatives`` others, and the loss is the softmax's over their scores.
Shapes: Q lists of a batch, K sentences each.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from linkwalk.embed.transformer import open_transformer, padded, pair_tokens
from linkwalk.errors import InputError
from linkwalk.learn.limits import at_least
from linkwalk.learn.loop import HeldOutScore, RunOptions, Training, ValidationConfig, seeded, train
from linkwalk.records import read_records
from linkwalk.retrieve.cross import CrossConfig, cosines, passage
from linkwalk.retrieve.cross_model import CrossModel


class SentenceList(NamedTuple):
    """A query with what should come first and what should not; sentences as (title, text)."""

    query: str
    positives: list[tuple[str, str]]
    negatives: list[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class SentenceRankingConfig(ValidationConfig):
    """How a cross-encoder is trained."""

    lists: int = 4
    """Q: queries of a batch."""
    negatives: int = 7
    """K - 1: what each piece of evidence stands against."""
    warmup: int = 50
    max_tokens: int = 96
    """Of a pair, while training."""
    held_out: int = 0
    """Queries that are not trained on: by the loss on their lists the best weights are kept."""
    evaluate_every: int = 50
    patience: int = 0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        super().__post_init__()
        at_least(self, lists=1, negatives=1, max_tokens=8, held_out=0)


def read_lists(path: Path) -> list[SentenceList]:
    """Lists as JSON lines: ``query``, ``positives`` and ``negatives``, each sentence as [title, text]."""
    records, damage = read_records(path)
    if damage:
        raise InputError(f"{path}, line {damage[0].line}: {damage[0].reason}")
    found = []
    for number, record in records:
        try:
            query, good, bad = (record[name] for name in SentenceList._fields)
            if not isinstance(query, str):
                raise ValueError
            found.append(SentenceList(query, _sentences(good), _sentences(bad)))
        except (KeyError, ValueError):
            raise InputError(
                f"{path}, line {number}: no query with positives and negatives as [title, text]"
            ) from None
    return found


def _sentences(value: Any) -> list[tuple[str, str]]:
    """Sentences as (title, text); anything else is an error."""
    found = []
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, list) or [type(part) for part in one] != [str, str]:
            raise ValueError
        found.append((one[0], one[1]))
    return found


Seen = tuple[float, float, float]
"""Of some lists: the loss, how often the evidence is first, and by the cosine alone."""


class SentenceRanking(Training):
    """A cross-encoder that learns to put evidence first."""

    log_every = 25

    def __init__(
        self, lists: Sequence[SentenceList], config: CrossConfig, training: SentenceRankingConfig, device: str
    ) -> None:
        super().__init__(training)
        self.evaluate_every, self.patience = training.evaluate_every, training.patience
        self.settings = training
        self.lists, self.held_out = _hold_out(list(lists), training.held_out, self.rng)
        self.plain = open_transformer(config.encoder, device=device)
        other = open_transformer(config.encoder, device=device)
        # What learns is in float32 on a GPU, too, and there only the products are rounded (see ``_score``).
        self.model = CrossModel(other.model.float(), config.rank).to(self.plain.device)
        self.model.eval()  # no dropout: what is trained is small
        self.order: list[int] = []
        """The lists to come."""
        self.recent: deque[Seen] = deque(maxlen=self.log_every)

    def loss(self, update: int) -> Tensor:
        """Of the next lists."""
        while len(self.order) < self.settings.lists:
            self.order += self.rng.permutation(len(self.lists)).tolist()
        chosen = [self.lists[i] for i in self.order[: self.settings.lists]]
        self.order = self.order[self.settings.lists :]
        loss, seen = self._score(chosen, self.rng)
        self.recent.append(seen)
        return loss

    def row(self) -> dict[str, Any]:
        """The mean of the last updates, and what the two cosines weigh."""
        return _mean(self.recent) | {"scales": self.model.scales.tolist()}

    @torch.no_grad()
    def validate(self) -> HeldOutScore | None:
        """The lists held out, always against the same negatives."""
        if not self.held_out:
            return None
        rng, count = np.random.default_rng(self.settings.seed), self.settings.lists
        batches = [self.held_out[at : at + count] for at in range(0, len(self.held_out), count)]
        mean = _mean([seen for some in batches for seen in [self._score(some, rng)[1]] * len(some)])
        return HeldOutScore(-mean["loss"], {f"held_out_{name}": value for name, value in mean.items()})

    def _score(self, lists: Sequence[SentenceList], rng: np.random.Generator) -> tuple[Tensor, Seen]:
        """The loss of some lists, and what is seen of them."""
        queries, texts = _draw(lists, self.settings.negatives, rng)
        ids, types = pair_tokens(self.plain.tokenizer, queries, texts, self.settings.max_tokens)
        each, device = list(dict.fromkeys(queries)), self.plain.device
        owner = np.array([each.index(query) for query in queries])
        cosine_P = torch.from_numpy(cosines(self.plain, each, texts, owner)).to(device)
        # bfloat16 on a GPU alone: on some CPUs it ends the process.
        with torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
            score_P = self.model(*padded(self.plain.tokenizer, ids, types, device), cosine_P)
        score_QK = score_P.float().view(len(lists), -1)
        right = torch.zeros(len(lists), dtype=torch.long, device=device)
        loss = nn.functional.cross_entropy(score_QK, right)
        first, plainly = (
            x.argmax(1).eq(0).float().mean().item() for x in (score_QK, cosine_P.view(len(lists), -1))
        )
        return loss, (loss.item(), first, plainly)

    def parameters(self) -> list[nn.Parameter]:
        """The adapter's, and the scales."""
        return [p for p in self.model.parameters() if p.requires_grad]

    def weights(self) -> dict[str, Tensor]:
        """The same, by name."""
        return self.model.weights()

    def memory(self) -> dict[str, Any]:
        """The lists to come, and what the next row tells of."""
        return {"order": self.order, "recent": list(self.recent)}

    def remember(self, memory: dict[str, Any]) -> None:
        """Go on with them."""
        self.order = [int(number) for number in memory["order"]]
        self.recent.extend((float(a), float(b), float(c)) for a, b, c in memory["recent"])


def train_cross(
    lists: Sequence[SentenceList],
    config: CrossConfig,
    training: SentenceRankingConfig,
    *,
    device: str = "cpu",
    **kept: Unpack[RunOptions],
) -> dict[str, Tensor]:
    """Train on lists and return the weights, the best on those held out."""
    lists = [x for x in lists if x.positives and len(x.negatives) >= training.negatives]
    if not lists:
        raise InputError(f"no list has evidence and {training.negatives} negatives: give more of either")
    with seeded(training.seed, device):
        ranking = SentenceRanking(lists, config, training, device)
        train(ranking, **kept)
    return ranking.weights()


def _hold_out(
    lists: list[SentenceList], count: int, rng: np.random.Generator
) -> tuple[list[SentenceList], list[SentenceList]]:
    """Some queries apart, with all their lists."""
    queries = sorted({x.query for x in lists})
    if count >= len(queries):
        raise InputError(f"held_out={count}: there are {len(queries)} queries, and some must be trained on")
    apart = {queries[i] for i in rng.permutation(len(queries))[:count]}
    return [x for x in lists if x.query not in apart], [x for x in lists if x.query in apart]


def _mean(seen: Iterable[Seen]) -> dict[str, float]:
    return dict(zip(("loss", "first", "first_by_cosine"), np.mean(list(seen), 0).tolist(), strict=True))


def _draw(
    chosen: Sequence[SentenceList], negatives: int, rng: np.random.Generator
) -> tuple[list[str], list[str]]:
    """For each list one piece of evidence and then negatives, with the query beside each."""
    queries, texts = [], []
    for ranked in chosen:
        good = ranked.positives[rng.integers(len(ranked.positives))]
        bad = [ranked.negatives[i] for i in rng.choice(len(ranked.negatives), negatives, replace=False)]
        texts += [passage(*sentence) for sentence in (good, *bad)]
        queries += [ranked.query] * (1 + negatives)
    return queries, texts
