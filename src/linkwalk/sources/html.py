"""A folder of HTML: a site as its host serves it, or as it was saved.

Pages are called by their path from the root. A link is read as static hosts read it: relative to the page or its
``<base>``, a folder for its index page, with or without an ending. Where the pages say what address the site has (most
canonical links end in their page's own path), whole addresses of that site lead into the folder, too.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from urllib.parse import unquote

from linkwalk.errors import InputError
from linkwalk.sources import packed
from linkwalk.sources.documents import Document
from linkwalk.sources.html_links import NOWHERE, within
from linkwalk.sources.html_text import HtmlPage, decode
from linkwalk.sources.site import Site
from linkwalk.sources.source import ReadConfig, in_groups
from linkwalk.sources.titles import name_of
from linkwalk.sources.vault import ITSELF, Found, Vault, kind_of

#: Goes up with every change of what the documents are.
_VERSION = 1
#: How many pages are asked for the site's language and address.
_ASKED = 50
_SYMLINK = "symbolic link (not followed)"


class HtmlVault(Vault):
    """The pages of HTML below a folder."""

    endings = (".html", ".htm", ".xhtml")

    def resolve_link(self, href: str, page: str, base: str, home: str) -> Found:
        """What a link on a page leads to."""
        found = within(href, page, home, base)
        if isinstance(found, str):
            return found
        written, fragment = found
        path = written.partition("?")[0]
        for place in (unquote(written), written, unquote(path), path):
            if (address := self.find(place)) is not None:
                return _elsewhere(address, fragment, page)
        return kind_of(path) or _elsewhere(unquote(path), fragment, page)


def _elsewhere(address: str, fragment: str, page: str) -> Found:
    """A place in another page, or in this one."""
    if address != page:
        return address, fragment
    return ("", fragment) if fragment else ITSELF


@lru_cache(maxsize=4)
def html_at(root: Path) -> HtmlVault:
    """The folder's index, made once for every process."""
    return HtmlVault(root)


class Html:
    """All pages below a folder."""

    def __init__(self, path: Path, config: ReadConfig = ReadConfig()) -> None:  # noqa: B008 (frozen)
        self.path, self.config = path, config
        if not path.is_dir():
            raise InputError(
                f"{path} is a file: name a folder of HTML" if path.exists() else f"no such folder: {path}"
            )
        self.vault = HtmlVault(path)
        if not self.vault.pages:
            raise InputError(f"{path} has no pages of HTML ({', '.join(HtmlVault.endings)})")
        language, self.home = self.ask()
        self.site = config.stated(Site(name=path.resolve().name, language=language, literal=True))
        self.version = f"html {_VERSION}{config.told()}"

    @staticmethod
    def recognises(path: Path, head: bytes | None) -> bool:
        """Whether a folder holds pages of HTML."""
        if head is not None:
            return False
        return any(
            name.lower().endswith(HtmlVault.endings) for _, _, files in os.walk(path) for name in files
        )

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "vault"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.vault = html_at(self.path)  # a worker looks for itself, once: an index may be large

    @property
    def files(self) -> Sequence[Path]:
        """The pages."""
        return [self.path / page for page in self.vault.pages]

    def ask(self) -> tuple[str, str]:
        """The language that most pages say they are in, and the address that most say the site has."""
        pages = self.vault.pages
        languages, homes = Counter[str](), Counter[str]()
        for address in pages[:: max(1, len(pages) // _ASKED)][:_ASKED]:
            page = self.parse(address, Counter())
            if page is None:
                continue
            languages[page.language] += 1
            for ending in (address, address.removesuffix(".html"), address.removesuffix("index.html")):
                if page.canonical.startswith("http") and page.canonical.endswith("/" + ending):
                    homes[page.canonical.removesuffix(ending)] += 1
                    break
        del languages[""]
        language = min(languages, key=lambda code: (-languages[code], code), default="en")
        home = min(homes, key=lambda home: (-homes[home], home), default=NOWHERE)
        return language, home

    def pieces(self) -> Iterator[tuple[list[str], int]]:
        """Symbolic links; then the pages. All are addresses."""
        if self.vault.aliens:
            yield self.vault.aliens, 0
        for group, size in in_groups(self.files):
            yield [file.relative_to(self.path).as_posix() for file in group], size

    def documents(self, piece: list[str], damage: Counter[str]) -> Iterator[Document]:
        """The pages of a piece."""
        for address in piece:
            if address in self.vault.known:
                if (page := self.parse(address, damage)) is not None:
                    yield self.document(address, page)
            else:
                yield from self.symlink(address, damage)

    def parse(self, address: str, damage: Counter[str]) -> HtmlPage | None:
        """A page, unless it is too large."""
        path = self.path / address
        if path.stat().st_size > packed.MAX_PAGE_BYTES:
            damage[packed.TOO_LARGE] += 1
            return None
        return HtmlPage(decode(path.read_bytes(), damage), self.config, damage)

    def document(self, address: str, page: HtmlPage) -> Document:
        """A page as a document; one that sends its readers on, or says it really is elsewhere, is a name for that."""
        resolve = partial(self.vault.resolve_link, page=address, base=page.base, home=self.home)
        for elsewhere in filter(None, (page.refresh, page.canonical)):
            found = resolve(elsewhere)
            if not isinstance(found, str) and found[0] in self.vault.known:
                return Document(title=address, redirect="#".join(filter(None, found)))
        scan = page.read(resolve)
        return Document(
            title=page.title or name_of(address),
            text=scan.text,
            links=scan.links,
            headings=scan.headings,
            address=address,
            parent=self.vault.above(address, False),
            counts=scan.counts,
        )

    def symlink(self, address: str, damage: Counter[str]) -> Iterator[Document]:
        """A symbolic link is never followed; one to a page of the folder is another name for it."""
        path = self.path / address
        if not path.is_dir() and not address.lower().endswith(HtmlVault.endings):
            return
        target, root = Path(os.path.realpath(path)), Path(os.path.realpath(self.path))
        page = target.relative_to(root).as_posix() if target.is_relative_to(root) else ""
        if page in self.vault.known:
            yield Document(title=address, redirect=page)
        else:
            damage[_SYMLINK] += 1
