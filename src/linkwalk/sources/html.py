"""A folder of HTML: a site as its host serves it, or as it was saved.

Pages are called by their path from the root. A link is read as static hosts read it: relative to the page or its
``<base>``, a folder for its index page, with or without an ending. Where the pages say what address the site has (most
canonical links end in their page's own path), whole addresses of that site lead into the folder, too.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from linkwalk.errors import InputError
from linkwalk.sources import packed
from linkwalk.sources.documents import Document
from linkwalk.sources.html_document import ASKED, check, document, language_of, parse, spread
from linkwalk.sources.html_links import NOWHERE, within
from linkwalk.sources.html_text import HtmlPage
from linkwalk.sources.site import Site
from linkwalk.sources.source import ReadConfig, in_groups
from linkwalk.sources.titles import name_of
from linkwalk.sources.vault import Found, Vault, elsewhere, kind_of

#: Goes up with every change of what the documents are.
_VERSION = 1
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
                return elsewhere(address, fragment, page)
        return kind_of(path) or elsewhere(unquote(path), fragment, page)


@lru_cache(maxsize=4)
def html_at(root: Path) -> HtmlVault:
    """The folder's index, made once for every process."""
    return HtmlVault(root)


def _home(sample: list[tuple[str, HtmlPage]]) -> str:
    """The site's own address, as most pages have it whose canonical address ends in their path."""
    homes: Counter[str] = Counter()
    for address, page in sample:
        endings = (address, address.removesuffix(".html"), address.removesuffix("index.html"))
        ending = next((end for end in endings if page.canonical.endswith("/" + end)), None)
        if ending is not None and page.canonical.startswith("http"):
            homes[page.canonical.removesuffix(ending)] += 1
    return min(homes, key=lambda home: (-homes[home], home), default=NOWHERE)


class Html:
    """All pages below a folder."""

    def __init__(self, path: Path, config: ReadConfig = ReadConfig()) -> None:  # noqa: B008 (frozen)
        check(config)
        self.path, self.config = path, config
        if not path.is_dir():
            raise InputError(
                f"{path} is a file: name a folder of HTML" if path.exists() else f"no such folder: {path}"
            )
        self.vault = HtmlVault(path)
        if not self.vault.pages:
            raise InputError(f"{path} has no pages of HTML ({', '.join(HtmlVault.endings)})")
        sample = list(islice(self.sample(), ASKED))
        self.home = _home(sample)
        language = config.language or language_of(page for _, page in sample)
        self.site = Site(name=path.resolve().name, language=language, literal=True)
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

    def sample(self) -> Iterator[tuple[str, HtmlPage]]:
        """Some pages from all over the folder, with their addresses."""
        for number in spread(len(self.vault.pages)):
            address = self.vault.pages[number]
            if (page := self.parse(address, Counter())) is not None:
                yield address, page

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
        return parse(path.read_bytes(), self.config, damage)

    def document(self, address: str, page: HtmlPage) -> Document:
        """A page as a document; one that says it really is another page of the folder is only a name for that."""
        resolve = partial(self.vault.resolve_link, page=address, base=page.base, home=self.home)
        if page.canonical and (found := resolve(page.canonical))[0] in self.vault.known:
            return Document(title=address, redirect=found[0])
        parent = self.vault.above(address, False)
        return document(page, address, page.title or name_of(address), resolve, parent)

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
