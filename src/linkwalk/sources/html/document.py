"""From a page of HTML to a document, whatever it came from: a folder, a ZIM file, a web archive."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from linkwalk.sources import packed
from linkwalk.sources.documents import Document
from linkwalk.sources.html.text import HtmlPage, decode
from linkwalk.sources.html.trafilatura import trafilatura
from linkwalk.sources.page_text import Resolve
from linkwalk.sources.source import RULE, ReadConfig

#: How many pages are asked for the language they are in.
ASKED = 50


def check(config: ReadConfig) -> None:
    """See that what is asked for is there, before anything is read."""
    if config.main != RULE:
        trafilatura()


def parse(data: bytes, config: ReadConfig, damage: Counter[str], encoding: str = "") -> HtmlPage | None:
    """A page, unless it is too large."""
    if len(data) > packed.MAX_PAGE_BYTES:
        damage[packed.TOO_LARGE] += 1
        return None
    return HtmlPage(decode(data, damage, encoding), config, damage)


def document(page: HtmlPage, address: str, title: str, resolve: Resolve, parent: str = "") -> Document:
    """A page as a document; one that sends its readers on is only another name for where it sends them."""
    if page.refresh and not isinstance(found := resolve(page.refresh), str) and found[0]:
        return Document(title=address, redirect=found[0], redirect_fragment=found[1])
    scan = page.read(resolve)
    return Document(
        title=title,
        text=scan.text,
        links=scan.links,
        headings=scan.headings,
        address=address,
        parent=parent,
        counts=scan.counts,
    )


def language_of(pages: Iterable[HtmlPage], otherwise: str = "") -> str:
    """The language that most of the first pages say they are in."""
    languages = Counter(page.language for page in islice(pages, ASKED) if page.language)
    return min(languages, key=lambda code: (-languages[code], code), default=otherwise)


def spread(count: int) -> Iterator[int]:
    """Numbers below a count, far apart, more than are asked."""
    return iter(range(0, count, max(1, count // (2 * ASKED))))
