"""The held-out bound of every trajectory distribution, for policies cloned from each of them (app. D)."""

import itertools
from typing import Any

from linkwalk.evaluate.bound import (
    DISTRIBUTIONS,
    Bound,
    Likelihood,
    bound,
    draw_trajectories,
    of_head,
    uniform,
)
from linkwalk.policy.heads import HeadConfig, NodeTable, build_head
from linkwalk.reproduce.runner import Contender, Runner
from linkwalk.reproduce.tables import Size

TRAJECTORIES = 2000


def run_bounds(
    runner: Runner, size: Size, *, steps: int, trajectories: int = TRAJECTORIES
) -> dict[str, list[Bound]]:
    """Bounds on the unseen half by policy: clicking at random, by cosine, and both heads cloned from each distribution.

    The paper's head is cloned by its recipe, ours by ours, from walks of exactly T steps.
    """
    graph, table = runner.eval, runner.table(runner.halves.eval)
    on_device = NodeTable.of(table.vectors, runner.device)
    # The residual head before any training is the softmax of the cosine, at a temperature of 1/20.
    cosine = build_head(HeadConfig(head="residual", width=table.width)).to(runner.device).eval()
    policies: dict[str, Likelihood] = {"random": uniform, "cosine": of_head(cosine, on_device)}
    for recipe, walks in itertools.product(("paper", "ours"), DISTRIBUTIONS):
        settings = (f"walks={walks}", f"steps={steps}", "multistep=false", *size.settings())
        head = runner.head(Contender(recipe=recipe, settings=settings))
        policies[f"{recipe}, {walks}"] = of_head(head, on_device)
    count = min(size.episodes, trajectories)
    drawn = draw_trajectories(graph.forward, graph.reverse, steps=steps, count=count, seed=size.seed)
    return {
        name: [bound(q, drawn[q], graph.forward, graph.out_kinds, policy) for q in DISTRIBUTIONS]
        for name, policy in policies.items()
    }


def to_json(found: dict[str, list[Bound]]) -> list[dict[str, Any]]:
    """As ``linkwalk reproduce bound --json`` prints it."""
    return [{"policy": name, **one._asdict()} for name, bounds in found.items() for one in bounds]


def bound_lines(found: dict[str, list[Bound]]) -> list[tuple[str, ...]]:
    """A policy a line, a trajectory distribution a column: the bound in nats, and its standard error."""
    head = ("policy", *(f"q = {one.distribution}" for one in next(iter(found.values()))))
    rows = (
        (name, *(f"{b.bound:.2f} ± {b.standard_error:.2f}" for b in bounds)) for name, bounds in found.items()
    )
    return [head, *rows]
