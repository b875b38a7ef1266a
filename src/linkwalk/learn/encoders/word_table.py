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
from numpy.random import default_rng

from linkwalk.arrays import Float32s
from linkwalk.embed.words import WordProjection
from linkwalk.errors import InputError
from linkwalk.graph.held_out import WITHHELD, held_out_nodes
from linkwalk.graph.paths import ShortestPaths
from linkwalk.graph.store import Graph
from linkwalk.learn.encoders.joint import Joint, JointConfig
from linkwalk.learn.encoders.lessons import Ground, LessonConfig, episodes_towards
from linkwalk.learn.encoders.row_adam import RowAdam
from linkwalk.learn.encoders.word_phi import WordPhi, evened, tfidf_rows
from linkwalk.learn.loop import HeldOutScore, RunOptions, seeded, train
from linkwalk.navigate import Agent
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.moves import MapConfig, MoveConfig
from linkwalk.policy.heads import CompassHead
from linkwalk.settings import Count, CountOrNone, NotNegative
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

    updates: Count = 4000
    learning_rate: NotNegative = 2e-3
    """Of the table, whose rows are 1 long on average at the start."""
    head_rate: NotNegative = 0.15
    warmup: CountOrNone = 20
    weight_decay: NotNegative = 0.0
    lessons: Count = 1
    lesson: LessonConfig = field(default_factory=lambda: LessonConfig(goals=128, picks=4, links=256))
    repeat: Count = 8
    """How often a lesson is learned from: to draw one takes three times as long as to learn from it."""
    sentence: NotNegative = 0.0
    search: NotNegative = 0.0
    refresh_every: CountOrNone = 50
    ahead: CountOrNone = 0
    map: MapConfig = field(default_factory=MapConfig)
    back: bool = False
    """Whether the walks that are learned from have a back button."""
    evaluate_every: Count = 400
    """Updates between two looks at goals that are withheld."""
    patience: CountOrNone = 0
    """Stop after that many looks without a better one; 0: never."""

    def __post_init__(self) -> None:
        """Refuse to learn from sentences."""
        super().__post_init__()
        if self.sentence or self.search:
            raise InputError("a word table learns from blocks alone: choose sentence=0 and search=0")


class WordTable(NamedTuple):
    """What was trained."""

    fitted: WordProjection
    """The encoder."""
    vectors: Float32s
    """The blocks as it sees them [N, D]."""
    compass: CompassHead


@dataclass(eq=False)
class WordTableTraining(Joint[WordTableConfig]):
    """A word table and a compass that learn from one wiki."""

    clip = 0.0
    goals: "ChoosingGoals"

    def begin(self) -> None:
        """Lessons are learned from several times."""
        super().begin()
        self.teacher.repeat = self.config.repeat
        self.teacher.ways = MoveConfig(back=self.config.back, map=self.config.map)

    def optimiser(self) -> torch.optim.Optimizer:
        """Adam by rows: an update touches the words of some hundred blocks."""
        return RowAdam(self.groups(), lr=self.config.learning_rate)

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
        walks = ForwardWalks(graph.forward, steps=STEPS, multistep=True, apart=True)
        self.episodes = episodes_towards(among, walks, EPISODES, _ATTEMPTS, default_rng((seed, 1)))
        if self.episodes.size < _FEWEST:
            raise InputError(
                "the wiki is too small to train a table of its own: hardly any walk ends in the articles that are "
                "withheld to see whether it gets better"
            )
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
    **run: Unpack[RunOptions],
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
        training = WordTableTraining(config, phi, [ground], torch.device("cpu"), goals)
        try:
            with _one_torch_thread():
                train(training, **run)
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
