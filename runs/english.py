"""The paper's largest experiment on the real dumps: trained on the English Wikipedia of 2017, tested on that of 2018.

    python runs/english.py enwiki-2017.xml.bz2 enwiki-2018.xml.bz2 OUT --plan
    python runs/english.py enwiki-2017.xml.bz2 enwiki-2018.xml.bz2 OUT

Both dumps become graphs and are embedded, the encoder is trained on the first (app. B.1), both are embedded anew, and
`linkwalk reproduce table4` clones the policies and walks through the second (sec. 5.3). With ``--plan`` nothing is run:
hours, memory and disk are told. Every stage can be stopped and
goes on; one that is done is passed by. The plan multiplies the paper's sizes by rates that were measured elsewhere
(``bench/results``, docs/results.md) or, where it says so, estimated from them; ``--rate NAME=VALUE`` sets another.
"""

import argparse
import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "bench" / "results"
BLOCKS, EDGES = (36_300_000, 38_500_000), (359_000_000, 387_000_000)
"""Of the two snapshots (table 3)."""
WIDTH, TOKENS = 384, 131
"""Of MiniLM's vectors, and of a block (schools2007)."""
POLICIES = 3
"""For 5, 10 and 20 steps, with each embedding and each head."""


def measured(file: str, name: str) -> float:
    """A result of a benchmark."""
    found: dict[str, Any] = json.loads((RESULTS / file).read_text())["results"]
    return float(found[name])


def rates() -> dict[str, tuple[float, str]]:
    """What a second is good for, and where that comes from."""
    build = measured("build_epyc-2core_2026-11-15.json", "build, blocks/s") / 2
    update = measured("gpu_h200_2026-11-15.json", "cloning: ms an update")
    embed = 9_400.0
    return {
        "build": (build, "blocks/s a worker, bench/build.py on schools2007, two workers of an EPYC"),
        "embed": (embed, "blocks/s a GPU, `linkwalk embed` on an H200, 131 tokens a block"),
        "tokenise": (2_000.0, "blocks/s, `linkwalk train-encoder` on two busy cores"),
        "encoder": (
            embed / (3 * 2 * 512),
            "updates/s a GPU, estimated: 512 blocks and 512 goals, back and forth is three times forth",
        ),
        "feedforward": (1e3 / update, "updates/s, bench/gpu.py on an H200, 38M nodes"),
        "transformer": (40.0, "updates/s, estimated from its arithmetic and the plain loop's 16 ms"),
        "walk": (2_000.0, "episodes/s of 100 steps, estimated for the transformer, the slowest"),
    }


@dataclass(frozen=True)
class Stage:
    """One command, what it costs, and what of the plan its cost follows from."""

    command: list[str]
    seconds: float
    memory_gb: float
    disk_gb: float
    why: str


