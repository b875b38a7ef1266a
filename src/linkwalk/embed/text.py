"""What the encoder reads: of a block its article's title and its text (sec. 4.2), of a goal one sentence (sec. 4.1)."""

import numpy as np

from linkwalk.graph.store import Graph
from linkwalk.scripts import words_in

MIN_WORDS = 4
"""What is shorter is an item of a list or a caption, and no sentence to search for."""


def node_texts(graph: Graph, start: int, stop: int, titles: int = 1) -> list[str]:
    """``"Title. text"`` of the blocks ``start`` to ``stop``, with so many ``titles``.

    Differs: the paper appends the title; here it comes first, so that cutting at 200 tokens never loses it.
    """
    articles, which = np.unique(graph.node_article[start:stop], return_inverse=True)
    heads = [titles * f"{title}. " for title in graph.titles.take(articles)]
    texts = graph.texts.slice(start, stop)
    return [heads[article] + text for article, text in zip(which.tolist(), texts, strict=True)]


def goal_sentences(graph: Graph, node: int) -> tuple[str, ...]:
    """The sentences of a block that may stand for it in sentence search, without the title (sec. 4.1).

    Those of at least four words; a block that has none is stood for by its whole text.
    """
    block = graph.block(node)
    return tuple(s for s in block.sentences if words_in(s) >= MIN_WORDS) or (block.text,)
