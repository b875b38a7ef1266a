"""From a page of HTML to a document, whatever it came from (a folder, a ZIM file, a web archive), and its links.

Links are read as a browser reads them.
"""

import re
from collections.abc import Iterable
from itertools import islice
from urllib.parse import quote, unquote, urldefrag, urljoin

from linkwalk.sources.documents import Counts, Document
from linkwalk.sources.html.text import HtmlPage, decode
from linkwalk.sources.html.trafilatura import trafilatura
from linkwalk.sources.page_text import LinkTarget, Resolve, slug
from linkwalk.sources.source import RULE, ReadConfig, commonest
from linkwalk.sources.vault import EXTERNAL, OUTSIDE

#: How many pages are asked for the language they are in.
ASKED = 50
NO_PAGE, BROKEN = "mail, script or the like", "broken address"
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_BLANKS = re.compile(r"[\t\r\n]")
#: Stands for a root of which no address is known: deep enough that the way out of it shows.
NOWHERE = "http://nowhere.invalid/" + "_/" * 20


def check(config: ReadConfig) -> None:
    """See that what is asked for is there, before anything is read."""
    if config.main != RULE:
        trafilatura()


def parse(data: bytes, config: ReadConfig, damage: Counts, encoding: str = "") -> HtmlPage:
    """A page of its bytes."""
    return HtmlPage(decode(data, damage, encoding), config, damage)


def document(page: HtmlPage, address: str, title: str, resolve: Resolve, parent: str = "") -> Document:
    """A page as a document; one that sends its readers on is only another name for where it sends them."""
    if page.refresh and not isinstance(found := resolve(page.refresh), str) and found[0]:
        return Document(title=address, redirect=found[0], redirect_fragment=found[1])
    return Document.of(
        page.read(resolve), title=title, address=address, parent=parent, tags=page.tags, date=page.date
    )


def language_of(pages: Iterable[HtmlPage], otherwise: str = "") -> str:
    """The language that most of the first pages say they are in."""
    return commonest(page.language for page in islice(pages, ASKED)) or otherwise


def spread(count: int) -> range:
    """Numbers below a count, far apart, more than are asked."""
    return range(0, count, max(1, count // (2 * ASKED)))


def absolute(href: str, page: str, base: str = "") -> LinkTarget:
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


def within(href: str, address: str, home: str, base: str = "") -> LinkTarget:
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
