"""A part of a wiki without links of its own: the articles that most entity links of the whole lead to.

python runs/simple_part.py simplewiki202112-text.jsonl.xz WHOLE part.jsonl [--articles N]

WHOLE is the workspace that `linkwalk build` made of the same file, entity-linked. Counted are links from other
articles; of two articles with as many, the one that stands first in the wiki is taken. Lines are copied as they are, in
the file's order, so that the part can be built with the same options as the whole:

linkwalk build simplewiki202112-text.jsonl.xz -o WHOLE --anchors SCHOOLS
python runs/simple_part.py simplewiki202112-text.jsonl.xz WHOLE part.jsonl --articles 8000
linkwalk build part.jsonl -o PART --anchors SCHOOLS && linkwalk index PART && linkwalk embed PART
"""

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwalk.graph.store import LINK, Graph
from linkwalk.records import open_packed
from linkwalk.sources.site import Site


def links_to_articles(graph: Graph) -> NDArray[np.int64]:
    """How many links of other articles lead to each article's blocks; previous and next do not count."""
    source = np.repeat(np.arange(graph.nodes), graph.forward.degrees())
    links = graph.out_kinds >= LINK
    here, there = graph.node_article[source[links]], graph.node_article[graph.out_targets[links]]
    return np.bincount(there[here != there], minlength=graph.articles)


def main() -> None:
    """Count, choose, copy."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("whole", type=Path)
    parser.add_argument("part", type=Path)
    parser.add_argument("--articles", type=int, default=8_000)
    arguments = parser.parse_args()
    graph = Graph.open(arguments.whole)
    counts = links_to_articles(graph)
    chosen = np.argsort(-counts, kind="stable")[: arguments.articles]
    wanted, written, site = set(chosen.tolist()), 0, Site()
    with open_packed(arguments.source) as source, arguments.part.open("wb") as part:
        for line in source:
            if line.strip() and graph.article(site.normalise(json.loads(line)["title"])) in wanted:
                part.write(line)
                written += 1
    print(
        f"{written:,} articles, each with {counts[chosen].min()} links to it or more, "
        f"{int(np.isin(graph.node_article, chosen).sum()):,} blocks of the whole's {graph.nodes:,}"
    )


if __name__ == "__main__":
    main()
