"""What each character is to the encoder ``words``: part of a word, a sign of a script without blanks, or neither."""

import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

OTHER, LETTER, UNSPACED = range(3)
SIZE = 0x32400
"""Characters beyond, of which none are letters so far, are neither."""
#: Chinese, Japanese, Thai, Lao, Burmese and Khmer write no blanks between words.
_UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3041, 0x3096),
    (0x309D, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x9FFF),
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x1AFF0, 0x1B16F),
    (0x20000, SIZE - 1),
)


@cache
def letters() -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """For every character what it is and what it counts as: capital letters as small ones, accents as they are."""
    kinds, folded = np.zeros(SIZE, np.uint8), np.arange(SIZE, dtype=np.int32)
    for code in range(SIZE):
        sign = chr(code)
        # Letters, digits, and the marks that vowels are in many scripts.
        if unicodedata.category(sign)[0] in "LNM":
            kinds[code] = LETTER
            small = sign.casefold()
            folded[code] = ord(small if len(small) == 1 else sign.lower()[0])
    for first, last in _UNSPACED:
        kinds[first : last + 1] *= UNSPACED
    return kinds, folded
