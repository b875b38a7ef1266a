"""Entity links: mentions that nobody linked are given the article they mean (app. A.1).

The paper ran a commercial linker, because a wiki links an entity once per article and blocks get separated from that
one link. Here every choice follows from the dump's own links. A mention's candidates are the articles its surface
form has led to; each is scored by commonness, by the words on either side (for ambiguous surfaces), and by how much its
neighbourhood in the link graph overlaps the article's. What the article links itself, and the article's own name, are
carried over; anything else must be likely to be a link at all.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwalk.build.entities.anchors import (
    ANY_ARTICLE,
    ANY_LINK,
    ANY_MENTION,
    FROM_BARE_TITLE,
    FROM_SURNAME,
    FROM_TITLE,
    Anchors,
    context_key,
    context_words,
)
from linkwalk.build.entities.mentions import (
    BARRIER,
    CLASSES,
    NUMBER,
    SENTENCE,
    SEVERAL_WORDS,
    SINGLE_LETTER,
    Bytes,
    Int32s,
    Int64s,
    find_mentions,
)
from linkwalk.build.names import find_keys
from linkwalk.compiled import kernel, row_of, within
from linkwalk.graph.columns import map_array
from linkwalk.graph.csr import Csr

Floats = NDArray[np.float64]

# Weights and thresholds, tuned on links hidden from schools2007 (bench/linker.py); docs/decisions.md tells how.
_RELATED_WEIGHT, _RELATED_FLOOR = 0.7, 0.02
_CARRIED_BONUS, _SELF_BONUS = 1.5, 2.0
_CONTEXT_PRIOR = 2.0
_LINK_CONTEXT_WEIGHT, _LINK_CONTEXT_PRIOR, _WORDS = 0.25, 50.0, 50_000
_SURNAME_COMMONNESS = 0.3
#: Links that a candidate is credited with for its name alone: none, title, small title, surname, bare title.
_ORIGIN_PRIOR = np.array([1e-6, 0.1, 0.1, 0.1, 0.03])
_IMPOSSIBLE = -1e3
_BEFORE_NAME, _AFTER_NAME = np.uint8(1), np.uint8(2)
_NAME_PART_COST = 2.0
_MIN_SCORE = -5.8
_MIN_POSTERIOR = 0.5
#: A surface must be a link at least this often to be looked for; longer ones more often, or they hide better ones.
_MIN_LINK_PROBABILITY, _MIN_LONG_LINK_PROBABILITY = 0.003, 0.015
_MIN_NUMBER_LINK_PROBABILITY = 0.1


@dataclass(frozen=True)
class Mentions:
    """Places in a shard's blocks and the article each means; spans are bytes relative to the block."""

    block: Int32s
    start: Int32s
    end: Int32s
    article: Int32s


