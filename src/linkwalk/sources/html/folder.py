"""A folder of HTML: a site as its host serves it, or as it was saved.

Pages are called by their path from the root. A link is read as static hosts read it: relative to the page or its
``<base>``, a folder for its index page, with or without an ending. Where the pages say what address the site has (most
canonical links end in their page's own path), whole addresses of that site lead into the folder, too.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from linkwalk.sources.documents import Counts, Document
from linkwalk.sources.folder import Folder
from linkwalk.sources.html.document import (
    ASKED,
    NOWHERE,
    check,
    document,
    language_of,
    parse,
    spread,
    within,
)
from linkwalk.sources.html.text import HtmlPage, decode
from linkwalk.sources.marks import HTML, Marks, WrittenLink
from linkwalk.sources.page_text import LinkTarget
from linkwalk.sources.site import Site
from linkwalk.sources.source import USUAL, ReadConfig
from linkwalk.sources.vault import elsewhere, kind_of, name_of

#: Goes up with every change of what the documents are.
_VERSION = 3
#: How far into a page its title is looked for.
_HEAD_BYTES = 1 << 16
_HOME = re.compile(r"https?://[\w.:-]+/", re.IGNORECASE)


class Html(Folder):
    """All pages of HTML below a folder."""

    kind, endings = "HTML", (".html", ".htm", ".xhtml")

    def __init__(self, path: Path, config: ReadConfig = USUAL) -> None:
        check(config)
        super().__init__(path, config)
        sample = dict(islice(self.sample(), ASKED))
        self.home = _home(sample)
        language = config.language or language_of(sample.values())
        self.site = Site(name=self.name, language=language, literal=True)
        self.version = f"html {_VERSION}{config.differences()}"

    @staticmethod
    def recognises(path: Path) -> bool:
        """Whether a folder holds pages of HTML."""
        return any(name.lower().endswith(Html.endings) for _, _, files in os.walk(path) for name in files)

    def sample(self) -> Iterator[tuple[str, HtmlPage]]:
        """Some pages from all over the folder, with their addresses."""
        for number in spread(len(self.vault.pages)):
            address = self.vault.pages[number]
            if (page := self.parse(address, Counter())) is not None:
                yield address, page

    def parse(self, address: str, damage: Counts) -> HtmlPage | None:
        """A page, unless it is too large."""
        data = self.bytes_of(address, damage)
        return None if data is None else parse(data, self.config, damage)

    def page(self, address: str, damage: Counts) -> Iterator[Document]:
        """A page; one that says it really is another page of the folder is only a name for that."""
        page = self.parse(address, damage)
        if page is None:
            return
        resolve = partial(self.resolve, page=address, base=page.base)
        if page.canonical and (found := resolve(page.canonical))[0] in self.vault.known:
            yield Document(title=address, redirect=found[0])
            return
        parent = self.vault.above(address, self.config.contents)
        yield document(page, address, page.title or name_of(address), resolve, parent)

    def written_links(self, address: str) -> Iterator[WrittenLink]:
        """The links of a page with the lines that they stand in; none of one that is too large."""
        marks, damage = Marks(), Counts()
        text = decode(self.bytes_of(address, damage) or b"", damage)
        page = HtmlPage(marks.put(text, HTML), self.config, damage)
        yield from marks.links(page.read(marks.over(partial(self.resolve, page=address, base=page.base))))

    def resolve(self, href: str, page: str, base: str) -> LinkTarget:
        """What a link on a page leads to."""
        found = within(href, page, self.home, base)
        if isinstance(found, str):
            return found
        written, fragment = found
        path = written.partition("?")[0]
        for place in (unquote(written), written, unquote(path), path):
            if (address := self.vault.find(place)) is not None:
                return elsewhere(address, fragment, page)
        return kind_of(path) or elsewhere(unquote(path), fragment, page)

    def title_at(self, address: str) -> str:
        """The title of a page that is only named."""
        with self.vault.file(address).open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if len(head) == _HEAD_BYTES:
            head = head[: head.rfind(b"<")]  # not within a character: no encoding has this byte in one
        return parse(head, self.config, Counter()).title or name_of(address)


def _home(sample: dict[str, HtmlPage]) -> str:
    """The site's own address, as more than half of the canonical links have it: those that end in their page's path."""
    homes = Counts()
    stated = sum(bool(page.canonical) for page in sample.values())
    for address, page in sample.items():
        endings = (address, address.removesuffix(".html"), address.removesuffix("index.html"))
        ending = next((end for end in endings if page.canonical.endswith("/" + end)), None)
        if ending is not None and _HOME.match(home := page.canonical.removesuffix(ending)):
            homes[home] += 1
    return next((home for home, count in homes.items() if 2 * count > stated), NOWHERE)
