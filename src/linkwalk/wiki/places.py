"""Where one is in a wiki: a block, the title it stands under, and its place among the article's blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from linkwalk.graph.store import Graph

_MANY = 16
"""From how many on reading places together is worth it: a kernel lets the other threads of a server go first, and then
waits for its turn."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A block, as one would say where it is."""

    node: int
    title: str
    block: int
    """Its number within the article, counted from 0."""
    blocks: int
    """How many blocks the article has."""
    section: str
    """The heading above it; empty in an article's lead."""
    name: str
    """``Title (3)``, which finds it again."""
    address: str
    """The file or URL the article comes from; empty where the source has none."""

    @classmethod
    def of(cls, graph: "Graph", node: int) -> "Place":
        """The place of a block."""
        article = int(graph.node_article[node])
        after = int(graph.article_node[article + 1]) if article + 1 < graph.articles else graph.nodes
        title, block = graph.titles[article], int(graph.node_block[node])
        return cls(
            node=node,
            title=title,
            block=block,
            blocks=after - int(graph.article_node[article]),
            section=graph.sections[int(graph.node_section[node])],
            name=f"{title} ({block})",
            address="" if graph.addresses is None else graph.addresses[article],
        )

    @classmethod
    def many(cls, graph: "Graph", nodes: Sequence[int]) -> "list[Place]":
        """The places of blocks, read together where they are many."""
        if len(nodes) < _MANY:
            return [cls.of(graph, node) for node in nodes]
        rows = np.array(nodes, np.int64)
        articles = graph.node_article[rows]
        last = articles == graph.articles - 1
        after = np.where(last, graph.nodes, graph.article_node[articles + ~last])
        return [
            cls(
                node=node,
                title=title,
                block=block,
                blocks=blocks,
                section=section,
                name=f"{title} ({block})",
                address=address,
            )
            for node, title, block, blocks, section, address in zip(
                rows.tolist(),
                graph.titles.take(articles),
                graph.node_block[rows].tolist(),
                (after - graph.article_node[articles]).tolist(),
                graph.sections.take(graph.node_section[rows]),
                repeat("", len(rows)) if graph.addresses is None else graph.addresses.take(articles),
                strict=True,
            )
        ]
