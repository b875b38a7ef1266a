"""How fast is a GPU? Walks, cloning and evaluation on a graph as large as the paper's, all of it resident.

PYTHONPATH=src python bench/gpu.py --json bench/results/gpu_HARDWARE_DATE.json

A made-up web of 38M nodes and 387M edges with random half-precision embeddings of 384 numbers (29 GB) is made on the
device. First the kernels must agree with plain torch on a small web; then three questions, each beside plain torch:
walk steps a second, the time of the paper's 50,000 cloning updates (sec. 3, app. B.2: 512 walks of 20 steps, edge
dropout 0.5, RMSProp), and agent steps a second (a step is one decision of one episode, budget 100). Takes about two
minutes on an H200. A CPU will do for a try: --nodes 20000 --edges 200000 --walkers 5000 --updates 20 --episodes 200
--batch 32
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import synthetic
from linkwalk.gpu.journeys import DeviceAgent
from linkwalk.gpu.walks import DeviceGraph, WalksOnDevice, runs_kernels, without_kernels
from linkwalk.graph.store import LINK, NEXT, PREV
from linkwalk.learn.clone import CloneConfig
from linkwalk.learn.clone_on_device import CloneOnDevice
from linkwalk.navigate import Episodes, Journeys
from linkwalk.policy.heads import FeedForward, HeadConfig
from report import report

ROWS = 1 << 20


def web(nodes: int, edges: int, device: torch.device) -> DeviceGraph:
    """The web of ``synthetic.web``, drawn on the device."""
    torch.manual_seed(0)
    node = torch.arange(nodes, device=device)
    prev = node % synthetic.BLOCKS != 0
    following = (node % synthetic.BLOCKS != synthetic.BLOCKS - 1) & (node + 1 < nodes)
    links = edges / nodes - 2 * (synthetic.BLOCKS - 1) / synthetic.BLOCKS
    degrees = torch.poisson(torch.full((nodes,), links, device=device)).long() + prev + following
    indptr = torch.zeros(nodes + 1, dtype=torch.int64, device=device)
    torch.cumsum(degrees, 0, out=indptr[1:])
    count = int(indptr[-1])
    indices = torch.empty(count, dtype=torch.int32, device=device)
    for at in range(0, count, ROWS * 32):
        part = indices[at : at + ROWS * 32]
        hub = (nodes * torch.rand(len(part), dtype=torch.float64, device=device) ** 3).long()
        part.copy_(hub * synthetic._SPREAD % nodes)
    kinds = torch.full((count,), LINK, dtype=torch.uint8, device=device)
    first = indptr[:-1]
    for which, step, kind, place in (
        (prev, -1, PREV, first),
        (following, 1, NEXT, first + prev),
    ):
        indices[place[which]] = (node[which] + step).int()
        kinds[place[which]] = kind
    return DeviceGraph(indptr.int() if count < 1 << 31 else indptr, indices, kinds)


def table(nodes: int, width: int, device: torch.device) -> Tensor:
    """Random embeddings in half precision; on a CPU, which computes in float32 only, in that."""
    dtype = torch.float16 if device.type == "cuda" else torch.float32
    vectors = torch.empty((nodes, width), dtype=dtype, device=device)
    for at in range(0, nodes, ROWS):
        vectors[at : at + ROWS].normal_(std=width**-0.5)
    return vectors


def seconds(device: torch.device, work: Callable[[], Any]) -> float:
    """How long the device takes, from idle to idle."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    begun = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begun


def median(device: torch.device, repeat: int, work: Callable[[], Any]) -> float:
    """The median of several rounds, after one that does not count."""
    work()
    return statistics.median(seconds(device, work) for _ in range(repeat))


def new_head(vectors: Tensor) -> FeedForward:
    torch.manual_seed(0)
    return FeedForward(HeadConfig(head="feedforward", width=vectors.shape[1])).to(vectors.device)


def new_clone(walks: WalksOnDevice, vectors: Tensor, updates: int, batch: int) -> CloneOnDevice:
    """The paper's recipe."""
    head, cuda = new_head(vectors), vectors.device.type == "cuda"
    optimiser = torch.optim.RMSprop(head.parameters(), lr=0.01, alpha=0.9, eps=1e-10, capturable=cuda)
    config = CloneConfig(batch=batch, updates=updates, edge_dropout=0.5)
    return CloneOnDevice(head, optimiser, walks.graph, walks, vectors, config)


def episodes_on(graph: DeviceGraph, count: int, steps: int) -> Episodes:
    """The ends of forward walks."""
    walks = WalksOnDevice(graph, steps=steps).sample(count, np.random.default_rng(1))
    return Episodes.of(walks.starts, walks.goals)


