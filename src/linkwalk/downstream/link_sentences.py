"""What makes a sentence with a link a question: it is whole, says enough, and does not name what it asks for.

Told by English words.
"""

import re
from collections.abc import Sequence

import numpy as np

from linkwalk.arrays import Bytes, Int64s, UInt16s, UInt64s
from linkwalk.compiled import kernel, row_of
from linkwalk.downstream.dataset import plain
from linkwalk.graph.store import Graph

MASK = "..."
"""What stands where the link's words stood."""
_LEAST_PART = 8
"""Words that a part of a sentence has at least, before its ends are trimmed."""
_FUNCTION = frozenset(
    "a an the of in on at by for from to with without into onto over under between through during before after since "
    "until as than that this these those which who whom whose what when where while how if because so and or but not "
    "nor is are was were be been being am has have had do does did can could may might must shall should will would "
    "it its he she they them their his her him you your we our us i there".split()
)
_PALE = frozenset(
    "see also more most many some any such other another used use uses using called known example examples note "
    "information details detail read learn page pages section documentation document following follow refer link "
    "links here about like all each both only just then very e.g i.e etc please check find below above".split()
)
"""Words that say little: no content, as the words of grammar are none."""
_ANAPHORS = frozenset(
    "it its this that these those he she they his her their such here both another one also however therefore thus "
    "hence then later instead similarly likewise conversely moreover furthermore nevertheless otherwise meanwhile "
    "additionally finally consequently and but or so as we i".split()
)
"""What a sentence that leans on the one before begins with."""
_SOME = frozenset("many some most all several few each none others much one two three four".split())
"""The same, if a word of grammar comes next: "Many can", "Some of these", not "Many birds"."""
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_CLAUSE = re.compile(r"(?<=[,;:])\s+|\s+(?=[(–—])|(?<=\))\s+")
_BEGIN = re.compile(r"""^(?:[-*•]\s+|\[[^\]]*\]\s*|\d+[.)]\s+)+""")
_END = re.compile(r"""[.!?:;][)"'”’\]]*$""")
_STRANGE = re.compile(r"[|⏵•→{}<>=\\]|::|->|\w/\w+/\w|\w_\w|\w\(")
_HERE = re.compile(
    r"\bth(?:is|e following) (?:page|article|section|document|tutorial|guide|chapter|example|wiki|list|table|entry)s?\b"
    r"|\b(?:below|above)\b|[(;—–] ?(?:see|cf\.?|compare)\b[^()]*\.\.\.|\b(?:see|compare) also\b",
    re.IGNORECASE,
)
"""What points at its own page, or at others beside the matter."""
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)$")
_NAMESPACE = re.compile(r"^\w+:\s*")


