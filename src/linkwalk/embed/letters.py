"""What each character is to the encoder ``words``: part of a word, a sign of a script without blanks, or neither."""

import unicodedata
from functools import cache

import numpy as np

from linkwalk.arrays import Bytes, Int32s
from linkwalk.scripts import RANGES

OTHER, LETTER, UNSPACED = range(3)
SIZE = 0x32400
"""Characters beyond, of which none are letters so far, are neither."""


@cache
def letters() -> tuple[Bytes, Int32s]:
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