@dataclass(frozen=True)
class Linker:
    """The tables the linker reads, mapped."""

    anchors: Anchors
    link_probability: NDArray[np.float32]
    """P(link | surface), for every surface."""
    admitted: Int32s
    """Surfaces worth looking for."""
    admitted_keys: NDArray[np.uint64]
    slots: Int32s
    """Hash table over the admitted surfaces."""
    context_keys: NDArray[np.uint64]
    context_counts: NDArray[np.uint32]
    contexts: NDArray[np.int64]
    """How many links, and how many sampled mentions, the contexts were taken from."""
    ambiguous: NDArray[np.bool_]
    neighbours: Csr
    """Article graph in both directions, rows sorted."""
    outgoing: Csr
    """Articles each article links to, rows sorted."""
    weight: Floats
    """Per article: squared inverse document frequency, what sharing it as a neighbour is worth."""
    norm: Floats

    @classmethod
    def open(cls, folder: Path) -> "Linker":
        """Map the tables in a build's working folder."""

        def column(name: str) -> NDArray[np.float64]:
            return map_array(folder / f"{name}.npy")

        return cls(
            Anchors.open(folder),
            column("link-probability"),  # type: ignore[arg-type]
            column("admitted"),  # type: ignore[arg-type]
            column("admitted-keys"),  # type: ignore[arg-type]
            column("admitted-slots"),  # type: ignore[arg-type]
            column("context-keys"),  # type: ignore[arg-type]
            column("context-counts"),  # type: ignore[arg-type]
            column("contexts"),  # type: ignore[arg-type]
            column("ambiguous"),  # type: ignore[arg-type]
            Csr(column("neighbour-indptr"), column("neighbours")),  # type: ignore[arg-type]
            Csr(column("outgoing-indptr"), column("outgoing")),  # type: ignore[arg-type]
            column("neighbour-weight"),
            column("neighbour-norm"),
        )

    def link(self, text: Bytes, bounds: Int64s, marks: Bytes, block_article: Int32s) -> Mentions:
        """Link the mentions in a shard's blocks that are free of barriers."""
        block, start, end, surface = self._find(text, bounds, marks)
        before, after = context_words(text, bounds, block, start, end)
        home = block_article[block]

        # One row per mention and candidate.
        anchors = self.anchors
        degree = anchors.indptr[surface + 1] - anchors.indptr[surface]
        row = np.repeat(np.arange(len(surface)), degree)
        at = np.repeat(anchors.indptr[surface] - (np.cumsum(degree) - degree), degree) + np.arange(len(row))
        article = anchors.articles[at]
        home_R, surface_R = home[row], surface[row]
        origin = anchors.origins[at]
        carried = _contains(self.outgoing.indptr, self.outgoing.indices, home_R, article)
        own = home_R == article
        named_part = _part_of_name(text, bounds, marks, block, start, end)
        # A last name nobody has linked means the person only where the article knows them, and only alone.
        surname = (origin == FROM_SURNAME) & (anchors.candidate_links[at] == 0)
        common = (anchors.candidate_links[at] + _ORIGIN_PRIOR[origin]) / (anchors.links[surface_R] + 0.2)
        common = np.where(surname, _SURNAME_COMMONNESS, common)
        related = self._relatedness(home_R, article)
        score = np.log(common) + self._context(surface_R, article, before[row], after[row], common)
        score += _RELATED_WEIGHT * np.log(related + _RELATED_FLOOR)
        score += _CARRIED_BONUS * carried + _SELF_BONUS * own
        score[surname & (~(carried | own) | (named_part[row] > 0))] = _IMPOSSIBLE

        # The best candidate of each mention, with its share of the probability.
        order = np.lexsort((article, -score, row))
        best = order[np.concatenate((np.ones(min(1, len(row)), np.bool_), row[order][1:] != row[order][:-1]))]
        total = np.bincount(row, np.exp(score - score[best][row]), minlength=len(surface))
        posterior = 1 / total
        link_score = np.log(self.link_probability[surface]) + np.log(posterior)
        link_score += _RELATED_WEIGHT * np.log(related[best] + _RELATED_FLOOR)
        link_score += _LINK_CONTEXT_WEIGHT * self._link_context(surface, before, after)
        link_score -= _NAME_PART_COST * (named_part > 0)
        known = (carried[best] | own[best]) & (posterior > _MIN_POSTERIOR) & (score[best] > _IMPOSSIBLE)
        known &= named_part & _AFTER_NAME == 0
        keep = known | (link_score >= _MIN_SCORE)
        return Mentions(block[keep], start[keep], end[keep], article[best][keep])

    def _find(self, text: Bytes, bounds: Int64s, marks: Bytes) -> tuple[Int32s, Int32s, Int32s, Int32s]:
        block, start, end, found = find_mentions(text, bounds, marks, CLASSES, self.admitted_keys, self.slots)
        return block, start, end, self.admitted[found]

    def _relatedness(self, home: Int32s, article: Int32s) -> Floats:
        """Cosine of two articles' neighbourhoods, rare neighbours weighing more; each pair is computed once."""
        pairs, back = np.unique(home.astype(np.int64) << 32 | article, return_inverse=True)
        a, b = (pairs >> 32).astype(np.int32), (pairs & 0x7FFFFFFF).astype(np.int32)
        return _shared_weight(self.neighbours.indptr, self.neighbours.indices, self.weight, self.norm, a, b)[
            back
        ]

    def _context(
        self,
        surface: Int32s,
        article: Int32s,
        before: NDArray[np.uint64],
        after: NDArray[np.uint64],
        common: Floats,
    ) -> Floats:
        """How much more likely the words on either side make the candidate, for ambiguous surfaces (naive Bayes)."""
        gain = np.zeros(len(surface))
        rows = np.flatnonzero(self.ambiguous[surface])
        surface, article, common = surface[rows], article[rows], common[rows]
        for side, word in enumerate((before[rows], after[rows])):
            here = self._context_count(context_key(surface, article, word, side))
            everywhere = self._context_count(context_key(surface, ANY_ARTICLE, word, side))
            gain[rows] += np.log((here + _CONTEXT_PRIOR * common) / ((everywhere + _CONTEXT_PRIOR) * common))
        return gain

    def _link_context(self, surface: Int32s, before: NDArray[np.uint64], after: NDArray[np.uint64]) -> Floats:
        """How much more often the words on either side stand beside links, this surface's or any, than beside mentions.

        "can lead to" speaks against the metal, "lead and zinc" for it.
        """
        links, mentions = self.contexts.tolist()
        if not links:  # a wiki without links says nothing about where links stand
            return np.zeros(len(surface))
        own = self.anchors.links[surface].astype(np.float64)
        gain = np.zeros(len(surface))
        for side, word in enumerate((before, after)):
            here = self._context_count(context_key(surface, ANY_ARTICLE, word, side))
            linked = (self._context_count(context_key(ANY_LINK, ANY_ARTICLE, word, side)) + 1) / (
                links + _WORDS
            )
            usual = (self._context_count(context_key(ANY_MENTION, ANY_ARTICLE, word, side)) + 1) / (
                mentions + _WORDS
            )
            gain += np.log((here + _LINK_CONTEXT_PRIOR * linked) / ((own + _LINK_CONTEXT_PRIOR) * usual))
        return gain

    def _context_count(self, keys: NDArray[np.uint64]) -> Floats:
        at, found = find_keys(self.context_keys, keys)
        counts = self.context_counts[at] if len(self.context_keys) else np.zeros(len(keys), np.uint32)
        return np.where(found, counts, 0).astype(np.float64)


