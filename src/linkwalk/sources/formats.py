"""Which source reads a path: the one that is named, or the first that recognises it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from linkwalk.errors import InputError
from linkwalk.parts import import_part, is_part, takes
from linkwalk.sources import packed
from linkwalk.sources.html.source import Html
from linkwalk.sources.jsonlines import JsonLines
from linkwalk.sources.markdown.source import Markdown
from linkwalk.sources.source import ReadConfig, Source
from linkwalk.sources.warc import Warc
from linkwalk.sources.wikitext.mediawiki import MediaWiki
from linkwalk.sources.zim import Zim


class Format(Protocol):
    """A class of sources that are known by what they begin with."""

    def __call__(self, path: Path, config: ReadConfig = ...) -> Source:
        """The source at a path."""
        ...

    def recognises(self, path: Path, head: bytes | None) -> bool | None:
        """Whether it reads a file that begins so, unpacked, or (None) a folder; None where more of it would tell."""
        ...


FORMATS: dict[str, Format] = {
    "mediawiki": MediaWiki,
    "jsonlines": JsonLines,
    "markdown": Markdown,
    "html": Html,
    "zim": Zim,
    "warc": Warc,
}
"""Name -> format, in the order in which they are asked."""
_MEMBERS = ("path", "files", "version", "site", "pieces", "documents")


def open_source(path: Path, format: str | None = None, config: ReadConfig = ReadConfig()) -> Source:  # noqa: B008 (frozen)
    """The source at a path, of the format named: one of ``FORMATS``, or ``package.module:Name``."""
    if format is None:
        return _recognise(path)(path, config)
    if format in FORMATS:
        return FORMATS[format](path, config)
    if not is_part(format):
        raise InputError(f"no format {format!r}: there are {', '.join(FORMATS)}, and package.module:Name")
    if not path.exists():
        raise InputError(f"no such file: {path}")
    make: Callable[[Path], Any] = import_part(format, "source")
    if not callable(make) or not takes(make, path):
        raise InputError(f"{format} is neither a class of sources nor a function that makes one of a path")
    source: Source = make(path)
    if missing := [name for name in _MEMBERS if not hasattr(source, name)]:
        raise InputError(f"{format} makes no source: it lacks {', '.join(missing)}")
    return source


def _recognise(path: Path) -> Format:
    """The first format that reads what is at a path."""
    if path.is_dir():
        asked = [kind for kind in FORMATS.values() if kind.recognises(path, None)]
        if asked:
            return asked[0]
        raise InputError(f"{path} is a folder without pages of Markdown or HTML")
    asked = list(FORMATS.values())
    for head in packed.heads(path, packed.packing_of(path)):
        answers = [(kind, kind.recognises(path, head)) for kind in asked]
        asked = [kind for kind, answer in answers if answer is not False]
        if sure := [kind for kind, answer in answers if answer]:
            return sure[0]
        if not asked:
            break
    if path.suffix.lower() in Html.endings + Markdown.endings:
        raise InputError(f"{path} is not a MediaWiki export but one page: name the folder that it lies in")
    raise InputError(
        f"{path} is not a MediaWiki export (no <mediawiki> element) nor JSON lines of `title` and `text`, "
        "nor a ZIM file or a web archive (WARC)"
    )
