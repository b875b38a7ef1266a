"""Finds every place where a known surface form stands in a text, longest match first, at the speed of memory.

A surface form ("asteroid belt") is known by a 64-bit FNV-1a hash of its bytes. From every word of the text the hash is
rolled over up to eight words and looked up in an open-addressing table at each word's end. An Aho-Corasick automaton
would need gigabytes for the ten million surfaces of a large wiki, in every process; this table is 12 bytes a slot, and
mapped.
"""

import numpy as np

from linkwalk.arrays import Bytes, Int32s, Int64s
from linkwalk.build.tables import Keys
from linkwalk.compiled import inlined, kernel, row_of
from linkwalk.graph.csr import bounds_of
from linkwalk.graph.hashes import FNV_BASIS, FNV_PRIME

MAX_WORDS = 8
MAX_BYTES = 120
_SEPARATOR, _WORD, _IDEOGRAPH = range(3)


def _classes() -> Bytes:
    """What each code point of the basic plane is: separator, part of a word, or (CJK) a word of its own."""
    table = np.zeros(1 << 16, np.uint8)
    for code in range(1 << 16):
        if 0x3040 <= code < 0xA000:
            table[code] = _IDEOGRAPH if chr(code).isalnum() else _SEPARATOR
        elif chr(code).isalnum() or 0x300 <= code < 0x370:  # combining accents belong to their letter
            table[code] = _WORD
    return table


CLASSES = _classes()


@inlined
def _decode(text: Bytes, at: int) -> tuple[np.int64, int]:
    """Code point and length in bytes of the character at ``at`` (the text is valid UTF-8)."""
    byte = np.int64(text[at])
    if byte < 0x80:
        return byte, 1
    if byte < 0xE0:
        return ((byte & 0x1F) << 6) | (np.int64(text[at + 1]) & 0x3F), 2
    if byte < 0xF0:
        return ((byte & 0x0F) << 12) | ((np.int64(text[at + 1]) & 0x3F) << 6) | (
            np.int64(text[at + 2]) & 0x3F
        ), 3
    return np.int64(0xFFFF), 4


@kernel
def words(text: Bytes) -> tuple[Int32s, Int32s]:
    """Where the words of a text begin and end."""
    end = text.shape[0]
    starts, ends = np.empty(end, np.int32), np.empty(end, np.int32)
    count, at, inside = 0, 0, False
    while at < end:
        code, size = _decode(text, at)
        kind = np.uint8(1) if code >= 0xFFFF else CLASSES[code]
        if kind == 1:
            if not inside:
                starts[count] = at
                inside = True
        else:
            if inside:
                ends[count] = at
                count += 1
                inside = False
            if kind == 2:
                starts[count], ends[count] = at, at + size
                count += 1
        at += size
    if inside:
        ends[count] = end
        count += 1
    return starts[:count], ends[:count]


#: What a surface form looks like, as bits.
SINGLE_LETTER, SEVERAL_WORDS, NUMBER = np.uint8(1), np.uint8(2), np.uint8(4)


@kernel
def hash_spans(text: Bytes, starts: Int64s, ends: Int64s) -> tuple[Keys, Bytes]:
    """Keys and shapes of stretches of text, each less the separators at its ends; key 0 where nothing is left."""
    keys = np.zeros(starts.shape[0], np.uint64)
    shapes = np.zeros(starts.shape[0], np.uint8)
    for i in range(starts.shape[0]):
        span = text[starts[i] : ends[i]]
        first, last = words(span)
        if first.shape[0]:
            key = FNV_BASIS
            for byte in span[first[0] : last[-1]]:
                key = (key ^ np.uint64(byte)) * FNV_PRIME
            keys[i] = key
            if first.shape[0] > 1:
                shapes[i] |= SEVERAL_WORDS
            elif last[0] - first[0] == 1:
                shapes[i] |= SINGLE_LETTER
            if 48 <= span[first[0]] <= 57:
                shapes[i] |= NUMBER
    return keys, shapes


def hash_strings(strings: list[str]) -> tuple[Keys, Bytes]:
    """Keys and shapes of surface forms given as strings."""
    encoded = [string.encode() for string in strings]
    bounds = bounds_of([len(e) for e in encoded])
    return hash_spans(np.frombuffer(b"".join(encoded) + b"\0", np.uint8), bounds[:-1], bounds[1:])


@kernel
def _fill(keys: Keys, slots: Int32s) -> None:
    mask = slots.shape[0] - 1
    for i in range(keys.shape[0]):
        at = np.int64((keys[i] ^ (keys[i] >> np.uint64(29))) & np.uint64(mask))
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = i


def hash_table(keys: Keys) -> Int32s:
    """Slots of an open-addressing table over distinct keys, at most half full; -1 marks a free slot."""
    slots = np.full(max(4, 1 << (2 * len(keys)).bit_length()), -1, np.int32)
    _fill(keys, slots)
    return slots


