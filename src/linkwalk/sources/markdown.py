"""A folder of Markdown: a documentation site, a handbook, a vault of notes.

Pages are called by their path from the root. A page stands below its folder's own page, and a folder without one gets a
document of its own, a list of what lies in it.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from linkwalk.errors import InputError
from linkwalk.sources import packed
from linkwalk.sources.documents import MENDED_UTF8, Document, LinkSpan
from linkwalk.sources.front_matter import FrontMatter, split
from linkwalk.sources.markdown_text import TOO_DEEP, read_markdown
from linkwalk.sources.site import Site
from linkwalk.sources.source import ReadConfig, in_groups
from linkwalk.sources.titles import HEAD_CHARS, heading_in, name_of
from linkwalk.sources.vault import PAGES, Vault, is_page, listing, site_path, vault_at

#: Goes up with every change of what the documents are.
_VERSION = 1
_SYMLINK = "symbolic link (not followed)"
#: Folders that one worker lists at a time.
_FOLDERS = 100


class Markdown:
    """All pages below a folder."""

    def __init__(self, path: Path, config: ReadConfig = ReadConfig()) -> None:  # noqa: B008 (frozen)
        self.path, self.config = path, config
        if not path.is_dir():
            raise InputError(
                f"{path} is a file: name a folder of Markdown" if path.exists() else f"no such folder: {path}"
            )
        self.vault = Vault(path)
        if not self.vault.pages:
            raise InputError(f"{path} has no pages of Markdown ({', '.join(PAGES)})")
        self.site = config.stated(Site(name=path.resolve().name, literal=True))
        self.version = f"markdown {_VERSION}{config.told()}"

    @staticmethod
    def recognises(path: Path, head: bytes | None) -> bool:
        """Whether a folder holds pages of Markdown, and not mainly a site's pages of HTML."""
        if head is not None:
            return False
        ours = theirs = 0
        for _, folders, files in os.walk(path):
            folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
            ours += sum(is_page(name) for name in files)
            theirs += sum(name.lower().endswith((".html", ".htm")) for name in files)
        return ours > 0 and ours >= theirs

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "vault"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.vault = vault_at(self.path)  # a worker looks for itself, once: an index may be large

    @property
    def files(self) -> Sequence[Path]:
        """The pages."""
        return [self.path / page for page in self.vault.pages]

    def pieces(self) -> Iterator[tuple[list[str], int]]:
        """Folders without a page and symbolic links; then the pages. All are addresses."""
        vault = self.vault
        bare = [listing(folder) for folder in vault.folders if folder not in vault.folder_pages]
        others = [*(bare if self.config.contents else ()), *vault.aliens]
        for at in range(0, len(others), _FOLDERS):
            yield others[at : at + _FOLDERS], 0
        for group, size in in_groups(self.files):
            yield [file.relative_to(self.path).as_posix() for file in group], size

    def documents(self, piece: list[str], damage: Counter[str]) -> Iterator[Document]:
        """The pages of a piece, with other names for them; lists of folders."""
        for address in piece:
            if address.endswith("/"):
                yield self.contents(address)
            elif address in self.vault.known:
                yield from self.page(address, damage)
            else:
                yield from self.symlink(address, damage)

    def page(self, address: str, damage: Counter[str]) -> Iterator[Document]:
        """A page and its other names."""
        text = self.read(address, damage)
        if text is None:
            return
        front, text = split(text, damage)
        title = self.title(address, front, text)
        if front.redirect and not isinstance(found := self.vault.resolve(front.redirect, address), str):
            yield Document(title=title, address=address, redirect="#".join(filter(None, found)))
            return
        for alias in front.aliases:
            name = site_path(alias) if alias.startswith("/") else alias
            if name not in (title, address):
                yield Document(title=name, redirect=address)
        resolve, resolve_name = self.vault.resolve, self.vault.resolve_name
        scan, deep = read_markdown(
            text, partial(resolve, page=address), partial(resolve_name, page=address), self.config
        )
        if deep:
            damage[TOO_DEEP] += 1
        yield Document(
            title=title,
            text=scan.text,
            links=scan.links,
            headings=scan.headings,
            address=address,
            parent=self.vault.above(address, self.config.contents),
            counts=scan.counts,
        )

    def contents(self, address: str) -> Document:
        """The list of a folder's pages and folders."""
        vault, folder = self.vault, "" if address == "/" else address
        lines: dict[str, str] = {}
        for inside in vault.folders[folder]:
            page = vault.folder_pages.get(inside, inside) if inside.endswith("/") else inside
            lines[page] = name_of(page) if page.endswith("/") else self.title_at(page)
        links, at = [], 0
        for page, title in lines.items():
            links.append(LinkSpan(at, at + len(title), page))
            at += len(title) + 1
        return Document(
            title=name_of(folder) or self.site.name,
            text="\n".join(lines.values()),
            links=links,
            address=address,
            parent=vault.above(address, True) if folder else "",
            contents=True,
        )

    def symlink(self, address: str, damage: Counter[str]) -> Iterator[Document]:
        """A symbolic link is never followed; one to a page of the folder is another name for it."""
        path = self.path / address
        if not is_page(address) and not path.is_dir():
            return
        target, root = Path(os.path.realpath(path)), Path(os.path.realpath(self.path))
        page = target.relative_to(root).as_posix() if target.is_relative_to(root) else ""
        if page in self.vault.known:
            yield Document(title=address, redirect=page)
        else:
            damage[_SYMLINK] += 1

    def read(self, address: str, damage: Counter[str]) -> str | None:
        """A page's text, mended where it is not UTF-8; None for one that is too large."""
        path = self.path / address
        if path.stat().st_size > packed.MAX_PAGE_BYTES:
            damage[packed.TOO_LARGE] += 1
            return None
        data = path.read_bytes()
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            damage[MENDED_UTF8] += 1
            text = data.decode("utf-8-sig", "replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def title_at(self, address: str) -> str:
        """The title of a page that is only named."""
        with (self.path / address).open(encoding="utf-8-sig", errors="replace") as file:
            front, text = split(file.read(2 * HEAD_CHARS), Counter())
        return self.title(address, front, text)

    def title(self, address: str, front: FrontMatter, text: str) -> str:
        """What a page is called."""
        if title := front.title or heading_in(text):
            return title
        folder = address[: address.rfind("/") + 1]
        if self.vault.folder_pages.get(folder) == address:
            return name_of(folder) or self.site.name
        return name_of(address)
