"""Counts words straight from the text blob, without decoding it (app. A.3, "# Words / Node")."""

from linkwalk.arrays import Bytes, Int64s
from linkwalk.compiled import kernel, row_of
from linkwalk.graph.columns import Strings


def count_words(strings: Strings, start: int, stop: int) -> int:
    """Words in strings ``start`` to ``stop``, separated by white space as ``str.split`` understands it."""
    return int(_count_words(strings.blob, strings.offsets, start, stop))


@kernel
def _count_words(blob: Bytes, offsets: Int64s, start: int, stop: int) -> int:
    words = 0
    for i in range(start, stop):
        inside = False
        at, end = row_of(offsets, i, blob.shape[0])
        while at < end:
            byte = blob[at]
            if byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31:
                inside = False
                at += 1
                continue
            # Bytes C2, E1, E2 and E3 begin all white space beyond ASCII.
            if byte >= 0xC2 and byte <= 0xE3:
                width = _wide_space(blob, at, end)
                if width > 0:
                    inside = False
                    at += width
                    continue
            if not inside:
                inside = True
                words += 1
            at += 1
    return words


@kernel
def _wide_space(blob: Bytes, at: int, end: int) -> int:
    """Bytes of the white-space character beyond ASCII that begins here, 0 if there is none."""
    first = blob[at]
    if first == 0xC2 and at + 1 < end:
        return 2 if blob[at + 1] == 0x85 or blob[at + 1] == 0xA0 else 0
    if at + 2 >= end:
        return 0
    second, third = blob[at + 1], blob[at + 2]
    if first == 0xE1:
        return 3 if second == 0x9A and third == 0x80 else 0
    if first == 0xE2 and second == 0x80:
        return 3 if third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
    if first == 0xE2 and second == 0x81:
        return 3 if third == 0x9F else 0
    if first == 0xE3:
        return 3 if second == 0x80 and third == 0x80 else 0
    return 0
