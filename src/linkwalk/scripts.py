"""Scripts that put no blanks between words."""

UNSPACED = "\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Thai to Khmer, Chinese, Japanese: ranges of characters, as regular expressions write them."""
