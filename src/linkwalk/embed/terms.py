"""Texts as rows of terms: words, or pairs and threes of characters where no blanks are written, each a hashed number.

A term's number is its hash, cut to 24 bits: no list of words is kept, so that it takes as much memory for any wiki.
Most of the 16 million numbers mean one word or none; the few that mean two are of no matter to the sums they enter.
"""

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Bytes, Int32s, Int64s
from linkwalk.compiled import kernel
from linkwalk.graph.hashes import FNV_BASIS, FNV_PRIME, GOLDEN
from linkwalk.scripts import RANGES

BITS = 24
OTHER, LETTER, UNSPACED = range(3)
SIZE = 0x32400
"""Characters beyond, of which none are letters so far, are neither."""
_SHIFT = np.uint64(64 - BITS)
_HALF = np.uint64(32)


class TermCounts(NamedTuple):
    """Which terms each text has, and how often: row ``i`` is ``terms[bounds[i]:bounds[i + 1]]``, in their order."""

    bounds: Int64s
    terms: Int32s
    times: Int32s


def count_terms(texts: Sequence[str]) -> TermCounts:
    """The terms of some texts."""
    ends = np.fromiter(map(len, texts), np.int64, len(texts)).cumsum()
    # Half a character, which UTF-8 has no way to write, is no letter.
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    bounds, terms = _terms(codes, ends, *_letters())
    row = np.repeat(np.arange(len(texts)), np.diff(bounds))
    both, times = np.unique((row << BITS) | terms, return_counts=True)
    bounds = np.searchsorted(both, np.arange(len(texts) + 1) << BITS)
    return TermCounts(bounds, (both & ((1 << BITS) - 1)).astype(np.int32), times.astype(np.int32))


@cache
def _letters() -> tuple[Bytes, Int32s]:
    """For every character what it is and what it counts as: capital letters as small ones, accents as they are."""
    kinds, folded = np.zeros(SIZE, np.uint8), np.arange(SIZE, dtype=np.int32)
    for code in range(SIZE):
        sign = chr(code)
        # Letters, digits, and the marks that vowels are in many scripts.
        if unicodedata.category(sign)[0] in "LNM":
            kinds[code] = LETTER
            small = sign.casefold()
            folded[code] = ord(small if len(small) == 1 else sign.lower()[0])
    for first, last in RANGES:
        kinds[first : last + 1][kinds[first : last + 1] != OTHER] = UNSPACED
    return kinds, folded


@kernel
def _terms(codes: NDArray[np.uint32], ends: Int64s, kinds: Bytes, folded: Int32s) -> tuple[Int64s, Int32s]:
    """Terms of each text in the order they stand in."""
    bounds = np.zeros(len(ends) + 1, np.int64)
    terms = np.empty(2 * len(codes), np.int32)  # a pair and a three for each character at most
    at, count = 0, 0
    for row in range(len(ends)):
        end = ends[row]
        while at < end:
            kind = kinds[codes[at]] if codes[at] < SIZE else 0
            if kind == LETTER:
                hashed = FNV_BASIS
                while at < end and codes[at] < SIZE and kinds[codes[at]] == LETTER:
                    hashed = (hashed ^ np.uint64(folded[codes[at]])) * FNV_PRIME
                    at += 1
                terms[count] = _cut(hashed)
                count += 1
            elif kind == UNSPACED:
                first, before, last = at, FNV_BASIS, FNV_BASIS
                while at < end and codes[at] < SIZE and kinds[codes[at]] == UNSPACED:
                    sign = np.uint64(folded[codes[at]])
                    if at >= first + 2:
                        terms[count] = _cut((before ^ sign) * FNV_PRIME)
                        count += 1
                    if at >= first + 1:
                        before = (last ^ sign) * FNV_PRIME
                        terms[count] = _cut(before)
                        count += 1
                    last = (FNV_BASIS ^ sign) * FNV_PRIME
                    at += 1
                if at == first + 1:
                    terms[count] = _cut(last)
                    count += 1
            else:
                at += 1
        bounds[row + 1] = count
    return bounds, terms[:count]


@kernel
def _cut(hashed: np.uint64) -> np.int32:
    """The bits of a hash that are a term's number."""
    return np.int32(((hashed ^ (hashed >> _HALF)) * GOLDEN) >> _SHIFT)
