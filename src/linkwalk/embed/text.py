"""What the encoder reads of a block: the article's title, then the block's text (sec. 4.2)."""

import numpy as np

from linkwalk.graph.store import Graph


def node_texts(graph: Graph, start: int, stop: int) -> list[str]:
    """``"Title. text"`` of the blocks ``start`` to ``stop``.

    Differs: the paper appends the title; here it comes first, so that cutting at 200 tokens never loses it.
    """
    articles, which = np.unique(graph.node_article[start:stop], return_inverse=True)
    titles = graph.titles.take(articles)
    texts = graph.texts.slice(start, stop)
    return [f"{titles[article]}. {text}" for article, text in zip(which.tolist(), texts, strict=True)]
