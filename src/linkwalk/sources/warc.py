"""A web archive (WARC): responses of HTML are called by their address, answers that lead elsewhere are other names.

An address is host, path and query, whatever the scheme. Of several captures of an address the newest counts. Needs
``fastwarc`` (an extra), which is imported where a file is opened.
"""

import gzip
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote, urlsplit

import numpy as np

from linkwalk.errors import InputError
from linkwalk.graph.store import name_key
from linkwalk.parts import import_library
from linkwalk.sources import packed
from linkwalk.sources.documents import Counts, Document, date_in
from linkwalk.sources.html.document import BROKEN, absolute, check, document, language_of, parse
from linkwalk.sources.html.text import HtmlPage
from linkwalk.sources.page_text import PICTURE, LinkTarget
from linkwalk.sources.site import Site
from linkwalk.sources.source import USUAL, ReadConfig, grouped
from linkwalk.sources.vault import elsewhere, kind_of

#: Goes up with every change of what the documents are.
_VERSION = 3
_BEGINNING = re.compile(rb"WARC/[01]\.\d")
_NEXT = {"gzip": re.compile(rb"\x1f\x8b\x08"), "plain": re.compile(rb"(?<=\n)WARC/[01]\.\d\r?\n")}
_OLDER, _CUT = "older capture of a page (left out)", "file cut short"
_LENGTH = re.compile(rb"^content-length:\s*(\d{1,18})\s*$", re.IGNORECASE | re.MULTILINE)
_MAX_HEADER = 1 << 16
_REDIRECTS = frozenset((301, 302, 303, 307, 308))


class _Capture(NamedTuple):
    """An answer that is a page, or leads to one."""

    address: str
    url: str
    date: str
    record: Any


class Warc:
    """One file, packed record by record with gzip or not packed; a piece is a list of records by their offsets."""

    def __init__(self, path: Path, config: ReadConfig = USUAL) -> None:
        check(config)
        self.path, self.files, self.config = path, [path], config
        self.packing = packed.packing_of(path)
        if not self.recognises(next(packed.heads(path, self.packing), b"")):
            raise InputError(f"{path} is no web archive: it does not begin with a record of WARC")
        if self.packing not in _NEXT:
            raise InputError(
                f"{path} is packed with {self.packing}: unpack it, or pack its records with gzip"
            )
        language = config.language or language_of(self.sample())
        self.site = Site(name=path.name.partition(".")[0], language=language, literal=True)
        self.version = f"warc {_VERSION}{config.differences()}"

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Whether a file begins with a record."""
        return _BEGINNING.match(head) is not None

    def sample(self) -> Iterator[HtmlPage]:
        """The first pages."""
        for capture in self.captures(0, Counter()):
            if (page := self.page(capture, Counter())) is not None:
                yield page

    def captures(self, offset: int, damage: Counts) -> Generator[_Capture, None, None]:
        """Answers from an offset on; what cannot be read is counted, and passed by up to the next record.

        A capture can be read as long as this goes on: where it ends, the file is closed.
        """
        fastwarc = import_library("fastwarc.warc", "fastwarc", "'linkwalk[warc]'")
        wanted = fastwarc.WarcRecordType.response
        before = -1
        with self.path.open("rb") as file:
            while True:
                last = offset
                file.seek(offset)
                try:
                    for record in fastwarc.ArchiveIterator(
                        file, record_types=wanted, parse_http=True, auto_decode="all"
                    ):
                        last = record.stream_pos
                        if (capture := _capture(record)) is None:
                            continue
                        if last == before:
                            raise InputError(
                                f"{self.path} is one stream of gzip, not one for every record: "
                                "unpack it (gunzip) first"
                            )
                        before = last
                        yield capture
                    break
                except (OSError, ValueError, RuntimeError):
                    damage[packed.UNREADABLE] += 1
                with mmap(file.fileno(), 0, access=ACCESS_READ) as view:
                    found = _NEXT[self.packing].search(view, last + 1)
                if found is None:
                    return
                offset = found.start()
            if not _ends_whole(file, last, self.packing):
                damage[_CUT] += 1

    def pieces(self) -> Iterator[tuple[tuple[list[int], dict[str, int]], int]]:
        """The newest capture of every address, in the file's order; damage goes with the first piece."""
        damage = Counts()
        keys, dates, offsets, sizes = array("Q"), array("q"), array("q"), array("q")
        for capture in self.captures(0, damage):
            keys.append(name_key(capture.address))
            dates.append(int(re.sub(r"\D", "", capture.date)[:14] or 0))
            offsets.append(capture.record.stream_pos)
            sizes.append(capture.record.content_length)
        order = np.lexsort((np.array(offsets), np.array(dates), np.array(keys)))
        # Of each address the last in order, which is the newest.
        newest = np.sort(order[np.append(np.diff(np.array(keys)[order]) != 0, True)[: len(order)]]).tolist()
        damage[_OLDER] += len(order) - len(newest)
        for group, size in grouped((offsets[at], sizes[at]) for at in newest):
            yield (group, dict(+damage)), size
            damage.clear()
        if +damage:
            yield ([], dict(+damage)), 0

    def documents(self, piece: tuple[list[int], dict[str, int]], damage: Counts) -> Iterator[Document]:
        """The pages at the offsets of a piece."""
        offsets, found = piece
        damage.update(found)
        for offset in offsets:
            with closing(self.captures(offset, Counter())) as answers:
                if (capture := next(answers, None)) is not None:
                    yield from self.document(capture, damage)

    def document(self, capture: _Capture, damage: Counts) -> Iterator[Document]:
        """What a capture is, if anything can be made of it."""
        resolve = partial(_resolve, url=capture.url, address=capture.address)
        if capture.record.http_headers.status_code in _REDIRECTS:
            target = resolve(capture.record.http_headers.get("Location") or "")
            if not isinstance(target, str) and target[0]:
                yield Document(title=capture.address, redirect=target[0], redirect_fragment=target[1])
        elif (page := self.page(capture, damage)) is not None:
            resolve = partial(resolve, base=page.base)
            written = document(page, capture.address, page.title or capture.address, resolve)
            written.timestamp = date_in(capture.date)
            yield written

    def page(self, capture: _Capture, damage: Counts) -> HtmlPage | None:
        """A capture's page; one that the file ends in is read as far as it goes."""
        if capture.record.http_headers.status_code != 200:
            return None
        try:
            data = capture.record.reader.read(packed.MAX_PAGE_BYTES + 1)
        except (OSError, ValueError, RuntimeError):
            damage[packed.UNREADABLE] += 1
            return None
        if len(data) > packed.MAX_PAGE_BYTES:
            damage[packed.TOO_LARGE] += 1
            return None
        return parse(data, self.config, damage, capture.record.http_charset or "")