def stages(args: argparse.Namespace, rate: dict[str, float]) -> list[Stage]:
    """All that has to be done, in order."""
    years = [args.out / "2017", args.out / "2018"]
    cores, found = str(args.workers), []
    for dump, wiki, blocks, edges in zip(args.dumps, years, BLOCKS, EDGES, strict=True):
        # Of schools2007: 670 bytes of text and names a block, 13 a link; while it is built, shards as large again.
        size = (670 * blocks + 13 * edges) / 1e9
        found.append(
            Stage(
                ["build", str(dump), "-o", str(wiki), "--workers", cores],
                blocks / (rate["build"] * args.workers),
                24,
                2 * size,
                f"{blocks / 1e6:.1f}M blocks",
            )
        )
    table = [2 * WIDTH * blocks / 1e9 for blocks in BLOCKS]
    for wiki, blocks, size in zip(years, BLOCKS, table, strict=True):
        command = ["embed", str(wiki), "--tanh", "--device", args.device]
        found.append(Stage(command, blocks / (rate["embed"] * args.gpus), 4, size, "a table of halves"))
    updates = args.encoder_updates
    tokens = (2 * TOKENS * BLOCKS[0] + 8 * BLOCKS[0] + 4 * EDGES[0]) / 1e9
    settings = [f"updates={updates}", f"warmup={min(10_000, updates // 10)}"]
    seconds = BLOCKS[0] / rate["tokenise"] + updates / (rate["encoder"] * args.gpus)
    encoder = ["train-encoder", str(years[0]), "--recipe", args.recipe, "--device", args.device]
    for setting in settings:
        encoder += ["--set", setting]
    found.append(Stage(encoder, seconds, 8 + 2 * tokens, 1, f"{updates:,} updates of 512 decisions"))
    policies = 2 * POLICIES * args.updates * (1 / rate["feedforward"] + 1 / rate["transformer"])
    embedded = sum(BLOCKS) / (rate["embed"] * args.gpus)
    walked = 8 * 10 * 10_000 / rate["walk"]
    reproduced = ["reproduce", "table4", str(years[0]), "--later", str(years[1]), "--device", args.device]
    reproduced += ["--updates", str(args.updates), "--encoder-recipe", args.recipe]
    for setting in settings:
        reproduced += ["--encoder-set", setting]
    why = f"{4 * POLICIES} policies of {args.updates:,} updates, both wikis embedded anew, 88 cells"
    found.append(Stage(reproduced, policies + embedded + walked, 16 + 2 * table[1], sum(table), why))
    return found


def show(plan: list[Stage], args: argparse.Namespace, known: dict[str, tuple[float, str]]) -> None:
    """The plan, stage by stage, and the rates it is made of."""
    print(f"{'hours':>8} {'RAM, GB':>8} {'disk, GB':>9}  command")
    for stage in plan:
        hours = f"{stage.seconds / 3600:8.1f}"
        print(f"{hours} {stage.memory_gb:8.0f} {stage.disk_gb:9.0f}  linkwalk {shlex.join(stage.command)}")
        print(f"{'':27}  {stage.why}")
    hours, disk = sum(s.seconds for s in plan) / 3600, sum(s.disk_gb for s in plan)
    print(f"{hours:8.1f} {max(s.memory_gb for s in plan):8.0f} {disk:9.0f}  in all, beside the dumps", end="")
    print(
        f" ({args.workers} workers, {args.gpus} GPUs; a GPU holds the table: {2 * WIDTH * BLOCKS[1] / 1e9:.0f} GB)\n"
    )
    for name, (value, source) in known.items():
        print(f"  {name:12} {value:12,.2f}  {source}")


def main() -> None:
    """Plan, or run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dumps", nargs=2, type=Path, metavar="DUMP", help="2017's and 2018's pages-articles")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder for both workspaces")
    parser.add_argument("--plan", action="store_true", help="only say what it takes")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--gpus", type=int, default=1, help="that embed and train the encoder")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--recipe", default="paper-spans", help="how the encoder is trained")
    parser.add_argument("--encoder-updates", type=int, default=3_000_000)
    parser.add_argument("--updates", type=int, default=50_000, help="of every policy")
    parser.add_argument("--rate", action="append", default=[], metavar="NAME=VALUE", help="another rate")
    args = parser.parse_args()
    known = rates()
    for setting in args.rate:
        name, _, value = setting.partition("=")
        if name not in known:
            parser.error(f"no rate {name!r}: there are {', '.join(known)}")
        known[name] = (float(value), "as given")
    plan = stages(args, {name: value for name, (value, _) in known.items()})
    if args.plan:
        show(plan, args, known)
        return
    missing = [str(dump) for dump in args.dumps if not dump.exists()]
    if missing:
        parser.error(f"no such file: {', '.join(missing)} (https://dumps.wikimedia.org and its mirrors)")
    for stage in plan:
        alone = [sys.executable, "-m", "linkwalk"]
        shared = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        shared += ["--nproc-per-node", str(args.gpus), "-m", "linkwalk"]
        several = args.gpus > 1 and stage.command[0] == "train-encoder"
        subprocess.run([*(shared if several else alone), *stage.command], check=True)


if __name__ == "__main__":
    main()
