"""Train a target encoder on one half of a wiki and search the other by single sentences (sec. 4.1, 4.2).

python runs/sentence.py TRAIN EVAL --out DIR                    train, write the adapter, evaluate
python runs/sentence.py TRAIN EVAL --sweep --episodes 2000      a handful of settings, success of each on EVAL

TRAIN and EVAL are workspaces from ``linkwalk split``, both embedded. Settings are chosen with ``--sweep`` on the halves
of the train half, never on the half that the figures are of. With ``--policy`` the target encoder is trained for that
compass, which stays as it is. Rows: walkers shown the goal itself (what a perfect target encoder would give them), the
sentence through the nodes' encoder (greedy-unvisited is the reference) and the sentence through the target encoder.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from linkwalk.device import choose_device
from linkwalk.embed import Embeddings, Encoder
from linkwalk.evaluate import Result, SentenceQueries, TaskConfig, compare
from linkwalk.graph.store import Graph
from linkwalk.learn.readers.target import Sentences, TargetConfig, train_target
from linkwalk.navigate import REFERENCE, Agent, open_baseline, unit_rows
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.policy.checkpoint import load_policy
from linkwalk.policy.heads import CompassHead
from linkwalk.policy.low_rank import save_target, scaled
from linkwalk.policy.target import TargetEncoder
from linkwalk.progress import Progress
from linkwalk.settings import with_settings

#: What ``--sweep`` tries, each against the default.
SWEEP: tuple[tuple[str, ...], ...] = (
    (),
    ("walks=shortcut",),
    ("learning_rate=2e-4",),
    ("learning_rate=1.5e-3",),
    ("contrastive=0",),
    ("contrastive=1",),
    ("uniform=0",),
    ("uniform=0.6",),
    ("dropout=false",),
    ("cloning=0", "contrastive=1"),
    ("distance=1",),
    ("weight_decay=0.1",),
    ("adapter.rank=8",),
    ("adapter.rank=32",),
    ("adapter.turn=true",),
    ("temperature=0.1",),
)
REFERENCE_LABEL = "greedy-unvisited, sentence"


def named(label: str, name: str, graph: Graph, units: Any) -> Agent:
    """A baseline under another name."""
    agent = open_baseline(name, graph.forward, units, workers=16)
    agent.name = label
    return agent


def main() -> None:
    """Train, evaluate, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train", type=Path)
    parser.add_argument("eval", type=Path)
    parser.add_argument("--embeddings", default="minilm")
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the episodes")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument(
        "--also", action="append", default=[], metavar="KEY=VALUE,...", help="sweep this, too"
    )
    parser.add_argument("--only-also", action="store_true", help="of the sweep only what --also names")
    parser.add_argument("--seconds", type=float, default=540, help="begin no further setting after this long")
    parser.add_argument(
        "--trust", default="", metavar="T,...", help="evaluate with these shares of the change"
    )
    parser.add_argument("--policy", type=Path, help="the compass that the target encoder is for")
    parser.add_argument("--out", type=Path, help="where target.safetensors and the results go")
    arguments = parser.parse_args()
    started = time.monotonic()
    bench = Bench(arguments)
    base = with_settings(TargetConfig(), arguments.set)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
    settings: list[tuple[str, ...]] = [()]
    if arguments.sweep:
        settings = [*(() if arguments.only_also else SWEEP), *(tuple(a.split(",")) for a in arguments.also)]
    rows = list(bench.evaluate("the goal itself", None))
    rows += bench.evaluate("sentence", bench.table.encoder(bench.device))
    show(rows)
    for chosen in settings:
        if time.monotonic() - started > arguments.seconds:
            print(f"{','.join(chosen)}: left out, no time", flush=True)
            continue
        config = with_settings(base, list(chosen))
        adapter, seconds = bench.train(config, None if arguments.sweep else arguments.out)
        for trust in [float(part) for part in arguments.trust.split(",") if part] or [config.trust]:
            kept = {name: value.half() for name, value in scaled(adapter, trust).items()}  # as it would ship
            target = TargetEncoder(bench.table.encoder(bench.device), kept)
            found = list(bench.evaluate(f"{','.join(chosen) or 'target encoder'}, trust {trust:g}", target))
            show(found, f"{config.updates} updates in {seconds:.0f} s")
            rows += found
            if arguments.out:  # after each, in case that time runs out
                table = json.dumps([row.to_json() for row in rows], indent=1)
                (arguments.out / "results.json").write_text(table + "\n")


