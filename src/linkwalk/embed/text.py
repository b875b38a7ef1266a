"""What the encoder reads: of a block its article's title and its text (sec. 4.2), of a goal one sentence (sec. 4.1).

And which encoder reads it: MiniLM reads English, ``words`` reads anything.
"""

import re

import numpy as np

from linkwalk.embed.model import MINILM_WALKS, WORDS, has_minilm
from linkwalk.graph.store import Graph
from linkwalk.scripts import words_in

MIN_WORDS = 4
"""What is shorter is an item of a list or a caption, and no sentence to search for."""
COMMON = frozenset("the of and that with from by are which this their were been has".split())
"""Small words of English that few other languages have. They are 15 to 20 % of running text."""
ENGLISH_SHARE = 0.05
"""Share of words that are such: a text with fewer is not English."""
_BLOCKS = 1024
_WORD = re.compile(r"\w+")
_ENGLISH = ("en", "eng", "english", "simple")


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


def choose_encoder(graph: Graph) -> tuple[str, str]:
    """The MiniLM that ships where it reads the wiki's language and is installed, else ``words``; and why."""
    english, why = reads_english(graph)
    if not english:
        return WORDS, f"{why}, and minilm reads English alone"
    if not has_minilm():
        return WORDS, f"{why}, but minilm is not installed"
    return MINILM_WALKS, f"{why}, which {MINILM_WALKS} reads"


def reads_english(graph: Graph) -> tuple[bool, str]:
    """Whether a wiki says that it is in English or, where it says nothing, its words do; and how one knows."""
    said = str(graph.manifest["snapshot"].get("language") or "")
    if said:
        return is_english(said), f"the wiki's language is {said}"
    share = english_share(graph)
    english = share >= ENGLISH_SHARE
    is_it = "English" if english else "not English"
    return english, f"{share:.0%} of the words are English's small ones, so it is {is_it}"


def is_english(language: str) -> bool:
    """Whether a language's name or code is English's, in whatever region."""
    return re.split("[-_]", language.casefold())[0] in _ENGLISH


def english_share(graph: Graph) -> float:
    """The share of words that are English's small ones, in a thousand blocks from all over the wiki."""
    nodes = np.unique(np.linspace(0, graph.nodes - 1, min(_BLOCKS, graph.nodes)).astype(np.int64))
    words = [word for text in graph.texts.take(nodes) for word in _WORD.findall(text.lower())]
    return sum(word in COMMON for word in words) / max(1, len(words))
