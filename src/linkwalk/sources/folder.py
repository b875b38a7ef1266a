"""What sources share that are folders of pages, whatever the pages are written in.

Pages are called by their path from the root. A page stands below its folder's own page, and a folder without one gets a
document of its own, a list of what lies in it. Symbolic links are never followed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from linkwalk.errors import InputError
from linkwalk.graph.store import nfc
from linkwalk.sources import packed
from linkwalk.sources.documents import Counts, Document, LinkSpan
from linkwalk.sources.marks import WrittenLink
from linkwalk.sources.site import Site
from linkwalk.sources.source import ReadConfig, grouped
from linkwalk.sources.vault import Vault, listing, name_of

#: Folders that one worker lists at a time.
_FOLDERS = 100


@lru_cache(maxsize=4)
def reopen(source: type[Any], path: Path, config: ReadConfig) -> Any:
    """A source as a worker has it, which looks for itself, once: an index may be large."""
    return source(path, config)


class Folder:
    """All pages below a folder."""

    kind: ClassVar[str]
    """What the pages are written in."""
    endings: ClassVar[tuple[str, ...]]
    site: Site

    def __init__(self, path: Path, config: ReadConfig) -> None:
        self.path, self.config, self.name = path, config, path.resolve().name
        if not path.exists():
            raise InputError(f"no such folder: {path}")
        if not path.is_dir():
            raise InputError(f"{path} is a file: name a folder of {self.kind}")
        self.vault = Vault(path, self.endings)
        if not self.vault.pages:
            raise InputError(f"{path} has no pages of {self.kind} ({', '.join(self.endings)})")

    def __reduce__(self) -> tuple[Any, ...]:
        return reopen, (type(self), self.path, self.config)

    def page(self, address: str, damage: Counts) -> Iterator[Document]:
        """A page and its other names."""
        raise NotImplementedError

    def title_at(self, address: str) -> str:
        """The title of a page that is only named."""
        raise NotImplementedError

    def written_links(self, address: str) -> Iterator[WrittenLink]:
        """The links of a page with the lines that they stand in."""
        raise NotImplementedError

    @property
    def files(self) -> Sequence[Path]:
        """The pages."""
        return [self.vault.file(page) for page in self.vault.pages]

    def pieces(self) -> Iterator[tuple[list[str], int]]:
        """Folders without a page and symbolic links; then the pages. All are addresses."""
        vault = self.vault
        bare = [listing(folder) for folder in vault.folders if folder not in vault.folder_pages]
        others = [*(bare if self.config.contents else ()), *vault.aliens]
        for at in range(0, len(others), _FOLDERS):
            yield others[at : at + _FOLDERS], 0
        yield from grouped((page, vault.file(page).stat().st_size) for page in vault.pages)

    def documents(self, piece: list[str], damage: Counts) -> Iterator[Document]:
        """The pages of a piece, with other names for them; lists of folders."""
        for address in piece:
            if address.endswith("/"):
                folder = "" if address == "/" else address
                yield self.contents(folder, address, name_of(folder) or self.name)
            elif address in self.vault.known:
                yield from map(self.or_contents, self.page(address, damage))
            # A symbolic link is never followed; to a page of the folder it is another name, else a name for no page.
            elif address.lower().endswith(self.endings) or (self.path / address).is_dir():
                yield Document(title=address, redirect=self.vault.symlinks.get(nfc(address), ""))

    def or_contents(self, page: Document) -> Document:
        """A page as it is, or, where a folder's own page has not a word, the list that sites show in its place."""
        folder = self.vault.folders_of_pages.get(page.address)
        if folder is None or page.redirect is not None or page.text.strip() or not self.config.contents:
            return page
        return replace(self.contents(folder, page.address, page.title), counts=page.counts)

    def contents(self, folder: str, address: str, title: str) -> Document:
        """The list of what lies in a folder, as a page with an address and a title."""
        vault, lines = self.vault, dict[str, str]()
        for inside in vault.folders[folder]:
            page = vault.folder_pages.get(inside, inside) if inside.endswith("/") else inside
            if page != address:
                lines[page] = name_of(page) if page.endswith("/") else self.title_at(page)
        links, at = [], 0
        for page, line in lines.items():
            links.append(LinkSpan(at, at + len(line), page))
            at += len(line) + 1
        above = vault.above(address, True) if folder else ""
        text = "\n".join(lines.values())
        return Document(title=title, text=text, links=links, address=address, parent=above, contents=True)

    def bytes_of(self, address: str, damage: Counts) -> bytes | None:
        """What stands in a page's file; None for one that is too large."""
        path = self.vault.file(address)
        if path.stat().st_size > packed.MAX_PAGE_BYTES:
            damage[packed.TOO_LARGE] += 1
            return None
        return path.read_bytes()