class Bench:
    """The two graphs, and what need be made only once."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments, self.device = arguments, str(choose_device("auto"))
        self.here, self.there = Graph.open(arguments.train), Graph.open(arguments.eval)
        self.table = Embeddings.open(arguments.train, arguments.embeddings, self.here)
        self.unseen = Embeddings.open(arguments.eval, arguments.embeddings, self.there)
        self.units = unit_rows(self.unseen.vectors)
        self.sentences: Sentences | None = None
        self.head: CompassHead | None = None
        if arguments.policy:
            head, _ = load_policy(arguments.policy, self.table.fingerprint, device=self.device)
            assert isinstance(head, CompassHead), "only a compass"
            self.head = head
        self.plain: dict[int, SentenceQueries] = {}

    def train(self, config: TargetConfig, out: Path | None) -> tuple[dict[str, Tensor], float]:
        """An adapter with all of its change, and how long its training took; what is kept of it goes to ``out``."""
        encoder = self.table.encoder("cpu")
        if self.sentences is None:
            with Progress().stage("tokenise", self.here.nodes, "blocks") as stage:
                self.sentences = Sentences.read(self.here, encoder, config.max_tokens, stage.advance)
        before = time.monotonic()
        adapter = train_target(
            self.here,
            self.table.vectors,
            encoder,
            replace(config, trust=1),
            head=self.head,
            sentences=self.sentences,
            device=self.device,
            folder=out / "training" if out else None,
            progress=Progress(quiet=out is None),
        )
        seconds = time.monotonic() - before
        if out:
            (out / "training" / "metrics.jsonl").replace(out / "target_metrics.jsonl")
            manifest = {
                "config": asdict(config),
                "encoder_name": self.table.manifest["encoder"],
                "trained_on": {"snapshot": self.here.snapshot, "graph": self.here.fingerprint},
            }
            save_target(out, scaled(adapter, config.trust), config.adapter, self.table.fingerprint, manifest)
        return adapter, seconds

    def evaluate(self, label: str, encoder: Encoder | None) -> Iterator[Result]:
        """The walkers shown what an encoder makes of the sentences, or the goals themselves."""
        agents: list[Agent] = [
            named(f"{name}, {label}", name, self.there, self.units) for name in (REFERENCE, "greedy-map")
        ]
        if self.head is not None:
            agents.append(
                CompassWalker(f"policy, {label}", self.head, self.there.forward, self.units, workers=16)
            )
        for steps in (5, 10, 20):
            task = TaskConfig(
                task="sentence", steps=steps, episodes=self.arguments.episodes, seed=self.arguments.seed
            )
            encoders = {} if encoder is None else dict.fromkeys((agent.name for agent in agents), encoder)
            shown = SentenceQueries(self.there, task, encoders)
            if steps not in self.plain:
                plain = self.table.encoder(self.device)
                self.plain[steps] = SentenceQueries(self.there, task, {REFERENCE_LABEL: plain})
            shown.queries |= self.plain[steps].queries
            reference = named(REFERENCE_LABEL, REFERENCE, self.there, self.units)
            yield from compare(self.there.forward, self.there.reverse, task, agents, reference, show=shown)


def show(rows: list[Result], note: str = "") -> None:
    """One line per agent: success, failure ratio with its interval, at each T."""
    for name in dict.fromkeys(row.agent for row in rows):
        scores = [row.scores for row in rows if row.agent == name]
        success = " / ".join(f"{100 * found.success:.2f}" for found in scores)
        mean = 100 * sum(found.success for found in scores) / len(scores)
        ratios = " / ".join(
            "-"
            if found.failure_ratio is None or found.failure_ratio_ci95 is None
            else f"{found.failure_ratio:.3f} ({found.failure_ratio_ci95[0]:.2f}-{found.failure_ratio_ci95[1]:.2f})"
            for found in scores
        )
        print(f"{name:<44} {success} (mean {mean:.2f}) ratio {ratios} {note}", flush=True)


if __name__ == "__main__":
    main()