@inlined
def _probe(key: np.uint64, keys: Keys, slots: Int32s) -> int:
    """Where a key stands in the table's keys, or -1."""
    mask = slots.shape[0] - 1
    at = np.int64((key ^ (key >> np.uint64(29))) & np.uint64(mask))
    left = mask  # a table without a free slot was not written by us
    while slots[at] >= 0 and keys[slots[at]] != key and left > 0:
        at = (at + 1) & mask
        left -= 1
    return int(slots[at]) if left > 0 else -1


#: Marks on the bytes of a text: what no mention may touch (a link), and where a sentence begins.
BARRIER, SENTENCE = np.uint8(1), np.uint8(2)


@inlined
def _inside_compound(span: Bytes, at: int) -> bool:
    """Whether the word at ``at`` is a later part of a hyphenated word: there is no "like" in "cat-like"."""
    return bool(at > 1 and span[at - 1] == 45 and span[at - 2] != 32)


@inlined
def _cut_by_hyphen(span: Bytes, stop: int) -> bool:
    """Whether a hyphen ties what ends at ``stop`` to a word that follows."""
    return bool(stop + 1 < span.shape[0] and span[stop] == 45 and span[stop + 1] > 47)


@kernel
def count_surfaces(
    text: Bytes, bounds: Int64s, keys: Keys, slots: Int32s, seen: Int32s, small: bool = False
) -> None:
    """Add to ``seen`` how often each surface stands in the text, overlaps and all.

    ``small`` counts the places where it stands with its capital made small instead.
    """
    for block in range(bounds.shape[0] - 1):
        base, stop = row_of(bounds, block, text.shape[0])
        span = text[base:stop]
        first, last = words(span)
        count = first.shape[0]
        for word in range(count):
            letter = span[first[word]]
            if _inside_compound(span, first[word]) or (small and not 97 <= letter <= 122):
                continue
            key = (FNV_BASIS ^ np.uint64(letter - 32 if small else letter)) * FNV_PRIME
            at = first[word] + 1
            for reach in range(word, min(count, word + MAX_WORDS)):
                if last[reach] - first[word] > MAX_BYTES or (reach > word and span[first[reach] - 1] == 10):
                    break
                while at < last[reach]:
                    key = (key ^ np.uint64(span[at])) * FNV_PRIME
                    at += 1
                if not _cut_by_hyphen(span, last[reach]):
                    hit = _probe(key, keys, slots)
                    if hit >= 0:
                        seen[hit] += 1


@kernel
def find_mentions(
    text: Bytes,
    bounds: Int64s,
    marks: Bytes,
    keys: Keys,
    slots: Int32s,
) -> Int32s:
    """Leftmost-longest mentions of known surfaces in each block, as four rows: block, start, end, surface.

    ``bounds`` are the blocks' byte offsets into ``text``, ``marks`` its bytes' ``BARRIER`` and ``SENTENCE`` bits.
    Positions are relative to the block. The first word of a sentence is tried without its capital, too.
    """
    found, mentions = 0, np.empty((4, 1024), np.int32)
    for block in range(bounds.shape[0] - 1):
        base, stop = row_of(bounds, block, text.shape[0])
        span = text[base:stop]
        first, last = words(span)
        count, word = first.shape[0], 0
        while word < count:
            best, best_word = -1, word
            if not _inside_compound(span, first[word]):
                key = FNV_BASIS
                small = FNV_BASIS  # the same with the first letter made small
                at = first[word]
                begins = marks[base + at] & SENTENCE and 65 <= span[at] <= 90
                for reach in range(word, min(count, word + MAX_WORDS)):
                    if (
                        last[reach] - first[word] > MAX_BYTES
                        or (reach > word and span[first[reach] - 1] == 10)
                        or marks[base + first[reach]] & BARRIER
                        or marks[base + last[reach] - 1] & BARRIER
                    ):
                        break
                    while at < last[reach]:
                        byte = np.uint64(span[at])
                        key = (key ^ byte) * FNV_PRIME
                        small = (small ^ (byte | np.uint64(32) if at == first[word] else byte)) * FNV_PRIME
                        at += 1
                    if _cut_by_hyphen(span, last[reach]):
                        continue
                    hit = _probe(key, keys, slots)
                    if hit < 0 and begins:
                        hit = _probe(small, keys, slots)
                    if hit >= 0:
                        best, best_word = hit, reach
            if best >= 0:
                # Every word may be a mention, and nobody knows how many words there are.
                if found == mentions.shape[1]:
                    longer = np.empty((4, 2 * found), np.int32)
                    longer[:, :found] = mentions
                    mentions = longer
                mentions[0, found], mentions[1, found] = block, first[word]
                mentions[2, found], mentions[3, found] = last[best_word], best
                found += 1
                word = best_word + 1
            else:
                word += 1
    return mentions[:, :found]
