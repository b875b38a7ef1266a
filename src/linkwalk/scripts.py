"""Scripts that put no blanks between words."""

import re

RANGES = (
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
    (0x20000, 0x323FF),
)
"""Thai, Lao, Burmese, Khmer, Chinese and Japanese: the first and the last of each run of characters."""
UNSPACED = "".join(f"{chr(first)}-{chr(last)}" for first, last in RANGES)
"""The same, as regular expressions write it between brackets."""
SIGN, SIGNS_OF_A_WORD = re.compile(f"[{UNSPACED}]"), 2
"""One such character, and how many of them make a word, about."""


def words_in(text: str) -> int:
    """Words of a text: those between blanks, and more in scripts that know no blanks."""
    return len(text.split()) + (0 if text.isascii() else len(SIGN.findall(text)) // SIGNS_OF_A_WORD)