def agreement(device: torch.device, width: int) -> dict[str, float]:
    """How far the kernels' walks, losses and journeys on a small web are those of plain torch."""
    graph, vectors = web(20_000, 200_000, device), table(20_000, width, device)
    walks, seed = WalksOnDevice(graph, steps=20), torch.tensor([7], device=device)
    episodes = episodes_on(graph, 500, 5)

    agents = (DeviceAgent("cosine", graph, vectors), DeviceAgent("head", graph, vectors, new_head(vectors)))

    def all_of() -> tuple[Tensor, Tensor, list[Journeys]]:
        # Not by RMSProp, whose first steps are all of one size: rounding could turn a weight's step round.
        head = new_head(vectors)
        optimiser = torch.optim.SGD(head.parameters(), lr=0.1)
        trained = CloneOnDevice(head, optimiser, graph, walks, vectors, CloneConfig(batch=64, updates=8))
        trained.run()
        journeys = [agent.run(episodes, budget=30) for agent in agents]
        return walks.draw(10_000, seed)[0], trained.metrics[:, 0], journeys

    ours = all_of()
    with without_kernels():
        plain = all_of()
    same = (ours[0] == plain[0]).all(1).float().mean().item()
    apart = ((ours[1] - plain[1]).abs().max() / plain[1].mean()).item()
    cosine, head = (float((a.nodes == b.nodes).all(1).mean()) for a, b in zip(ours[2], plain[2], strict=True))
    found = {
        "agreement: walks that are the same": same,
        "agreement: largest difference of losses, relative": apart,
        "agreement: journeys by cosine that are the same": cosine,
        "agreement: journeys by a head that are the same": head,
    }
    if same < 1 or apart > 1e-3 or min(cosine, head) < 0.95:
        raise SystemExit(f"the kernels compute something else than plain torch: {found}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=38_000_000)
    parser.add_argument("--edges", type=int, default=387_000_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--walkers", type=int, default=8 << 20)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=512, help="walks in an update")
    parser.add_argument("--updates", type=int, default=50_000)
    parser.add_argument("--plain-updates", type=int, default=200, help="of plain torch, which is slow")
    parser.add_argument("--episodes", type=int, default=65_536)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=9, help="take the median of this many rounds")
    parser.add_argument("--limit", type=float, default=120, help="stop cloning after this many seconds")
    parser.add_argument("--json", type=Path, help="write the result here")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    started = time.perf_counter()

    def say(what: str) -> None:
        print(f"{time.perf_counter() - started:7.1f} s  {what}", flush=True)

    results: dict[str, Any] = {"kernels": runs_kernels(device)}
    say(f"{torch.cuda.get_device_name() if device.type == 'cuda' else 'CPU'}, torch {torch.__version__}")
    if runs_kernels(device):
        results |= agreement(device, args.width)
        say("kernels agree with plain torch")
    graph, vectors = web(args.nodes, args.edges, device), table(args.nodes, args.width, device)
    if device.type == "cuda":
        torch.cuda.synchronize()
    gigabytes = sum(t.numel() * t.element_size() for t in (*graph, vectors)) / 1e9
    say(f"{graph.nodes:,} nodes, {len(graph.indices):,} edges, {gigabytes:.1f} GB resident")

    walks, seed = WalksOnDevice(graph, steps=args.steps), torch.tensor([1], device=device)
    taken = int(walks.ends(args.walkers, seed)[1].sum(dtype=torch.int64))

    def next_walks(how: Callable[[int, Tensor], Any]) -> Callable[[], Any]:
        return lambda: how(args.walkers, seed.add_(1))

    results["walks: steps/s"] = taken / median(device, args.repeat, next_walks(walks.ends))
    results["walks: steps/s, every node kept"] = taken / median(device, args.repeat, next_walks(walks.draw))
    with without_kernels():
        results["walks: steps/s, plain torch"] = taken / median(device, 3, next_walks(walks.ends))
    say(f"walks: {results['walks: steps/s'] / 1e9:.2f} billion steps/s")

    new_clone(walks, vectors, 10, args.batch).run()  # compiles
    trained = new_clone(walks, vectors, args.updates, args.batch)
    took = 0.0
    while trained.update < args.updates and took < args.limit:
        piece = min(1000, args.updates - trained.update)
        took += seconds(device, lambda piece=piece: trained.run(piece))
    results["cloning: updates done"] = trained.update
    results[f"cloning: seconds for {args.updates:,} updates"] = took / trained.update * args.updates
    results["cloning: ms an update"] = 1000 * took / trained.update
    results["cloning: loss of the first 50 updates"] = trained.metrics[:50, 0].mean().item()
    results["cloning: loss of the last 50 updates"] = trained.metrics[: trained.update][-50:, 0].mean().item()
    say(f"cloning: {1000 * took / trained.update:.3f} ms an update")
    with without_kernels():
        slow = new_clone(walks, vectors, args.plain_updates + 5, args.batch)
        slow.run(5)
        took = seconds(device, slow.run)
    results["cloning: ms an update, plain torch"] = 1000 * took / args.plain_updates
    say(f"cloning, plain torch: {1000 * took / args.plain_updates:.3f} ms an update")

    episodes = episodes_on(graph, args.episodes, args.steps)
    agents = {
        "greedy-unvisited": DeviceAgent("greedy-unvisited", graph, vectors),
        "feed-forward": DeviceAgent("feed-forward", graph, vectors, trained.head),
    }
    few = episodes.part(0, max(1, args.episodes // 16))
    for name, agent in agents.items():
        steps = int(agent.run(episodes, budget=args.budget).steps.sum())
        took = median(device, args.repeat, lambda agent=agent: agent.run(episodes, budget=args.budget))
        results[f"evaluation: agent steps/s, {name}"] = steps / took
        say(f"evaluation, {name}: {steps / took / 1e6:.1f} M agent steps/s")
        with without_kernels():
            steps = int(agent.run(few, budget=args.budget).steps.sum())
            took = median(device, 1, lambda agent=agent: agent.run(few, budget=args.budget))
        results[f"evaluation: agent steps/s, {name}, plain torch"] = steps / took
    sizes = {
        "gpu": torch.cuda.get_device_name() if device.type == "cuda" else None,
        "torch": torch.__version__,
        "nodes": graph.nodes,
        "edges": len(graph.indices),
        "width": args.width,
        "resident_gb": gigabytes,
        "walkers": args.walkers,
        "steps": args.steps,
        "batch": args.batch,
        "episodes": args.episodes,
        "budget": args.budget,
        "rounds": args.repeat,
        "seconds_in_all": time.perf_counter() - started,
    }
    report("gpu", sizes, results, args.json)


if __name__ == "__main__":
    main()
