"""How good are the entity links? Hide a tenth of the authors' links and see which come back; or draw some to judge.

python bench/linker.py DUMP                          precision and recall on the hidden links, degree before and after
python bench/linker.py --sample 200 WIKI -o FILE     200 entity links drawn at random, with context, to be judged by eye

The judged sheet in bench/results keeps verdict, block, mention and target.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from linkwalk.build.link import find_entities
from linkwalk.build.names import Names
from linkwalk.build.resolve import name_articles
from linkwalk.build.shards import Layout, block_bounds, load, save
from linkwalk.build.stages import Build, BuildConfig
from linkwalk.build.workers import WorkerPool
from linkwalk.graph.store import ENTITY, Graph
from linkwalk.progress import Progress
from linkwalk.sources.formats import open_source
from report import report


def hide_links(work: Path, number: int, names: Names, share: float) -> dict[str, np.ndarray]:
    """Take a share of the links that lead to articles from a shard: where they stood, and what they meant."""
    shard = load(work, "shard", number)
    articles, _ = names.look_up(shard["link_key"])
    hidden = (articles >= 0) & (np.random.default_rng(number).random(len(articles)) < share)
    columns = {name: column for name, column in shard.items() if name.startswith("link_")}
    save(work, "shard", number, {**shard, **{name: column[~hidden] for name, column in columns.items()}})
    taken = {name.removeprefix("link_"): column[hidden] for name, column in columns.items()}
    return {**taken, "article": articles[hidden]}


def hidden_links(dump: Path, share: float, workers: int) -> dict[str, float]:
    """Hide a share of the links from everything the linker learns from; then link the text they stood in."""
    with tempfile.TemporaryDirectory() as folder, WorkerPool(workers) as pool:
        work = Path(folder)
        job = Build(work, [open_source(dump)], BuildConfig(), None, pool, Progress())
        job.read()
        name_articles(job.shards, job.ledger, contents=True)
        names, layout = Names.open(work), Layout.open(work)
        taken = [hide_links(work, number, names, share) for number in range(job.shards.count)]
        job.resolve(strict=False)
        job.count()
        hidden = linked = right = 0
        for number, links in enumerate(taken):
            shard = load(work, "shard", number)
            found = find_entities(work, shard, int(layout.article_base[number]))
            # Which hidden link, if any, each byte of the shard's text belongs to.
            bounds = block_bounds(shard)
            owner = np.full(len(shard["block_text"]) + 1, -1, np.int64)
            for link, (block, start, end) in enumerate(
                zip(links["block"], links["start"], links["end"], strict=True)
            ):
                owner[bounds[block] + start : bounds[block] + end] = link
            base = bounds[found.block]
            touched = np.maximum(owner[base + found.start], owner[base + found.end - 1])
            correct = (touched >= 0) & (np.append(links["article"], -1)[touched] == found.article)
            hidden += len(links["article"])
            linked += len(np.unique(touched[touched >= 0]))
            right += len(np.unique(touched[correct]))
    return {
        "hidden": hidden,
        "linked": linked,
        "right": right,
        "precision": right / linked,
        "recall": right / hidden,
    }


def sample(workspace: Path, count: int, seed: int, out: Path) -> None:
    """Draw entity links uniformly over all edges and write them with their sentence."""
    graph = Graph.open(workspace)
    edges = np.flatnonzero(graph.out_kinds == ENTITY)
    drawn = np.sort(np.random.default_rng(seed).choice(edges, count, replace=False))
    nodes = np.searchsorted(graph.out_indptr, drawn, side="right") - 1
    with out.open("w") as file:
        file.write("verdict\tarticle\tlinks to\tcontext\n")
        for node, edge in zip(nodes.tolist(), drawn.tolist(), strict=True):
            raw = graph.texts.bytes(node)
            start, end = graph.out_spans[edge].tolist()
            left, right = raw[max(0, start - 90) : start], raw[end : end + 60]
            context = b"%s[[%s]]%s" % (left, raw[start:end], right)
            target = graph.title(int(graph.out_targets[edge]))
            file.write(
                f"\t{graph.name(node)}\t{target}\t{' / '.join(context.decode(errors='ignore').split(chr(10)))}\n"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, help="a dump, or with --sample a workspace")
    parser.add_argument("--hide", type=float, default=0.1, help="share of the links to hide")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sample", type=int, help="draw this many entity links instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--out", type=Path, help="where the sample goes")
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args()
    if arguments.sample:
        sample(arguments.path, arguments.sample, arguments.seed, arguments.out)
        return
    result = hidden_links(arguments.path, arguments.hide, arguments.workers)
    report("linker", {"dump": arguments.path.name, "hide": arguments.hide}, result, arguments.json)


if __name__ == "__main__":
    main()
