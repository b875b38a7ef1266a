"""A ZIM file, as Kiwix reads them: its pages of HTML are called by their paths, its redirects are other names.

Needs ``libzim`` (an extra: its licence is the GPL), which is imported where a file is opened.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from linkwalk.errors import InputError
from linkwalk.parts import import_library
from linkwalk.sources import packed
from linkwalk.sources.documents import Counts, Document
from linkwalk.sources.folder import reopen
from linkwalk.sources.html.document import NOWHERE, check, document, language_of, parse, spread, within
from linkwalk.sources.html.text import HtmlPage
from linkwalk.sources.page_text import LinkTarget
from linkwalk.sources.site import Site
from linkwalk.sources.source import USUAL, ReadConfig
from linkwalk.sources.vault import elsewhere, kind_of

#: Goes up with every change of what the documents are.
_VERSION = 3
_MAGIC = b"ZIM\x04"
#: How much larger pages are than the file that they are packed in, about.
_PACKED = 4
_MIN_PIECE, _MAX_PIECE = 20, 5000
_HTML = ("text/html", "application/xhtml")
_UNREADABLE = "entry that cannot be read"
#: ZIM files have codes of three letters (ISO 639-3), pages and stemmers of two, where there are any.
_CODES = dict(
    pair.split(":")
    for pair in """ara:ar ben:bn bul:bg cat:ca ces:cs dan:da deu:de ell:el eng:en epo:eo est:et eus:eu fas:fa fin:fi
    fra:fr gle:ga glg:gl heb:he hin:hi hrv:hr hun:hu hye:hy ind:id isl:is ita:it jpn:ja kat:ka kor:ko lat:la lav:lv
    lit:lt mkd:mk mya:my nld:nl nno:nn nob:nb nor:no pol:pl por:pt ron:ro rus:ru slk:sk slv:sl spa:es sqi:sq srp:sr
    swa:sw swe:sv tam:ta tel:te tha:th tur:tr ukr:uk urd:ur vie:vi zho:zh""".split()
)


class Zim:
    """One ZIM file; a piece is a range of its entries."""

    def __init__(self, path: Path, config: ReadConfig = USUAL) -> None:
        check(config)
        self.path, self.files, self.config = path, [path], config
        if not self.recognises(next(packed.heads(path, packed.packing_of(path)), b"")):
            raise InputError(f"{path} is no ZIM file: it does not begin like one")
        libzim = import_library("libzim.reader", "libzim", "'linkwalk[zim]'")
        try:
            self.archive = libzim.Archive(path)
        except RuntimeError as error:
            raise InputError(f"{path} cannot be read as a ZIM file ({error}): download it again") from None
        self.entries = self.archive.entry_count
        language = config.language or language_of(self.sample(), self.metadata("Language"))
        name = self.metadata("Title") or path.stem
        self.site = Site(name=name, language=_CODES.get(language, language), literal=True)
        self.version = f"zim {_VERSION}{config.differences()}"

    def __reduce__(self) -> tuple[Any, ...]:
        return reopen, (type(self), self.path, self.config)

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Whether a file begins as ZIM files do."""
        return head.startswith(_MAGIC)

    def sample(self) -> Iterator[HtmlPage]:
        """Some pages from all over the file."""
        for number in spread(self.entries):
            for _, _, page in self.entry(number, Counter()):
                if page is not None:
                    yield page

    def metadata(self, name: str) -> str:
        """What the file says about itself, the first of several; empty where it does not."""
        if name not in self.archive.metadata_keys:
            return ""
        return str(self.archive.get_metadata(name).decode("utf-8", "replace")).partition(",")[0].strip()

    def pieces(self) -> Iterator[tuple[tuple[int, int], int]]:
        """Ranges of entries."""
        each = _PACKED * self.path.stat().st_size / max(1, self.entries)
        step = min(max(int(packed.CHUNK_BYTES / each), _MIN_PIECE), _MAX_PIECE)
        for first in range(0, self.entries, step):
            last = min(first + step, self.entries)
            yield (first, last), int((last - first) * each / _PACKED)

    def documents(self, piece: tuple[int, int], damage: Counts) -> Iterator[Document]:
        """The pages and redirects of a range of entries."""
        for number in range(*piece):
            for path, title, page in self.entry(number, damage):
                if page is None:
                    yield Document(title=path, redirect=title)
                else:
                    title = title if title != path else page.title or title
                    yield document(page, path, title, partial(self.resolve, path=path, base=page.base))

    def entry(self, number: int, damage: Counts) -> Iterator[tuple[str, str, HtmlPage | None]]:
        """An entry's path, title and page; of a redirect its path, the path it leads to, and no page."""
        try:
            entry = self.archive._get_entry_by_id(number)
            if entry.is_redirect:
                yield entry.path, entry.get_redirect_entry().path, None
                return
            item = entry.get_item()
            if not item.mimetype.startswith(_HTML):
                return
            if item.size > packed.MAX_PAGE_BYTES:
                damage[packed.TOO_LARGE] += 1
                return
            path, title, data = entry.path, entry.title, bytes(item.content)
        except (RuntimeError, KeyError, ValueError, UnicodeError):
            damage[_UNREADABLE] += 1
            return
        yield path, title, parse(data, self.config, damage, "utf-8")

    def resolve(self, href: str, path: str, base: str) -> LinkTarget:
        """What a link on the page at a path leads to: a path, less its query."""
        found = within(href, path, NOWHERE, base)
        if isinstance(found, str):
            return found
        target = unquote(found[0].partition("?")[0])
        kind = kind_of(target)
        return kind if kind and not self.has_page(target) else elsewhere(target, found[1], path)

    def has_page(self, path: str) -> bool:
        """Whether a page or a redirect is there, whatever its name ends in."""
        try:
            if not self.archive.has_entry_by_path(path):
                return False
            entry = self.archive.get_entry_by_path(path)
            return bool(entry.is_redirect or entry.get_item().mimetype.startswith(_HTML))
        except (RuntimeError, KeyError, ValueError, UnicodeError):
            return False
