"""A wiki's own encoder and compass: the word table of ``words``, trained on the wiki it was made from.

What is learned, and from what, is as in ``joint``: lessons of the policy's own walks. Here phi is ``WordPhi``, there is
one wiki, and all of it is done by a CPU in minutes. Goals in some of the articles are withheld: a tenth, where what was
gained is measured afterwards, and some more, on which the best weights are chosen. Links to and from them are there as
for any reader, but nobody is taught how to find them, or to pass them by. No weight belongs to a block.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Unpack

import numpy as np
import torch

from linkwalk.arrays import Bools, Float32s
from linkwalk.embed.word_projection import WordProjection
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.graph.held_out import WITHHELD, held_out_nodes
from linkwalk.graph.paths import ShortestPaths
from linkwalk.graph.store import Graph
from linkwalk.learn.encoders.joint import Joint, JointConfig
from linkwalk.learn.encoders.lessons import Ground, LessonConfig
from linkwalk.learn.encoders.row_adam import RowAdam
from linkwalk.learn.encoders.word_phi import WordPhi, evened, tfidf_rows
from linkwalk.learn.limits import at_least
from linkwalk.learn.loop import HeldOutScore, RunOptions, seeded, train
from linkwalk.navigate import Agent, Episodes
from linkwalk.navigate.compass import CompassWalker
from linkwalk.navigate.ways import MapConfig, Ways
from linkwalk.policy.heads import CompassHead
from linkwalk.walks import ForwardWalks

CHOOSING = 0.1
"""Share of the articles whose goals tell which weights are best; they are neither trained towards nor reported."""
EPISODES, STEPS, BUDGET = 6000, 20, 100
"""Of a look at those: episodes of Uniform(1, STEPS) steps."""
_STRAIGHT = 0.25  # what a straight way weighs beside a goal that is reached
_FEWEST = 20
_ATTEMPTS = 50


@dataclass(frozen=True, kw_only=True)
class WordTableConfig(JointConfig):
    """How a wiki's word table and compass are trained."""

    updates: int = 4000
    learning_rate: float = 2e-3
    """Of the table, whose rows are 1 long on average at the start."""
    head_rate: float = 0.15
    warmup: int = 20
    weight_decay: float = 0.0
    lessons: int = 1
    lesson: LessonConfig = field(default_factory=lambda: LessonConfig(goals=128, picks=4, links=256))
    repeat: int = 8
    """How often a lesson is learned from: to draw one takes three times as long as to learn from it."""
    sentence: float = 0.0
    search: float = 0.0
    refresh_every: int = 50
    ahead: int = 0
    map: MapConfig = field(default_factory=MapConfig)
    back: bool = False
    """Whether the walks that are learned from have a back button."""
    evaluate_every: int = 400
    """Updates between two looks at goals that are withheld."""
    patience: int = 0
    """Stop after that many looks without a better one; 0: never."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        super().__post_init__()
        at_least(self, evaluate_every=1, patience=0, repeat=1)
        if self.sentence or self.search:
            raise InputError("a word table learns from blocks alone: choose sentence=0 and search=0")


class WordTable(NamedTuple):
    """What was trained."""

    fitted: WordProjection
    """The encoder."""
    vectors: Float32s
    """The blocks as it sees them [N, D]."""
    compass: CompassHead


class WordTableTraining(Joint):
    """A word table and a compass that learn from one wiki."""

    clip = 0.0
    settings: WordTableConfig

    def __init__(self, config: WordTableConfig, phi: WordPhi, ground: Ground, goals: "ChoosingGoals") -> None:
        super().__init__(config, phi, [ground], "cpu")
        self.evaluate_every, self.patience = config.evaluate_every, config.patience
        self.teacher.repeat = config.repeat
        self.teacher.ways = Ways(back=config.back, map=config.map)
        self.goals = goals

    def optimiser(self) -> torch.optim.Optimizer:
        """Adam by rows: an update touches the words of some hundred blocks."""
        groups = [
            {"params": self.phi.parameters(), "scale": 1.0},
            {"params": self._head(), "scale": self.settings.head_rate},
        ]
        return RowAdam(groups, lr=self.settings.learning_rate)

    def validate(self) -> HeldOutScore:
        """How often goals that are not trained towards are reached."""
        self.refresh()
        ground = self.grounds[0]
        walker = CompassWalker(
            "policy", self.look(), ground.forward, ground.table, self.teacher.ways, workers=ground.workers
        )
        return self.goals.judge(walker)


class ChoosingGoals:
    """Episodes towards goals that are neither trained towards nor reported: they tell which walker is better."""

    def __init__(self, graph: Graph, seed: int = 0) -> None:
        among = held_out_nodes(graph, CHOOSING, beyond=WITHHELD)
        self.episodes = episodes_towards(graph.forward, among, EPISODES, np.random.default_rng((seed, 1)))
        paths = ShortestPaths(graph.forward, graph.reverse)
        self.distances = paths.distances(self.episodes.starts, self.episodes.goals)

    def judge(self, walker: Agent) -> HeldOutScore:
        """How often it reaches them, and how straight: of a few hundred goals, chance decides between near equals."""
        journeys = walker.run(self.episodes, budget=BUDGET)
        success = float(journeys.success.mean())
        spl = float((journeys.success * self.distances / np.maximum(journeys.steps, 1)).mean())
        return HeldOutScore(success + _STRAIGHT * spl, {"success": success, "spl": spl})


def train_word_table(
    graph: Graph,
    fitted: WordProjection,
    config: WordTableConfig,
    goals: ChoosingGoals,
    **kept: Unpack[RunOptions],
) -> WordTable:
    """Train the encoder that was made from a wiki's text, and a compass, on its links; the best weights are kept."""
    with seeded(config.seed, "cpu"):
        rows = tfidf_rows(graph, fitted)
        phi = WordPhi([rows], evened(fitted.projection))
        ground = Ground(
            graph.forward,
            graph.reverse,
            graph.out_kinds,
            phi.table(0),
            config.lesson,
            withheld=held_out_nodes(graph, WITHHELD + CHOOSING),
            workers=phi.workers,
        )
        training = WordTableTraining(config, phi, ground, goals)
        try:
            with _one_torch_thread():
                train(training, **kept)
        finally:
            training.teacher.close()
    trained = phi.fitted(fitted)
    vectors = WordPhi([rows], trained.projection).table(0)  # in half precision, as others will see them
    return WordTable(trained, vectors, training.compass.eval())


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    """For small matrices: threads that wait for each other in a loop take five times the CPU where others work too."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def episodes_towards(forward: Csr, goals: Bools, count: int, rng: np.random.Generator) -> Episodes:
    """Episodes of Uniform(1, STEPS) steps that end at some of the blocks; where few walks do, fewer of them."""
    walks = ForwardWalks(forward, steps=STEPS, multistep=True, apart=True)
    starts, ends, found = [], [], 0
    for _ in range(_ATTEMPTS):
        drawn = walks.sample(2 * count, rng)
        fine = goals[drawn.goals]
        starts.append(drawn.starts[fine])
        ends.append(drawn.goals[fine])
        found += int(fine.sum())
        if found >= count:
            break
    if found < _FEWEST:
        raise InputError(
            "the wiki is too small to train a table of its own: hardly any walk ends in the articles that are "
            "withheld to see whether it gets better"
        )
    return Episodes.of(np.concatenate(starts)[:count], np.concatenate(ends)[:count])
