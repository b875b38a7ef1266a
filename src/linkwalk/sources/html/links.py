"""Where the links of a page of HTML lead, as a browser reads them."""

import re
from urllib.parse import quote, unquote, urldefrag, urljoin

from linkwalk.sources.page_text import slug
from linkwalk.sources.vault import EXTERNAL, OUTSIDE, Found

NO_PAGE, BROKEN = "mail, script or the like", "broken address"
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_BLANKS = re.compile(r"[\t\r\n]")
#: Stands for a root of which no address is known: deep enough that the way out of it shows.
NOWHERE = "http://nowhere.invalid/" + "_/" * 20


def absolute(href: str, page: str, base: str = "") -> Found:
    """The whole address that a link on a page means, and its fragment; or why it is no link to a page."""
    href = _BLANKS.sub("", href.strip())
    scheme = _SCHEME.match(href)
    if scheme and scheme[1].lower() not in ("http", "https"):
        return NO_PAGE
    try:
        url, fragment = urldefrag(urljoin(urljoin(page, base) if base else page, href))
    except ValueError:
        return BROKEN
    return url, slug(unquote(fragment))


def within(href: str, address: str, home: str, base: str = "") -> Found:
    """What a link means below ``home``, as a quoted path from there with its query, and its fragment.

    A path that begins with a slash begins at the root where the home is not known.
    """
    if home == NOWHERE and href.lstrip()[:1] == "/" and href.lstrip()[:2] != "//":
        href, address, base = href.lstrip().lstrip("/") or "./", "", ""
    found = absolute(href, home + quote(address, errors="surrogateescape"), base)
    if isinstance(found, str):
        return found
    url, fragment = found
    if url.startswith(home):
        return url[len(home) :], fragment
    host = home[: home.index("/", home.index("//") + 2) + 1]
    return OUTSIDE if (url + "/").startswith(host) else EXTERNAL
