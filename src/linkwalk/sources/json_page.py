"""A JSON object as a document: ``title`` and ``text``, with links as spans or in the text's own markup.

``links`` are objects of ``start`` and ``end``, characters of the text, ``target`` and perhaps ``fragment``; a target is
the title or the address of a page. ``markup`` says that the text is ``wikitext`` or ``markdown``; nothing is guessed:
text without it, and without an option that says so for the whole file, is plain. ``address`` (or ``url``) is what links
may call the page, ``redirect`` makes it only another name, ``parent`` is the page above it.
"""

import re
from collections import Counter
from typing import Any
from urllib.parse import unquote

from linkwalk.sources.documents import Document, Wikitext, date_in
from linkwalk.sources.markdown.text import TOO_DEEP, read_markdown
from linkwalk.sources.page_text import PICTURE, slug
from linkwalk.sources.select import redirect_target
from linkwalk.sources.source import PLAIN, ReadConfig
from linkwalk.sources.vault import EXTERNAL, ITSELF, Found, kind_of
from linkwalk.sources.wikitext.lines import LinkSpan, Scan
from linkwalk.sources.wikitext.scanner import ScanOptions, scan
from linkwalk.sources.wikitext.site import Site

OUT_OF_TEXT, BROKEN, BESIDE_MARKUP = "span out of the text", "broken entry of `links`", "beside markup"
NOT_READ = "double brackets in plain text"
UNKNOWN_MARKUP = "unknown markup (read as plain text)"
_BRACKETS = re.compile(r"\[\[[^\[\]\n]++\]\]")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://|//|(?:mailto|tel|javascript|data):")


def document_of(record: Any, site: Site, config: ReadConfig, damage: Counter[str]) -> Document:
    """The page of a JSON object; what is wrong with it beyond title and text is counted, and the page kept."""
    title, text = record["title"], record.get("text", "") if record.get("redirect") else record["text"]
    if not isinstance(title, str) or not isinstance(text, str):
        raise TypeError
    redirect = _optional(record, "redirect", damage)
    markup = _optional(record, "markup", damage) or config.markup
    if markup == "wikitext" and not redirect:
        redirect = redirect_target(Wikitext(title, text=text)) or ""
    target, _, fragment = redirect.partition("#")
    if not fragment:  # ``C#`` is a title
        target = redirect
    page = Document(
        title=title,
        address=_optional(record, "address", damage) or _optional(record, "url", damage),
        redirect=target or None,
        redirect_fragment=fragment,
        parent=_optional(record, "parent", damage),
        timestamp=date_in(str(record.get("timestamp", ""))),
    )
    if not redirect:
        found = _read(text, markup, site, config, damage)
        page.text, page.headings = found.text, found.headings
        links, counts = _spans(record, text, markup, damage)
        page.links = [*found.links, *links]
        page.counts = dict(Counter(found.counts) + counts)
    return page


def _read(text: str, markup: str, site: Site, config: ReadConfig, damage: Counter[str]) -> Scan:
    """A text without its markup."""
    if markup == "wikitext":
        return scan(text, site, ScanOptions(keep_tables=bool(config.tables)))
    if markup == "markdown":
        found, deep = read_markdown(text, _resolve, _resolve_name, config)
        if deep:
            damage[TOO_DEEP] += 1
        return found
    if markup != PLAIN:
        damage[UNKNOWN_MARKUP] += 1
    brackets = sum(1 for _ in _BRACKETS.finditer(text))
    return Scan(text, [], [], {NOT_READ: brackets} if brackets else {})


def _spans(
    record: dict[str, Any], text: str, markup: str, damage: Counter[str]
) -> tuple[list[LinkSpan], Counter[str]]:
    """The links that are given as spans, which are of plain text; and those that are none, by reason."""
    given, links, counts = record.get("links"), list[LinkSpan](), Counter[str]()
    if given is None:
        return links, counts
    if not isinstance(given, list):
        damage["`links` that are no list (ignored)"] += 1
        return links, counts
    if markup != PLAIN:
        damage["`links` beside markup (ignored)"] += 1
        counts[BESIDE_MARKUP] += len(given)
        return links, counts
    for entry in given:
        link = _link(entry)
        if link is None:
            counts[BROKEN] += 1
        elif not 0 <= link.start < link.end <= len(text):
            counts[OUT_OF_TEXT] += 1
        else:
            links.append(link)
    return links, counts


def _link(entry: Any) -> LinkSpan | None:
    """A link of the right types, or none."""
    if not isinstance(entry, dict):
        return None
    start, end, target = entry.get("start"), entry.get("end"), entry.get("target")
    fragment = entry.get("fragment") or ""
    # A truth value is an integer to Python; to no one else.
    right = type(start) is int and type(end) is int and isinstance(target, str) and isinstance(fragment, str)
    return LinkSpan(start, end, target, fragment) if right else None  # type: ignore[arg-type]


def _optional(record: dict[str, Any], key: str, damage: Counter[str]) -> str:
    """A text that need not be there; of another type it counts as not there."""
    value = record.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    damage[f"`{key}` that is no text (ignored)"] += 1
    return ""


def _resolve(href: str) -> Found:
    """What a link of Markdown leads to: the title or address of a page, as it is written."""
    if _SCHEME.match(href):
        return EXTERNAL
    name, _, fragment = href.partition("#")
    if kind_of(name) == PICTURE:
        return PICTURE  # other endings say nothing: pages may be called Node.js
    return _resolve_name(f"{unquote(name)}#{unquote(fragment)}")


def _resolve_name(written: str) -> Found:
    """What a name in double brackets leads to."""
    name, _, fragment = written.partition("#")
    if name.strip():
        return name.strip(), slug(fragment)
    return ("", slug(fragment)) if slug(fragment) else ITSELF