def _capture(record: Any) -> _Capture | None:
    """A record, if it is a page's or leads to one."""
    http, url = record.http_headers, (record.headers.get("WARC-Target-URI") or "").strip("<>")
    if http is None or not (address := address_of(url)):
        return None
    kind = record.http_content_type or "text/html"
    if http.status_code not in _REDIRECTS and not (
        http.status_code == 200 and kind in ("text/html", "application/xhtml+xml")
    ):
        return None
    if http.status_code in _REDIRECTS:
        found = absolute(http.get("Location") or "", url)
        if not isinstance(found, str) and address_of(found[0]) == address:
            return None  # to another scheme, say: the page is what was captured of it
    date = record.headers.get("WARC-Date") or ""
    return _Capture(address, url, date, record)


def _ends_member(file: BinaryIO, offset: int) -> bool:
    """Whether a file ends with the end of a stream of gzip, from the beginning of one on."""
    file.seek(offset)
    try:
        with gzip.GzipFile(fileobj=file) as reader:
            while reader.read(packed.READ_BYTES):
                pass
    except (EOFError, OSError, zlib.error):
        return False
    return True


def _ends_whole(file: BinaryIO, offset: int, packing: str) -> bool:
    """Whether a file ends with the end of a record, going from one to the next from an offset on."""
    if packing == "gzip":
        return _ends_member(file, offset)
    size = file.seek(0, 2)
    while offset < size:
        file.seek(offset)
        head, end, _ = file.read(_MAX_HEADER).partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not end or not length:
            return False
        offset += len(head) + len(end) + int(length[1]) + len(b"\r\n\r\n")
    return offset == size


def address_of(url: str) -> str:
    """What a page is called: host, path and query, as they are read; empty for what is no address of the web."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host:
        return ""
    number = f":{port}" if port and port not in (80, 443) else ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{number}{unquote(parts.path) or '/'}{query}"


def _resolve(href: str, url: str, address: str, base: str = "") -> LinkTarget:
    """What a link on a page leads to: an address; other sites are as good, where they are in the archive."""
    found = absolute(href, url, base)
    if isinstance(found, str):
        return found
    target = address_of(found[0])
    if not target:
        return BROKEN
    # Other endings say nothing: pages may be called Node.js.
    is_picture = kind_of(urlsplit(found[0]).path) == PICTURE
    return PICTURE if is_picture else elsewhere(target, found[1], address)