@kernel
def neighbourhood_norms(indptr: Int64s, indices: Int32s, weight: Floats) -> Floats:
    """Length of every article's vector of neighbours."""
    norms = np.empty(indptr.shape[0] - 1)
    for node in range(indptr.shape[0] - 1):
        total = 0.0
        first, last = row_of(indptr, node, indices.shape[0])
        for edge in range(first, last):
            total += weight[within(indices[edge], weight.shape[0])]
        norms[node] = max(np.sqrt(total), 1e-9)
    return norms


@kernel
def _contains(indptr: Int64s, indices: Int32s, rows: Int32s, values: Int32s) -> NDArray[np.bool_]:
    """Whether each value stands in its (sorted) row."""
    found = np.zeros(rows.shape[0], np.bool_)
    for i in range(rows.shape[0]):
        low, end = row_of(indptr, rows[i], indices.shape[0])
        high = end
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < values[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = low < end and indices[low] == values[i]
    return found


@kernel
def _shared_weight(
    indptr: Int64s, indices: Int32s, weight: Floats, norm: Floats, a: Int32s, b: Int32s
) -> Floats:
    """Cosine of sorted neighbour rows: the shorter row's entries are searched for in the longer one."""
    result = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        first, last = row_of(indptr, a[i], indices.shape[0])
        at, stop = row_of(indptr, b[i], indices.shape[0])
        if last - first > stop - at:
            first, last, at, stop = at, stop, first, last
        total = 0.0
        for j in range(first, last):
            value = indices[j]
            step, high = 1, at
            while high < stop and indices[high] < value:  # gallop, then halve
                at = high + 1
                high += step
                step *= 2
            high = min(high, stop)
            while at < high:
                middle = (at + high) // 2
                if indices[middle] < value:
                    at = middle + 1
                else:
                    high = middle
            if at >= stop:
                break
            if indices[at] == value:
                total += weight[within(value, weight.shape[0])]
        if total > 0:
            result[i] = total / (norm[a[i]] * norm[b[i]])
    return result


@kernel
def _part_of_name(
    text: Bytes, bounds: Int64s, marks: Bytes, block: Int32s, start: Int32s, end: Int32s
) -> Bytes:
    """Whether a capitalised mention stands before ("Atlantic Avenue") or after ("South Australia") another capital."""
    result = np.zeros(block.shape[0], np.uint8)
    for i in range(block.shape[0]):
        low, high = row_of(bounds, block[i], text.shape[0])
        at, stop = low + start[i], low + end[i]
        if not 65 <= text[at] <= 90:
            continue
        if stop + 1 < high and text[stop] == 32 and 65 <= text[stop + 1] <= 90:
            result[i] |= _BEFORE_NAME
        if at - 2 > low and text[at - 1] == 32 and 97 <= (text[at - 2] | 32) <= 122:
            word = at - 2
            while word > low and text[word - 1] != 32 and text[word - 1] != 10:
                word -= 1
            if 65 <= text[word] <= 90 and not marks[word] & SENTENCE:
                result[i] |= _AFTER_NAME
    return result


def mark(
    text_bytes: int,
    bounds: Int64s,
    link_block: Int32s,
    link_span: NDArray[np.uint16],
    sentence_counts: Int32s,
    sentence_ends: NDArray[np.uint16],
) -> Bytes:
    """Mark the bytes of links, which no mention may touch, and of sentence beginnings."""
    marks = np.zeros(text_bytes + 2, np.uint8)
    base = bounds[link_block]
    _mark_spans(marks, base + link_span[:, 0], base + link_span[:, 1])
    ends = bounds[np.repeat(np.arange(len(sentence_counts)), sentence_counts)] + sentence_ends
    marks[bounds[:-1]] |= SENTENCE
    last = np.cumsum(sentence_counts)[sentence_counts > 0] - 1
    ends = np.delete(ends, last)  # where a block ends, no mark may reach into the next one
    marks[ends] |= SENTENCE  # where no blank separates two sentences
    marks[ends + 1] |= SENTENCE
    return marks


@kernel
def _mark_spans(marks: Bytes, starts: Int64s, ends: Int64s) -> None:
    for i in range(starts.shape[0]):
        for at in range(starts[i], ends[i]):
            marks[at] |= BARRIER


def admit(
    anchors: Anchors,
    seen: NDArray[np.integer],
    seen_small: NDArray[np.integer],
    seen_elsewhere: NDArray[np.integer],
    *,
    linkless: bool,
) -> tuple[NDArray[np.float32], Int32s]:
    """P(link | surface), and which surfaces are worth looking for.

    A title that nobody has linked is given a small chance, smaller the more often it stands there unlinked. In a wiki
    without links (``linkless``) that says nothing: there, a title counts if it is mostly written with its capital, and
    other words by how often they are links elsewhere, in the wiki whose anchors are used.
    """
    count = np.maximum(seen_elsewhere if linkless else seen + seen_elsewhere, 1).astype(np.float64)
    links = anchors.links.astype(np.float64)
    first = anchors.indptr[:-1]
    origin = anchors.origins[first] if len(first) else np.zeros(0, np.uint8)
    several = anchors.shapes & SEVERAL_WORDS > 0
    probability = np.minimum(1.0, links / count)
    untried = (links == 0) & ((origin == FROM_TITLE) | (origin == FROM_BARE_TITLE))
    if linkless:
        capital = seen > 4.0 * np.asarray(seen_small)  # "Turkey" is, "Bath" is not
        untried &= capital & ((origin == FROM_TITLE) | several) & (anchors.shapes & NUMBER == 0)
        probability = np.where(untried, 0.5, probability)
    else:
        probability = np.where(untried, 0.3 / np.maximum(3.0, count), probability)
    least = np.where(several, _MIN_LONG_LINK_PROBABILITY, _MIN_LINK_PROBABILITY)
    least = np.where(anchors.shapes & NUMBER > 0, _MIN_NUMBER_LINK_PROBABILITY, least)
    admitted = (links > 0) & (probability >= least)
    admitted |= untried if linkless else (untried & several) | _has_surname(anchors)
    admitted &= anchors.shapes & SINGLE_LETTER == 0
    return np.maximum(probability, 1e-9).astype(np.float32), np.flatnonzero(admitted).astype(np.int32)


def _has_surname(anchors: Anchors) -> NDArray[np.bool_]:
    """Surfaces that are somebody's last name."""
    if not len(anchors.keys):
        return np.zeros(0, np.bool_)
    return np.logical_or.reduceat(anchors.origins == FROM_SURNAME, anchors.indptr[:-1])
