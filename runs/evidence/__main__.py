"""Trains what `linkwalk find` reads and ranks with, chooses it on some data sets and measures it on others (sec. 4.3).

    bash runs/evidence/wikis.sh DATA WIKIS               the workspaces
    python runs/evidence sets WIKIS SETS --out DATA      the questions, of the files in DATA
    python runs/evidence lists WIKIS SETS --out DIR      lists of blocks to learn from: DIR/lists.jsonl (a CPU)
    python runs/evidence embed WIKIS SETS --out DIR      tables; --only takes some wikis
    python runs/evidence train WIKIS SETS --out DIR      the reader of queries, the reader of blocks
    python runs/evidence fit WIKIS SETS --out DIR        reads for the tuned parts; the small networks; leave one out
    python runs/evidence nothing WIKIS SETS --out DIR --data DATA    when to say that nothing is there
    python runs/evidence measure WIKIS SETS --out DIR    reads for the kept parts, every way: DIR/rows.npz, a table

WIKIS is a folder of workspaces with graph and index, SETS one of JSON lines, a question each: set, wiki, id, text,
group, gold (alternatives, each a list of blocks), level (block, or page), part (tuned, kept), and where it was made of
a link: gone_source, the block with the link. Nothing of a kept part is
looked at by lists, train and fit.
"""

import argparse
import json
import lzma
from pathlib import Path

from fitting import fit
from lists import make_lists
from measuring import measure, shard
from nothing import choose_nothing
from reading import Job
from sets import Sets
from telling import table
from train import embed_all, train
from world import World

from linkwalk.retrieve.judge import JudgeWeights


def main() -> None:
    """Do one of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "verb", choices=("lists", "embed", "train", "fit", "nothing", "measure", "shard", "table", "sets")
    )
    parser.add_argument("wikis", type=Path)
    parser.add_argument("sets", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--claims", type=Path, help="lists of runs/reranker.py --lists-only, for claims alone"
    )
    parser.add_argument("--what", default="search,blocks")
    parser.add_argument("--search", action="append", default=[], help="a setting of the reader of queries")
    parser.add_argument("--blocks", action="append", default=[], help="a setting of the reader of blocks")
    parser.add_argument(
        "--begin", help="cross.safetensors of a cross-encoder that the reader of blocks goes on from"
    )
    parser.add_argument("--data", type=Path, help="the folder of the data sets")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--limit", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fold", type=int, default=-1)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--again", action="store_true", help="learn from what was read before")
    parser.add_argument("--sizes", action="store_true", help="sizes of the ranking as chosen before")
    parser.add_argument("--to", default="")
    parser.add_argument("--weights", default="")
    parser.add_argument("--jobs", default="[]")
    parser.add_argument("--ways", action="store_true")
    parser.add_argument("--way", action="append", default=[], help="measure this one, not all")
    asked = parser.parse_args()
    if asked.verb == "sets":
        Sets(asked.out, asked.wikis, asked.sets).all()
        return
    asked.out.mkdir(parents=True, exist_ok=True)
    world = World(asked.wikis, asked.sets, asked.out, asked.device, asked.seed, asked.fold)
    if asked.verb == "lists":
        with lzma.open(asked.out / "lists.jsonl.xz", "wt", encoding="utf-8") as file:
            for one in make_lists(world, asked.claims):
                file.write(json.dumps(one) + "\n")
    elif asked.verb == "embed":
        embed_all(world, asked.only or sorted({one.wiki for own in world.questions.values() for one in own}))
    elif asked.verb == "train":
        train(world, asked)
    elif asked.verb == "fit":
        fit(world, asked)
    elif asked.verb == "nothing":
        choose_nothing(world, asked.data)
    elif asked.verb == "measure":
        measure(world, asked)
    elif asked.verb == "table":
        table(world.out / f"kept{world.seed}", world)
    else:
        weights = JudgeWeights.from_json(json.loads((asked.out / asked.weights).read_text()))
        shard(world, asked, weights, [Job(*job) for job in json.loads(asked.jobs)])


if __name__ == "__main__":
    main()
