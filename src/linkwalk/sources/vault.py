"""A folder of pages: which there are, and which of them a link means.

A path is read as GitHub and the static sites read it, only where such a page is there: as it stands, without its
ending or with another, a folder for its page; from the page's own place, or from the root where it begins with a slash.
A name in double brackets is read as Obsidian reads it: a path from the root or from here, else any page whose path ends
so, whatever the case, or that has such an alias. Of several, one in the same folder comes first, then the shortest
path, then the alphabet.
"""

import mimetypes
import os
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from linkwalk.graph.store import nfc
from linkwalk.sources.markdown.front_matter import MAX_CHARS, split
from linkwalk.sources.page_text import PICTURE, LinkTarget, slug

PAGES = (".md", ".markdown", ".mdx")
_INDEX = ("index", "_index", "readme")
_SITE_ENDINGS = (".html", ".htm")
#: Python's own table of endings: what the machine knows besides would change what is read.
_TYPES = mimetypes.MimeTypes()
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:|//|\\\\")
EXTERNAL, FILE, OUTSIDE, ITSELF = "external", "file", "outside the folder", "page itself"


class Vault:
    """The pages below a folder, by address: their path from the root, with slashes, in composed form (NFC)."""

    def __init__(self, root: Path, endings: tuple[str, ...] = PAGES) -> None:
        self.root, self.endings = root, endings
        self.aliens: list[str] = []
        """Symbolic links, which are not followed."""
        self._files = _composed(self._walk())
        self.aliens.sort()
        self.pages = sorted(self._files)
        self.known = frozenset(self.pages)

    def _walk(self) -> Iterator[str]:
        """The files of pages; symbolic links are put aside."""
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            with os.scandir(self.root / folder) as entries:
                for entry in entries:
                    address = folder + entry.name
                    if entry.name.startswith(".") or entry.name == "node_modules":
                        continue
                    if entry.is_symlink():
                        self.aliens.append(address)
                    elif entry.is_dir():
                        waiting.append(address + "/")
                    elif entry.is_file() and entry.name.lower().endswith(self.endings):
                        yield address

    def file(self, page: str) -> Path:
        """A page's file, by the name that it really has."""
        return self.root / self._files[page]

    @cached_property
    def symlinks(self) -> dict[str, str]:
        """Symbolic links that lead to pages of the folder -> these."""
        root = os.path.realpath(self.root)
        pages = {os.path.join(root, file): page for page, file in self._files.items()}
        named = [link for link in self.aliens if link.lower().endswith(self.endings)]
        ends = ((nfc(link), pages.get(os.path.realpath(self.root / link))) for link in named)
        return {link: page for link, page in ends if page}

    @cached_property
    def obsidian(self) -> bool:
        """Whether Obsidian keeps this folder: then paths are read as names are, as it does."""
        return (self.root / ".obsidian").is_dir()

    @cached_property
    def folders(self) -> dict[str, list[str]]:
        """Every folder with pages below it, "" for the root, else with a slash behind: its pages and folders."""
        folders: dict[str, set[str]] = defaultdict(set, {"": set()})
        for inner in self.pages:
            while inner:
                outer = _folder_of(inner.rstrip("/"))
                folders[outer].add(inner)
                inner = outer
        return {folder: sorted(inside) for folder, inside in sorted(folders.items())}

    @cached_property
    def folder_pages(self) -> dict[str, str]:
        """Folder -> the page that stands for it, where it has one."""
        found = {}
        for folder, inside in self.folders.items():
            name = posixpath.basename(folder.rstrip("/")).casefold()
            stems = {_stem(page).casefold(): page for page in reversed(inside) if not page.endswith("/")}
            named = [stems[_] for _ in (*_INDEX, name) if _ in stems]
            beside = [folder.rstrip("/") + ending for ending in self.endings] if folder else []
            if own := named or [page for page in beside if page in self.known]:
                found[folder] = own[0]
        return found

    @cached_property
    def folders_of_pages(self) -> dict[str, str]:
        """A page that stands for a folder -> the folder."""
        return {page: folder for folder, page in self.folder_pages.items()}

    @cached_property
    def _by_case(self) -> dict[str, str]:
        """Paths in small letters -> pages, of several the first; those of symbolic links come last."""
        linked = {fold(link): page for link, page in self.symlinks.items()}
        return linked | {fold(page): page for page in reversed(self.pages)}

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """Names in small letters, without their ending -> pages and symbolic links to pages."""
        names: dict[str, list[str]] = defaultdict(list)
        for page in (*self.pages, *self.symlinks):
            names[fold(_stem(page))].append(page)
        return dict(names)

    @cached_property
    def _by_alias(self) -> dict[str, list[str]]:
        """Further names in small letters, as front matter has them -> pages; looked for when a name is no page's."""
        names: dict[str, list[str]] = defaultdict(list)
        for page in self.pages:
            with self.file(page).open(encoding="utf-8-sig", errors="replace") as file:
                head = file.read(MAX_CHARS)
            if "alias" in head:
                for alias in split(head, Counter())[0].aliases:
                    names[fold(alias)].append(page)
        return dict(names)

    def above(self, address: str, contents: bool) -> str:
        """The page (or, with ``contents``, the folder's own list) that a page or folder stands below; "" for none."""
        folder = _folder_of(address.rstrip("/"))
        while True:
            own = self.folder_pages.get(folder)
            if own is None and contents:
                own = listing(folder)
            if own and own != address:
                return own
            if not folder:
                return ""
            folder = _folder_of(folder.rstrip("/"))

    def resolve(self, href: str, page: str) -> LinkTarget:
        """What a link of Markdown or HTML leads to."""
        path, _, fragment = href.strip().partition("#")
        path = unquote(path.partition("?")[0])
        fragment = slug(unquote(fragment))
        if not path:
            return elsewhere(page, fragment, page)
        if path.startswith("//") or "://" in path:
            return EXTERNAL
        rooted = path.startswith("/")
        places = [_join("" if rooted else _folder_of(page), path)]
        if not rooted and not is_page(path) and _stem(page).casefold() not in _INDEX:
            # A site shows ``guide/intro.md`` at ``guide/intro/``, and its author's links may be written from there.
            places.append(_join(os.path.splitext(page)[0] + "/", path))
        for place in places:
            if place is not None and (found := self.find(place)):
                return found, fragment
        if _SCHEME.match(path):
            return EXTERNAL
        if self.obsidian and (found := self.find_name(path, page)):
            return found, fragment
        if places[0] is None:
            return OUTSIDE
        if not is_page(path) and (kind := kind_of(path)):
            return kind
        return site_path(places[0]), fragment

    def find(self, place: str) -> str | None:
        """The page at a path from the root, as sites write paths."""
        place = nfc(place.rstrip("/"))
        if place in self.known:
            return place
        stem = next(
            (place.removesuffix(e) for e in (*_SITE_ENDINGS, *self.endings) if place.endswith(e)), place
        )
        if found := self._by_case.get(fold(place)) or self._with_ending(stem):
            return found
        folder = posixpath.dirname(stem) if _basename(stem) in _INDEX else stem
        folder = folder + "/" if folder else ""
        if folder in self.folders:
            return self.folder_pages.get(folder) or listing(folder)
        return None

    def resolve_name(self, written: str, page: str) -> LinkTarget:
        """What a link in double brackets leads to."""
        name, _, fragment = written.partition("#")
        name, fragment = name.strip(), slug(fragment.rpartition("#")[2])
        if not name:
            return elsewhere(page, fragment, page)
        if found := self.find_name(name, page):
            return found, fragment
        if "://" in name:
            return EXTERNAL
        return kind_of(name) or (name, fragment)

    def find_name(self, name: str, page: str) -> str | None:
        """The page that a name, or the end of a path, means on a page."""
        here = _folder_of(page)
        name = nfc(name.replace("\\", "/"))
        if name.startswith(("./", "../")):
            place = _join(here, name)
            return None if place is None else self._by_case.get(fold(place)) or self._with_ending(place)
        rooted, name = name.startswith("/"), name.strip("/")
        found = self._by_case.get(fold(name)) or self._with_ending(name) if rooted or "/" in name else None
        if found or rooted:
            return found
        stem = fold(os.path.splitext(name)[0] if is_page(name) else name)
        named = self._by_name.get(posixpath.basename(stem), ())
        pages = [one for one in named if f"/{fold(os.path.splitext(one)[0])}".endswith(f"/{stem}")]
        pages = pages or self._by_alias.get(fold(name), [])
        first = min(pages, key=lambda one: (_folder_of(one) != here, len(one), one), default=None)
        return self.symlinks.get(first, first) if first else None

    def _with_ending(self, path: str) -> str | None:
        found = (self._by_case.get(fold(path) + ending) for ending in self.endings)
        return next(filter(None, found), None)


