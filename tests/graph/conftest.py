"""Small worlds for the graph's tests: written through the real writer, opened through the real store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from linkwalk.artifact import write_json
from linkwalk.graph.csr import Csr
from linkwalk.graph.store import BACKLINK, CONTENTS, ENTITY, LINK, NEXT, NO_DATE, PREV, Graph
from linkwalk.graph.writer import GraphWriter

_OF_TEXT = [LINK, LINK, ENTITY, ENTITY, CONTENTS, BACKLINK]
WORDS = [
    "river",
    "école",
    "東京",
    "of",
    "stone",
    "naïve",
    "\u00a0wide",
    "x",
    "Москва",
    "end.",
    "\u2003em",
    "tab\tbed",
]


@dataclass
class Page:
    """One block of a hand-made world: its text and the (title, block number, kind) its links lead to."""

    text: str
    links: list[tuple[str, int, int]] = field(default_factory=list)
    section: str = ""


def write_graph(
    workspace: Path,
    pages: Mapping[str, Sequence[Page]],
    *,
    redirects: Mapping[str, str] | None = None,
    addresses: Sequence[str] | None = None,
    parents: Sequence[int] | None = None,
    dates: Sequence[int] | None = None,
    tags: Sequence[Sequence[str]] | None = None,
    name: str = "testwiki",
) -> Graph:
    """Write a graph of chained blocks and the links the pages name; a link's span is a prefix of the text."""
    folder = workspace / "graph"
    titles = list(pages)
    first = np.cumsum([0, *(len(blocks) for blocks in pages.values())])
    node_of = {t: int(first[i]) for i, t in enumerate(titles)}
    sections = [""]
    with GraphWriter(folder) as writer:
        writer.add_articles(titles, first[:-1])
        if addresses is not None:
            writer.add_addresses(addresses)
        if parents is not None:
            writer.add_parents(np.array(parents))
        if dates is not None:
            writer.add_dates(np.array(dates))
        if tags is not None:
            names = sorted({tag for own in tags for tag in own})
            writer.add_tags(names)
            numbers = [names.index(tag) for own in tags for tag in own]
            writer.tag_articles(np.array([len(own) for own in tags]), np.array(numbers))
        for article, (title, blocks) in enumerate(pages.items()):
            for number, page in enumerate(blocks):
                raw = page.text.encode()
                if page.section not in sections:
                    sections.append(page.section)
                ends = sorted({len(" ".join(page.text.split(" ")[:3]).encode()), len(raw)})
                writer.add_blocks(
                    text=raw,
                    text_lengths=np.array([len(raw)]),
                    article=np.array([article]),
                    block=np.array([number]),
                    section=np.array([sections.index(page.section)]),
                    sentence_counts=np.array([len(ends)]),
                    sentence_ends=np.array(ends),
                )
                edges = [(node_of[title] + number - 1, PREV, 0)] if number else []
                edges += [(node_of[title] + number + 1, NEXT, 0)] if number + 1 < len(blocks) else []
                edges += [
                    (node_of[to] + block, kind, len(page.text[: 1 + i].encode()))
                    for i, (to, block, kind) in enumerate(page.links)
                ]
                writer.add_edges(
                    degrees=np.array([len(edges)]),
                    targets=np.array([t for t, _, _ in edges], np.int64),
                    kinds=np.array([k for _, k, _ in edges], np.int64),
                    spans=np.array([(0, end) for _, _, end in edges], np.int64).reshape(-1, 2),
                )
        writer.add_sections(sections)
        redirects = redirects or {}
        writer.add_redirects(redirects, np.array([titles.index(t) for t in redirects.values()], np.int64))
        manifest = {"config": {}, "inputs": [], "snapshot": {"name": name, "date": "2018-12-20"}}
        writer.finish(manifest)
        write_json(folder / "ledger.json", {})
    return Graph.open(workspace)


def random_pages(
    rng: np.random.Generator, *, articles: int = 20, links: float = 2.0, blocks: int = 5
) -> dict[str, list[Page]]:
    """Articles of 1 to ``blocks`` blocks with about ``links`` random links each, skewed to the first ones."""
    sizes = {f"Title {i} é": int(rng.integers(1, blocks + 1)) for i in range(articles)}
    titles = list(sizes)

    def page(title: str) -> Page:
        text = " ".join(rng.choice(WORDS, int(rng.integers(1, 12))))
        to = [titles[int(articles * rng.random() ** 2)] for _ in range(rng.poisson(links))]
        targets = [(t, int(rng.integers(sizes[t])), int(rng.choice(_OF_TEXT))) for t in to]
        return Page(text, targets, str(rng.choice(["", "History", "See, too", f"Of {title}"])))

    return {title: [page(title) for _ in range(size)] for title, size in sizes.items()}


def random_graph(
    workspace: Path, rng: np.random.Generator, *, articles: int = 20, links: float = 2.0, blocks: int = 5
) -> Graph:
    """A random world: redirects for every third article, addresses, dates and tags for some, some above others."""
    pages = random_pages(rng, articles=articles, links=links, blocks=blocks)
    redirects = {f"Other name of {title}": title for title in list(pages)[::3]}
    addresses = [f"in/{i}.md" if i % 2 else "" for i in range(articles)]
    parents = [-1, *rng.integers(-1, articles, articles - 1).tolist()]
    dates = [NO_DATE if i % 5 == 0 else 11 * i for i in range(articles)]
    tags = [[f"tag {i % 7}", f"own {i}"][: i % 3] for i in range(articles)]
    return write_graph(
        workspace, pages, redirects=redirects, addresses=addresses, parents=parents, dates=dates, tags=tags
    )


def csr(nodes: int, edges: Sequence[tuple[int, int]]) -> Csr:
    """A graph in memory, read-only as a mapped one is."""
    ordered = np.array(sorted(edges), np.int64).reshape(-1, 2)
    indptr = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(ordered[:, 0], minlength=nodes), out=indptr[1:])
    indices = ordered[:, 1].astype(np.int32)
    indptr.flags.writeable = indices.flags.writeable = False
    return Csr(indptr, indices)
