"""Which source reads a path: the one that is named, or the first that recognises it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from linkwalk.errors import InputError
from linkwalk.parts import import_part, is_part, takes
from linkwalk.sources import packed
from linkwalk.sources.html.folder import Html
from linkwalk.sources.jsonlines import JsonLines
from linkwalk.sources.markdown.folder import Markdown
from linkwalk.sources.source import USUAL, ReadConfig, Source
from linkwalk.sources.warc import Warc
from linkwalk.sources.wikitext.mediawiki import MediaWiki
from linkwalk.sources.zim import Zim

FORMATS: dict[str, type[Any]] = {
    "mediawiki": MediaWiki,
    "jsonlines": JsonLines,
    "markdown": Markdown,
    "html": Html,
    "zim": Zim,
    "warc": Warc,
}
"""Name -> format, in the order in which they are asked."""
_FOLDERS: tuple[type[Any], ...] = (Markdown, Html)
_MEMBERS = "path files version site pieces documents".split()


def open_source(path: Path, format: str | None = None, config: ReadConfig = USUAL) -> Source:
    """The source at a path, of the format named: one of ``FORMATS``, or ``package.module:Name``."""
    source: Source
    if format is None or format in FORMATS:
        source = (_recognise(path) if format is None else FORMATS[format])(path, config)
        return source
    if not is_part(format):
        raise InputError(f"no format {format!r}: there are {', '.join(FORMATS)}, and package.module:Name")
    if not path.exists():
        raise InputError(f"no such file: {path}")
    make: Callable[[Path], Any] = import_part(format, "source")
    if not callable(make) or not takes(make, path):
        raise InputError(f"{format} is neither a class of sources nor a function that makes one of a path")
    source = make(path)
    if missing := [name for name in _MEMBERS if not hasattr(source, name)]:
        raise InputError(f"{format} makes no source: it lacks {', '.join(missing)}")
    return source


def _recognise(path: Path) -> type[Any]:
    """The first format that reads what is at a path."""
    if path.is_dir():
        for kind in _FOLDERS:
            if kind.recognises(path):
                return kind
        raise InputError(f"{path} is a folder without pages of Markdown or HTML")
    asked = [kind for kind in FORMATS.values() if kind not in _FOLDERS]
    for head in packed.heads(path, packed.packing_of(path)):
        answers = [(kind, kind.recognises(head)) for kind in asked]
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