def fold(name: str) -> str:
    """A name as it is compared: in small letters, and composed, however it was typed."""
    return nfc(name.casefold())


def _composed(files: Iterable[str]) -> dict[str, str]:
    """Files by their names in composed form; of several that differ in nothing else, the others keep their own."""
    found: dict[str, str] = {}
    for file in sorted(files, key=lambda file: (nfc(file) != file, file)):
        found[file if nfc(file) in found else nfc(file)] = file
    return found


def is_page(name: str) -> bool:
    """Whether a file is a page, going by its name."""
    return name.lower().endswith(PAGES)


def kind_of(path: str) -> str:
    """What a path leads to that is no page: a picture, another file; empty where it may be a page."""
    kind = _TYPES.guess_type(path)[0] or ""
    if kind.startswith("image/"):
        return PICTURE
    return "" if kind in ("", "text/html", "text/markdown") else FILE


def elsewhere(address: str, fragment: str, page: str) -> LinkTarget:
    """A place in another page, or in the page itself."""
    if address != page:
        return address, fragment
    return ("", fragment) if fragment else ITSELF


def name_of(address: str) -> str:
    """The name of a page or a folder, less its ending."""
    name = " ".join(posixpath.basename(address.rstrip("/")).split())
    return name if address.endswith("/") else posixpath.splitext(name)[0]


def listing(folder: str) -> str:
    """The address of a folder's own list of pages."""
    return folder or "/"


def site_path(path: str) -> str:
    """A page's place as a site has it, begun with a slash, for pages that are not here or not here any more."""
    path = "/" + path.strip("/")
    for ending in (*PAGES, *_SITE_ENDINGS):
        path = path.removesuffix(ending)
    return posixpath.dirname(path) if _basename(path) in _INDEX else path


def _join(folder: str, path: str) -> str | None:
    """A path from the root; None where it leads out of it."""
    joined = posixpath.normpath(folder + path.lstrip("/")) if path else folder
    if joined == ".." or joined.startswith("../"):
        return None
    return "" if joined == "." else joined


def _folder_of(address: str) -> str:
    """The folder that a page or folder lies in: "" for the root, else with a slash behind."""
    return address[: address.rfind("/") + 1]


def _basename(path: str) -> str:
    return posixpath.basename(path).casefold()


def _stem(page: str) -> str:
    return os.path.splitext(posixpath.basename(page))[0]
