"""Entity links: mentions that nobody linked are given the article they mean (app. A.1).

The paper ran a commercial linker, because a wiki links an entity once per article and blocks get separated from that
one link. Here every choice follows from the dump's own links. A mention's candidates are the articles its surface
form has led to; each is scored by commonness, by the words on either side (for ambiguous surfaces), and by how much its
neighbourhood in the link graph overlaps the article's. What the article links itself, and the article's own name, are
carried over; anything else must be likely to be a link at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Bools, Bytes, Float32s, Float64s, Int32s, Int64s, UInt16s, UInt32s
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
    NUMBER,
    SENTENCE,
    SEVERAL_WORDS,
    SINGLE_LETTER,
    find_mentions,
)
from linkwalk.build.tables import Keys, find_keys, starts_run
from linkwalk.compiled import kernel, row_of, within
from linkwalk.graph.csr import bounds_of

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


class Mentions(NamedTuple):
    """Places in a shard's blocks and the article each means; spans are bytes relative to the block."""

    block: Int32s
    start: Int32s
    end: Int32s
    article: Int32s


@dataclass(frozen=True)
class Linker(Anchors):
    """The tables the linker reads."""

    link_probability: Float32s
    """P(link | surface), for every surface."""
    admitted: Int32s
    """Surfaces worth looking for."""
    admitted_keys: Keys
    admitted_slots: Int32s
    """Hash table over the admitted surfaces."""
    context_keys: Keys
    context_counts: UInt32s
    contexts: Int64s
    """How many links, and how many sampled mentions, the contexts were taken from."""
    neighbour_indptr: Int64s
    neighbours: Int32s
    """Article graph in both directions, rows sorted."""
    outgoing_indptr: Int64s
    outgoing: Int32s
    """Articles each article links to, rows sorted."""
    neighbour_weight: Float64s
    """Per article: squared inverse document frequency, what sharing it as a neighbour is worth."""
    neighbour_norm: Float64s

    def link(self, text: Bytes, bounds: Int64s, marks: Bytes, block_article: Int32s) -> Mentions:
        """Link the mentions in a shard's blocks that are free of barriers."""
        block, start, end, found = find_mentions(text, bounds, marks, self.admitted_keys, self.admitted_slots)
        surface = self.admitted[found]
        sides = context_words(text, bounds, block, start, end)

        # One row per mention and candidate.
        first = self.surface_indptr[surface]
        degree = self.surface_indptr[surface + 1] - first
        row = np.repeat(np.arange(len(surface)), degree)
        at = np.repeat(first - bounds_of(degree)[:-1], degree) + np.arange(len(row))
        article, origin, links = (
            self.candidate_articles[at],
            self.candidate_origins[at],
            self.candidate_links[at],
        )
        home_R, surface_R = block_article[block][row], surface[row]
        carried = _contains(self.outgoing_indptr, self.outgoing, home_R, article)
        own = home_R == article
        named_part = _part_of_name(text, bounds, marks, block, start, end)
        # A last name nobody has linked means the person only where the article knows them, and only alone.
        surname = (origin == FROM_SURNAME) & (links == 0)
        common = (links + _ORIGIN_PRIOR[origin]) / (self.surface_links[surface_R] + 0.2)
        common = np.where(surname, _SURNAME_COMMONNESS, common)
        related = np.log(self._relatedness(home_R, article) + _RELATED_FLOOR)
        score = np.log(common) + self._context(surface_R, article, [word[row] for word in sides], common)
        score += _RELATED_WEIGHT * related
        score += _CARRIED_BONUS * carried + _SELF_BONUS * own
        score[surname & (~(carried | own) | (named_part[row] > 0))] = _IMPOSSIBLE

        # The best candidate of each mention, with its share of the probability.
        order = np.lexsort((article, -score, row))
        best = order[starts_run(row[order])]
        total = np.bincount(row, np.exp(score - score[best][row]), minlength=len(surface))
        posterior = 1 / total
        link_score = np.log(self.link_probability[surface]) + np.log(posterior)
        link_score += _RELATED_WEIGHT * related[best]
        link_score += _LINK_CONTEXT_WEIGHT * self._link_context(surface, sides)
        link_score -= _NAME_PART_COST * (named_part > 0)
        known = (carried[best] | own[best]) & (posterior > _MIN_POSTERIOR) & (score[best] > _IMPOSSIBLE)
        known &= named_part & _AFTER_NAME == 0
        keep = known | (link_score >= _MIN_SCORE)
        return Mentions(block[keep], start[keep], end[keep], article[best][keep])

    def _relatedness(self, home: Int32s, article: Int32s) -> Float64s:
        """Cosine of two articles' neighbourhoods, rare neighbours weighing more; each pair is computed once."""
        pairs, back = np.unique(home.astype(np.int64) << 32 | article, return_inverse=True)
        a, b = (pairs >> 32).astype(np.int32), (pairs & 0x7FFFFFFF).astype(np.int32)
        weight, norm = self.neighbour_weight, self.neighbour_norm
        return _shared_weight(self.neighbour_indptr, self.neighbours, weight, norm, a, b)[back]

    def _context(self, surface: Int32s, article: Int32s, sides: Sequence[Keys], common: Float64s) -> Float64s:
        """How much more likely the words on either side make the candidate, for ambiguous surfaces (naive Bayes)."""
        gain = np.zeros(len(surface))
        rows = np.flatnonzero(self.ambiguous[surface])
        surface, article, common = surface[rows], article[rows], common[rows]
        for side, words in enumerate(sides):
            here = self._times(words[rows], side, surface, article)
            everywhere = self._times(words[rows], side, surface)
            gain[rows] += np.log((here + _CONTEXT_PRIOR * common) / ((everywhere + _CONTEXT_PRIOR) * common))
        return gain

    def _link_context(self, surface: Int32s, sides: Sequence[Keys]) -> Float64s:
        """How much more often the words on either side stand beside links, this surface's or any, than beside mentions.

        "can lead to" speaks against the metal, "lead and zinc" for it.
        """
        links, mentions = self.contexts.tolist()
        gain = np.zeros(len(surface))
        if not links:  # a wiki without links says nothing about where links stand
            return gain
        own = self.surface_links[surface].astype(np.float64)
        for side, words in enumerate(sides):
            here = self._times(words, side, surface)
            linked = (self._times(words, side, ANY_LINK) + 1) / (links + _WORDS)
            usual = (self._times(words, side, ANY_MENTION) + 1) / (mentions + _WORDS)
            gain += np.log((here + _LINK_CONTEXT_PRIOR * linked) / ((own + _LINK_CONTEXT_PRIOR) * usual))
        return gain

    def _times(
        self, words: Keys, side: int, surface: Int32s | int, article: Int32s | int = ANY_ARTICLE
    ) -> Float64s:
        """How often this surface led to this article next to these words."""
        at = find_keys(self.context_keys, context_key(words, side, surface, article))
        return self.context_counts[at].astype(np.float64)


