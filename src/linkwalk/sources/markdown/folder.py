"""A folder of Markdown: a documentation site, a handbook, a vault of notes.

A page is called what its front matter says, else its first main heading, else its file's name.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from linkwalk.sources.documents import MENDED_UTF8, Counts, Document
from linkwalk.sources.folder import Folder
from linkwalk.sources.labels import inline_tags
from linkwalk.sources.markdown.front_matter import IN_FRONT_MATTER, FrontMatter, split
from linkwalk.sources.markdown.text import plain, read_markdown
from linkwalk.sources.marks import MARKDOWN, Marks, WrittenLink
from linkwalk.sources.site import Site
from linkwalk.sources.source import USUAL, ReadConfig
from linkwalk.sources.vault import PAGES, is_page, name_of, site_path

#: Goes up with every change of what the documents are.
_VERSION = 3
#: How far into a page its title is looked for, in characters.
_HEAD_CHARS = 1 << 16
_FENCE_OR_HEADING = re.compile(
    r"^ {0,3}(?:(`{3,}|~{3,})|\#[ \t]+(\S.*)$|([^\s#>-].*)\n {0,3}=+[ \t]*$"
    r"|<h1\b[^<>]*>((?s:.){0,500}?)</h1>)",
    re.MULTILINE | re.IGNORECASE,
)
_CLOSING = re.compile(r"(?<=\s)#++$")


class Markdown(Folder):
    """All pages of Markdown below a folder."""

    kind, endings = "Markdown", PAGES

    def __init__(self, path: Path, config: ReadConfig = USUAL) -> None:
        super().__init__(path, config)
        self.site = config.in_language(Site(name=self.name, literal=True))
        self.version = f"markdown {_VERSION}{config.differences()}"

    @staticmethod
    def recognises(path: Path) -> bool:
        """Whether a folder holds pages of Markdown, and not mainly a site's pages of HTML."""
        ours = theirs = 0
        for _, folders, files in os.walk(path):
            folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
            ours += sum(is_page(name) for name in files)
            theirs += sum(name.lower().endswith((".html", ".htm")) for name in files)
        return ours > 0 and ours >= theirs

    def page(self, address: str, damage: Counts) -> Iterator[Document]:
        """A page and its other names."""
        text = self.read(address, damage)
        if text is None:
            return
        front, text = split(text, damage)
        title = self.title(address, front, text)
        resolve = partial(self.vault.resolve, page=address)
        found = resolve(front.redirect) if front.redirect else ""
        if not isinstance(found, str) and found[0]:
            yield Document(title=title, address=address, redirect=found[0], redirect_fragment=found[1])
            return
        for alias in front.aliases:
            name = site_path(alias) if alias.startswith("/") else alias
            if name not in (title, address):
                yield Document(title=name, redirect=address)
        scan = read_markdown(
            text, resolve, partial(self.vault.resolve_name, page=address), self.config, damage
        )
        if front.links:
            scan.counts[IN_FRONT_MATTER] = front.links
        parent = self.vault.above(address, self.config.contents)
        scan.tags = inline_tags(scan.text) if self.vault.obsidian else []
        yield Document.of(scan, title=title, address=address, parent=parent, tags=front.tags, date=front.date)

    def written_links(self, address: str) -> Iterator[WrittenLink]:
        """The links of a page with the lines that they stand in; none of one that is too large."""
        whole = self.read(address, Counts()) or ""
        text = split(whole, Counts())[1]
        marks = Marks(1 + whole.count("\n", 0, len(whole) - len(text)))
        vault = self.vault
        ask, ask_name = (
            marks.over(partial(one, page=address)) for one in (vault.resolve, vault.resolve_name)
        )
        yield from marks.links(read_markdown(marks.put(text, MARKDOWN), ask, ask_name, self.config, Counts()))

    def read(self, address: str, damage: Counts) -> str | None:
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
            front, text = split(file.read(2 * _HEAD_CHARS), Counter())
        return self.title(address, front, text)

    def title(self, address: str, front: FrontMatter, text: str) -> str:
        """What a page is called."""
        if title := front.title or _heading_in(text):
            return title
        folder = address[: address.rfind("/") + 1]
        if self.vault.folder_pages.get(folder) == address:
            return name_of(folder) or self.site.name
        return name_of(address)


def _heading_in(text: str) -> str:
    """The first main heading of a page, without its markup; empty where there is none."""
    at, text = 0, text[:_HEAD_CHARS]
    while found := _FENCE_OR_HEADING.search(text, at):
        fence, *titles = found.groups()
        if fence is None:
            return plain(_CLOSING.sub("", next(filter(None, titles), "").strip()))
        end = re.compile(rf"^ {{0,3}}{fence}[`~]*[ \t]*$", re.MULTILINE).search(text, found.end())
        if end is None:
            break
        at = end.end()
    return ""
