"""What denser entity links bought: agents on one wiki with its entity links and without.

python runs/entity_links.py WIKI [--policy DIR] [--episodes N] [--seed N] [--json OUT]

Episodes are drawn on each graph by itself, since without entity links other pages are T steps away.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from linkwalk import shipped
from linkwalk.embed import Embeddings
from linkwalk.evaluate import TaskConfig, compare
from linkwalk.graph.csr import Csr, transpose
from linkwalk.graph.store import KINDS, Graph
from linkwalk.navigate import REFERENCE, Agent, open_baseline, unit_rows
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.policy.checkpoint import load_compass


def main() -> None:
    """Walk both graphs, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wiki", type=Path)
    parser.add_argument("--policy", type=Path, default=shipped.policy_path())
    parser.add_argument("--embeddings", default="minilm-walks")
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    graph = Graph.open(arguments.wiki)
    table = Embeddings.open(arguments.wiki, arguments.embeddings, graph)
    units, compass = unit_rows(table.vectors), load_compass(arguments.policy, table.fingerprint)
    kept = graph.out_kinds != KINDS.index("entity")
    place = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept)))
    sparse = Csr(place[graph.forward.indptr], graph.forward.indices[kept])
    rows = []
    for label, forward, reverse in (
        ("with entity links", graph.forward, graph.reverse),
        ("without", sparse, transpose(sparse)),
    ):
        agents: list[Agent] = [
            open_baseline(name, forward, units, workers=2) for name in (REFERENCE, "greedy-map")
        ]
        agents.append(CompassWalker("compass", compass, forward, units, workers=2))
        lines: dict[str, list[dict[str, object]]] = {agent.name: [] for agent in agents}
        for steps in (5, 10, 20):
            task = TaskConfig(steps=steps, episodes=arguments.episodes, seed=arguments.seed)
            for result in compare(forward, reverse, task, agents, agents[0]):
                lines[result.agent].append(result.to_json())
        print(f"{label}: {len(forward.indices) / forward.nodes:.1f} links a block")
        for name, cells in lines.items():
            success = " / ".join(f"{100 * float(str(cell['success'])):.1f}" for cell in cells)
            ratio = " / ".join(f"{float(str(cell['failure_ratio'])):.2f}" for cell in cells)
            print(f"  {name:<18} {success}   failure ratio {ratio}", flush=True)
            rows += [{"graph": label, **cell} for cell in cells]
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
