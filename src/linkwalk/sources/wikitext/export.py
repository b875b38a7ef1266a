"""What a MediaWiki export is made of: pages, and what may stand between them. Everything else there is damage.

The bytes are cut at the tags ``<page>`` and ``</page>``, which cannot stand inside a page's text (there it is
``&lt;page&gt;``). What lies between two tags is one item, whatever was read before it; so the same items
come out wherever a dump is cut, and none of them is lost or counted twice.
"""

import re
from collections.abc import Iterator

BEGIN, END = b"<page>", b"</page>"
TAG = re.compile(rb"</?page>")

# Every part is taken once and for all (possessive, atomic): a stretch of megabytes is judged in one pass.
_SPACE = rb"[ \t\r\n]*+"
_SITE = rb"(?:<siteinfo\b(?>.*?</siteinfo>))?+"
_HEAD = rb"(?:\xef\xbb\xbf)?+_(?:<\?xml[^>]*+>)?+_<mediawiki\b[^<>]*+>_".replace(b"_", _SPACE) + _SITE
_LOG = rb"_(?:<logitem>(?>.*?</logitem>)_)*+".replace(b"_", _SPACE)
_BETWEEN = re.compile(_LOG + rb"(?:</mediawiki>" + _SPACE + _HEAD + _LOG + rb")*+", re.DOTALL)

#: A file begins as if another export had just ended, and ends as if one were to begin: then its first and
#: last lines are what may stand between pages.
BEFORE_FILE, BEHIND_FILE = b"</mediawiki>", b"<mediawiki>"


def border(tag: re.Match[bytes]) -> int:
    """Where the item behind a tag begins: a page with its tag, what follows a page without."""
    return tag.start() if tag[0] == BEGIN else tag.end()


def last_border(data: bytes | bytearray) -> int:
    """Where the last item begins, which may go on behind the data: 0 where there is but one."""
    end = data.rfind(END)
    return max(data.rfind(BEGIN), end + len(END) if end >= 0 else 0, 0)


def items(data: bytes) -> Iterator[bytes]:
    """Cut bytes at page tags: pages, with or without their end, and what stands between them."""
    at = 0
    for tag in TAG.finditer(data):
        if border(tag) > at:
            yield data[at : border(tag)]
        at = border(tag)
    if at < len(data):
        yield data[at:]


def may_stand_between(item: bytes) -> bool:
    """Whether an item is white space, log entries, the end of one export and the head of another."""
    return _BETWEEN.fullmatch(item) is not None
