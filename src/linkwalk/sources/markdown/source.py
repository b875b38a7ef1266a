"""A folder of Markdown: a documentation site, a handbook, a vault of notes."""

import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from linkwalk.sources.documents import MENDED_UTF8, Document
from linkwalk.sources.folder import Folder
from linkwalk.sources.markdown.front_matter import IN_FRONT_MATTER, FrontMatter, split
from linkwalk.sources.markdown.text import TOO_DEEP, read_markdown
from linkwalk.sources.markdown.titles import HEAD_CHARS, heading_in, name_of
from linkwalk.sources.source import ReadConfig
from linkwalk.sources.vault import Vault, is_page, site_path
from linkwalk.sources.wikitext.site import Site

#: Goes up with every change of what the documents are.
_VERSION = 2


class Markdown(Folder[Vault]):
    """All pages of Markdown below a folder."""

    kind, vaults = "Markdown", Vault

    def __init__(self, path: Path, config: ReadConfig = ReadConfig()) -> None:  # noqa: B008 (frozen)
        super().__init__(path, config)
        self.site = config.stated(Site(name=self.name, literal=True))
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

    def page(self, address: str, damage: Counter[str]) -> Iterator[Document]:
        """A page and its other names."""
        text = self.read(address, damage)
        if text is None:
            return
        front, text = split(text, damage)
        title = self.title(address, front, text)
        found = self.vault.resolve(front.redirect, address) if front.redirect else ""
        if not isinstance(found, str) and found[0]:
            yield Document(title=title, address=address, redirect=found[0], redirect_fragment=found[1])
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
            counts=dict(Counter(scan.counts) + Counter({IN_FRONT_MATTER: front.links})),
        )

    def read(self, address: str, damage: Counter[str]) -> str | None:
        """A page's text, mended where it is not UTF-8; None for one that is too large."""
        data = self.bytes_of(address, damage)
        if data is None:
            return None
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            damage[MENDED_UTF8] += 1
            text = data.decode("utf-8-sig", "replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def title_at(self, address: str) -> str:
        """The title of a page that is only named."""
        with self.vault.file(address).open(encoding="utf-8-sig", errors="replace") as file:
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
