"""Recipes: a run as a function that returns its whole configuration."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from linkwalk.learn.clone import CloneConfig
from linkwalk.learn.encoders.spans import SpanConfig
from linkwalk.learn.rewards.impala import ImpalaConfig
from linkwalk.policy.heads import HeadConfig

Config = TypeVar("Config")


def _by_name(*recipes: Callable[[int], Config]) -> dict[str, Callable[[int], Config]]:
    """Recipes under the names that people call them by."""
    return {recipe.__name__.replace("_", "-"): recipe for recipe in recipes}


def ours(width: int) -> CloneConfig:
    """The compass, cloned on its own walks with a map: minutes on a CPU."""
    return CloneConfig(
        head=HeadConfig(head="compass", width=width, dropout=0.7),
        walks="own",
        steps=40,
        multistep=True,
        batch=512,
        updates=400,
        edge_dropout=0.0,
        learning_rate=3e-4,
        schedule="cosine",
        warmup=40,
        weight_decay=0.1,
        trust=0.5,
    )


def residual(width: int) -> CloneConfig:
    """The head that starts as the cosine and sees the current page, cloned from shortcut walks of up to 20 steps."""
    return CloneConfig(head=HeadConfig(head="residual", width=width))


def paper(width: int) -> CloneConfig:
    """RFBC for one T: the feed-forward policy on forward walks; ``steps`` is T (tables 1 and 2, app. B.2)."""
    return CloneConfig(
        head=HeadConfig(head="feedforward", width=width),
        walks="forward",
        steps=20,
        multistep=False,
        batch=512,
        updates=50_000,
        edge_dropout=0.5,
        optimiser="rmsprop",
        learning_rate=0.01,
        decay=0.9,
        epsilon=1e-10,
        epsilon_inside=True,
        weight_decay=0.0,
        validation=0.0,
    )


def paper_multistep(width: int) -> CloneConfig:
    """One policy for walks of Uniform(1, 20) steps (sec. 4.1)."""
    return replace(paper(width), multistep=True)


def paper_reverse(width: int) -> CloneConfig:
    """Walks back from a uniform goal (table 1)."""
    return replace(paper(width), walks="reverse")


def paper_shortest(width: int) -> CloneConfig:
    """Shortest paths between the ends of forward walks (table 1); ``exact=true`` is section 3.1's reading."""
    return replace(paper(width), walks="shortest")


def paper_mlp(width: int) -> CloneConfig:
    """Appendix B.1's head, as wide as the embeddings, with everything else as in ``paper``."""
    return replace(paper(width), head=HeadConfig(head="mlp", width=width, hidden=width))


def paper_transformer(width: int) -> CloneConfig:
    """The transformer over the trajectory, with everything else as in ``paper`` but its learning rate (app. B.3)."""
    return replace(paper(width), head=HeadConfig(head="transformer", width=width), learning_rate=1e-4)


RECIPES = _by_name(
    ours, residual, paper, paper_multistep, paper_reverse, paper_shortest, paper_mlp, paper_transformer
)
"""By name, for an embedding's width. The paper's random features (RF) are ``paper`` on ``embed --encoder random``."""


def paper_spans(width: int) -> SpanConfig:
    """Appendix B.1: all weights, three million updates; months of one GPU on the English Wikipedia."""
    return SpanConfig(head=HeadConfig(head="mlp", width=width, hidden=width))


def paper_spans_feedforward(width: int) -> SpanConfig:
    """The same with the inner product of section 4.2 in place of the hidden layer."""
    return SpanConfig(head=HeadConfig(head="feedforward", width=width))


def spans(width: int) -> SpanConfig:
    """Ours: the same actions under a head that starts as the cosine; minutes on a GPU."""
    return SpanConfig(
        head=HeadConfig(head="compass", width=width),
        walks="shortcut",
        picks=4,
        updates=600,
        learning_rate=5e-5,
        warmup=60,
        pace=10.0,
    )


ENCODERS = _by_name(spans, paper_spans, paper_spans_feedforward)
"""Trainings of phi itself, by name, for its width."""


def rl(width: int) -> ImpalaConfig:
    """Reinforcement learning as the paper did it, one setting of its sweep; ``steps`` is T (table 2, app. B.2)."""
    return ImpalaConfig(head=HeadConfig(head="feedforward", width=width))


def rl_fine_tune(width: int) -> ImpalaConfig:
    """The same for 10,000 updates, from a cloned policy on (app. B.4)."""
    return replace(rl(width), updates=10_000)


def rl_compass(width: int) -> ImpalaConfig:
    """Ours: a compass fine-tuned by reward, in steps that do not undo at once what it was taught."""
    return replace(
        rl(width),
        head=HeadConfig(head="compass", width=width),
        steps=20,
        multistep=True,
        updates=10_000,
        learning_rate=1e-5,
        entropy_cost=0.001,
        value_hidden=256,
    )


REWARDED = _by_name(rl, rl_fine_tune, rl_compass)
"""Trainings by reward, by name, for an embedding's width; the paper's random features are ``rl`` on those."""

SWEEP = tuple(
    (f"entropy_cost={cost}", f"discount={gamma}") for cost in (0.1, 0.01, 0.001) for gamma in (0.8, 0.9)
)
"""The settings of ``rl`` that the paper takes the best of, for each experiment (app. B.2)."""
