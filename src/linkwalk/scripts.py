"""Scripts that put no blanks between words."""

import re

UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\uaa60-\uaa7f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3041-\u3096"  # Chinese and Japanese
    "\u309d-\u30ff\u31f0-\u31ff\u3400-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U0001aff0-\U0001b16f\U00020000-\U000323ff"
)
"""The characters of such scripts, as regular expressions write them between brackets."""
RANGES = [(ord(first), ord(last)) for first, last in re.findall("(.)-(.)", UNSPACED)]
"""The first and the last of each run of them."""
SIGN, SIGNS_OF_A_WORD = re.compile(f"[{UNSPACED}]"), 2
"""One such character, and how many of them make a word, about."""


def words_in(text: str) -> int:
    """Words of a text: those between blanks, and more in scripts that know no blanks."""
    return len(text.split()) + (0 if text.isascii() else len(SIGN.findall(text)) // SIGNS_OF_A_WORD)