def can_be_asked(text: str, words: int, content: int, *, leaning: bool = False) -> bool:
    """Whether a text can be asked: long enough, a whole sentence, and not about the one before (unless ``leaning``)."""
    found = _words(text)
    if len(found) < words or _HERE.search(text) or not says_enough(text, content):
        return False
    leans = found[0] in _ANAPHORS or (found[0] in _SOME and found[1] in _FUNCTION)
    if leans and not leaning:
        return False
    if sum(word in _FUNCTION for word in found) < max(2, len(found) // 8):  # a list, a caption
        return False
    whole = _END.search(text) and (text.startswith(MASK) or not text[0].islower())
    return (
        bool(whole)
        and not _STRANGE.search(text)
        and 5 * text.count(",") <= len(found)
        and text.count(MASK) <= 3
    )


def says_enough(text: str, content: int) -> bool:
    """Whether a text has so many different words that say something."""
    words = set(_words(text)) - _FUNCTION - _PALE
    return sum(not word.isdigit() for word in words) >= content


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def is_pale(name: str) -> bool:
    """Whether a name is nothing but words of grammar, or a letter."""
    return len(plain(name)) < 2 or not set(plain(name).split()) - _FUNCTION - _PALE


def without_brackets(title: str) -> str:
    """A title without what stands in brackets behind the name."""
    return _IN_BRACKETS.sub("", title)


def names_of_article(title: str, anchor: str) -> list[str]:
    """What an article may be called by: as the link does, by its title, or without what is beside the name in it."""
    short = without_brackets(title)
    names = title, short, _NAMESPACE.sub("", short), short.split(", ")[0], anchor
    return list(dict.fromkeys(name for name in names if not is_pale(name)))


def masked(text: str, names: Sequence[str]) -> str:
    """A text without some names, whole words in any case, with the endings of plural and genitive."""
    each = sorted({*names, *(name[:-1] for name in names if name.endswith("s") and len(name) > 4)}, key=len)
    pattern = "|".join(re.escape(name) for name in reversed(each))
    return re.sub(rf"(?<!\w)(?:{pattern})(?:e?s|['’]s?)?(?!\w)", MASK, text, flags=re.IGNORECASE)


def tidy(text: str) -> str:
    """In one line, without the mark of a list before it, and without two masks side by side."""
    text = _BEGIN.sub("", " ".join(text.split()))
    text = re.sub(r"(?:\.\.\.[\s,]*)+(?=\.\.\.)", "", text)
    return re.sub(r"\.\.\. ?\.$", MASK, re.sub(r"\.\.\. (?=[,:;!?])", MASK, text))


def mostly_links(graph: Graph, node: int, rest: str) -> bool:
    """Whether the words around a link are links themselves, for the most part: a list of them."""
    anchors = {edge.anchor for edge in graph.links(node) if edge.kind == "link" and edge.anchor in rest}
    return 2 * sum(len(anchor.split()) for anchor in anchors) > len(rest.split())


def part_of_sentence(sentence: str) -> str:
    """Some more than half of a sentence: the clause with the mask, if that is long enough, or the words around it."""
    words = sentence.split()
    at = next((i for i, word in enumerate(words) if MASK in word), 0)
    wanted = max(_LEAST_PART, 3 * len(words) // 5)
    first = min(max(0, at - wanted // 2), max(0, len(words) - wanted))
    last, start = first + wanted, 0
    for clause in _CLAUSE.split(sentence):
        stop = start + len(clause.split())
        if start <= at < stop and _LEAST_PART <= stop - start <= wanted:
            first, last = start, stop
        start = stop
    chosen = words[first:last]
    while chosen and first and chosen[0].lower() in _FUNCTION:
        first, chosen = first + 1, chosen[1:]
    while chosen and last < len(words) and chosen[-1].lower() in _FUNCTION:
        chosen.pop()
    text = " ".join(chosen).strip(" ,;:()–—")
    return text[:1].upper() + text[1:].rstrip(".") + (MASK if text.endswith(MASK) else ".")


class RepeatedSentences:
    """Which sentences of a wiki stand there more than once, whatever figures and signs they have: boilerplate."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        keys = np.empty(len(graph.sentence_ends), np.uint64)
        _sentence_keys(
            graph.texts.blob, graph.texts.offsets, graph.sentence_indptr, graph.sentence_ends, keys
        )
        _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
        self.repeated = counts[which] > 1

    def number(self, node: int, sentence: int) -> bool:
        """Whether a sentence of a block, by its number, comes again."""
        return bool(self.repeated[int(self.graph.sentence_indptr[node]) + sentence])

    def at(self, node: int, byte: int) -> bool:
        """Whether the sentence comes again that a place in a block's text is in."""
        first, last = self.graph.sentence_indptr[node : node + 2].tolist()
        place = int(np.searchsorted(self.graph.sentence_ends[first:last], byte, side="right"))
        return place < last - first and self.number(node, place)


@kernel
def _sentence_keys(
    blob: Bytes,
    offsets: Int64s,
    indptr: Int64s,
    ends: UInt16s,
    keys: UInt64s,
) -> None:
    """FNV-1a of each sentence's letters, small ones."""
    for node in range(indptr.shape[0] - 1):
        start, stop = row_of(offsets, node, blob.shape[0])
        first, last = row_of(indptr, node, ends.shape[0])
        at = start
        for sentence in range(first, last):
            value = np.uint64(0xCBF29CE484222325)
            end = start + np.int64(ends[sentence])
            while at < end and at < stop:
                letter = blob[at]
                if 65 <= letter <= 90:
                    letter = np.uint8(letter + 32)
                if letter >= 128 or 97 <= letter <= 122:
                    value = (value ^ np.uint64(letter)) * np.uint64(0x100000001B3)
                at += 1
            keys[sentence] = value