@kernel
def neighbourhood_norms(indptr: Int64s, indices: Int32s, weight: Float64s) -> Float64s:
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
def _contains(indptr: Int64s, indices: Int32s, rows: Int32s, values: Int32s) -> Bools:
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
    indptr: Int64s, indices: Int32s, weight: Float64s, norm: Float64s, a: Int32s, b: Int32s
) -> Float64s:
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
    link_starts: Int64s,
    link_ends: Int64s,
    sentence_counts: Int32s,
    sentence_ends: UInt16s,
) -> Bytes:
    """Mark the bytes of links, which no mention may touch, and of sentence beginnings."""
    marks = np.zeros(text_bytes + 2, np.uint8)
    _mark_spans(marks, link_starts, link_ends)
    ends = np.repeat(bounds[:-1], sentence_counts) + sentence_ends
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
    anchors: Anchors, seen: Int64s, seen_small: Int64s, seen_elsewhere: Int64s, *, linkless: bool
) -> tuple[Float32s, Int32s]:
    """P(link | surface), and which surfaces are worth looking for.

    A title that nobody has linked is given a small chance, smaller the more often it stands there unlinked. In a wiki
    without links (``linkless``) that says nothing: there, a title counts if it is mostly written with its capital, and
    other words by how often they are links elsewhere, in the wiki whose anchors are used.
    """
    count = np.maximum(seen_elsewhere if linkless else seen + seen_elsewhere, 1).astype(np.float64)
    links, firsts = anchors.surface_links.astype(np.float64), anchors.surface_indptr[:-1]
    origin = anchors.candidate_origins[firsts]
    several, number, letter = (
        anchors.surface_shapes & bit > 0 for bit in (SEVERAL_WORDS, NUMBER, SINGLE_LETTER)
    )
    probability = np.minimum(1.0, links / count)
    untried = (links == 0) & ((origin == FROM_TITLE) | (origin == FROM_BARE_TITLE))
    if linkless:
        capital = seen > 4.0 * seen_small  # "Turkey" is, "Bath" is not
        untried &= capital & ((origin == FROM_TITLE) | several) & ~number
        probability = np.where(untried, 0.5, probability)
        known = untried
    else:
        probability = np.where(untried, 0.3 / np.maximum(3.0, count), probability)
        surnames = np.logical_or.reduceat(anchors.candidate_origins == FROM_SURNAME, firsts)
        known = (untried & several) | surnames
    least = np.where(several, _MIN_LONG_LINK_PROBABILITY, _MIN_LINK_PROBABILITY)
    least = np.where(number, _MIN_NUMBER_LINK_PROBABILITY, least)
    admitted = (((links > 0) & (probability >= least)) | known) & ~letter
    return np.maximum(probability, 1e-9).astype(np.float32), np.flatnonzero(admitted).astype(np.int32)
