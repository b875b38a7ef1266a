"""One of several processes that train together: ``python -m tests.learn.ranked GRAPH MODEL FOLDER``."""

import json
import sys
from pathlib import Path

import numpy as np
import torch

from linkwalk.embed.transformer import open_transformer
from linkwalk.graph.store import Graph
from linkwalk.learn.clone import CloneConfig, clone
from linkwalk.learn.encoders.joint import JointConfig
from linkwalk.learn.encoders.lessons import LessonConfig
from linkwalk.learn.encoders.spans import SpanConfig, train_spans
from linkwalk.learn.encoders.wikis import train_on_wikis
from linkwalk.learn.metrics import read_rows
from linkwalk.learn.ranks import joined
from linkwalk.policy.heads import HeadConfig

WIDTH = 16


def main(workspace: Path, model: Path, folder: Path) -> dict[str, list[float]]:
    """Train a policy, an encoder and both together; the losses that were written, and the sums of the last weights."""
    graph = Graph.open(workspace)
    vectors = np.random.default_rng(0).standard_normal((graph.nodes, WIDTH)).astype(np.float32)
    cloned = CloneConfig(
        head=HeadConfig(head="feedforward", width=WIDTH), walks="forward", steps=5, batch=20, updates=6
    )
    head = clone(
        graph.forward, graph.reverse, np.array(graph.out_kinds), vectors, cloned, folder=folder / "policy"
    )
    spans = SpanConfig(
        head=HeadConfig(head="feedforward", width=WIDTH),
        steps=4,
        batch=14,
        updates=4,
        warmup=1,
        max_tokens=32,
        sentences=0.5,
        learning_rate=1e-3,
    )
    encoder = open_transformer(str(model), device="cpu")
    trained = train_spans(graph, encoder, spans, folder=folder / "encoder")
    # Tables are read anew at every update: what a process has learned from since, it alone would have seen.
    lessons = LessonConfig(goals=6, steps=5, links=4)
    wikis = JointConfig(updates=3, warmup=1, lessons=2, lesson=lessons, refresh_every=1, ahead=0)
    joint = train_on_wikis([graph], str(model), wikis, folder=folder / "wikis")
    assert joint.config == wikis
    return {
        "wikis": [row["loss"] for row in read_rows(folder / "wikis")],
        "policy": [row["loss"] for row in read_rows(folder / "policy")],
        "encoder": [row["loss"] for row in read_rows(folder / "encoder")],
        "weights": [
            sum(w.double().sum().item() for w in m.parameters())
            for m in (head, trained, joint.compass, joint.phi.bert.model)
        ],
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    with joined("cpu") as (team, _):
        found = main(*map(Path, sys.argv[1:3]), Path(sys.argv[3]) / str(team.number))
    print(json.dumps(found))
