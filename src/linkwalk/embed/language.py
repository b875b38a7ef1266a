"""Which encoder a wiki is embedded with where nobody says: MiniLM reads English, ``words`` reads anything."""

import re
from typing import NamedTuple

import numpy as np

from linkwalk.embed.fitted import WORDS
from linkwalk.embed.model import MINILM_WALKS, has_minilm
from linkwalk.graph.store import Graph

COMMON = frozenset("the of and that with from by are which this their were been has".split())
"""Small words of English that few other languages have. They are 15 to 20 % of running text."""
ENGLISH_SHARE = 0.05
"""Share of words that are such: a text with fewer is not English."""
_BLOCKS = 1024
_WORD = re.compile(r"\w+")
_ENGLISH = ("en", "eng", "english", "simple")


class EncoderChoice(NamedTuple):
    """An encoder, and why it is the one."""

    encoder: str
    why: str


class English(NamedTuple):
    """Whether a wiki is in English, and how one knows."""

    yes: bool
    why: str


def choose_encoder(graph: Graph) -> EncoderChoice:
    """The MiniLM that ships where it reads the wiki's language and is installed, else ``words``."""
    yes, why = reads_english(graph)
    if not yes:
        return EncoderChoice(WORDS, f"{why}, and minilm reads English alone")
    if not has_minilm():
        return EncoderChoice(WORDS, f"{why}, but minilm is not installed")
    return EncoderChoice(MINILM_WALKS, f"{why}, which {MINILM_WALKS} reads")


def reads_english(graph: Graph) -> English:
    """Whether a wiki says that it is in English or, where it says nothing, its words do."""
    said = str(graph.manifest["snapshot"].get("language") or "")
    if said:
        return English(is_english(said), f"the wiki's language is {said}")
    share = english_share(graph)
    is_it = "English" if share >= ENGLISH_SHARE else "not English"
    return English(
        share >= ENGLISH_SHARE, f"{share:.0%} of the words are English's small ones, so it is {is_it}"
    )


def is_english(language: str) -> bool:
    """Whether a language's name or code is English's, in whatever region."""
    return re.split("[-_]", language.casefold())[0] in _ENGLISH


def english_share(graph: Graph) -> float:
    """The share of words that are English's small ones, in a thousand blocks from all over the wiki."""
    nodes = np.unique(np.linspace(0, graph.nodes - 1, min(_BLOCKS, graph.nodes)).astype(np.int64))
    words = [word for text in graph.texts.take(nodes) for word in _WORD.findall(text.lower())]
    return sum(word in COMMON for word in words) / max(1, len(words))
