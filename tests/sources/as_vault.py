"""The bundled encyclopedia written out as a vault of notes: ``python -m tests.sources.as_vault FOLDER``.

One folder for a subject. Redirects are aliases; links are wikilinks with and without aliases and sections, embeds, and
Markdown links with paths. The planet and the element are two notes of one name.
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from urllib.parse import quote

import yaml

from linkwalk.shipped import dump_path
from linkwalk.sources.documents import LinkSpan
from linkwalk.sources.select import reason_by_source, redirect_target
from linkwalk.sources.wikitext.mediawiki import MediaWiki
from linkwalk.sources.wikitext.scanner import scan

_CATEGORY = re.compile(r"\[\[Category:([^\]|]+)")
_MARKUP = re.compile(r"[\\`*_{}\[\]()<>#+.!|~^=-]|&(?=\w)")


def write_vault(folder: Path, word: str = "demo") -> None:
    """Write an edition of the encyclopedia as notes."""
    dump = dump_path(word)
    assert dump is not None
    source = MediaWiki(dump)
    pages = [p for piece, _ in source.pieces() for p in source.documents(piece, Counter()) if not p.namespace]
    redirects = {page.title: target for page in pages if (target := redirect_target(page))}
    articles = {
        p.title: p for p in pages if p.title not in redirects and not reason_by_source(p, keep_lists=False)
    }
    aliases = defaultdict(list)
    for name, target in redirects.items():
        aliases[target.partition("#")[0]].append(name)
    notes = {title: _note(title, page.text) for title, page in articles.items()}
    ways = cycle(_WAYS)
    for title, page in articles.items():
        found = scan(page.text, source.site)
        body = [f"# {_escaped(title)}"]
        marks = sorted([(h.offset, h) for h in found.headings], key=lambda mark: mark[0])
        at = 0
        for line in found.text.split("\n"):
            while marks and marks[0][0] <= at:
                heading = marks.pop(0)[1]
                body.append(f"{'#' * heading.level} {_escaped(heading.title)}")
            end = at + len(line)
            inside = [link for link in found.links if at <= link.start < end]
            body.append("".join(_words(found.text, at, end, inside, notes, redirects, notes[title], ways)))
            at = end + 1
        front = {"title": title} | ({"aliases": aliases[title]} if title in aliases else {})
        path = folder / f"{notes[title]}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\n{yaml.safe_dump(front, allow_unicode=True)}---\n\n" + "\n\n".join(body) + "\n")


def _note(title: str, text: str) -> str:
    """A note's path without its ending: ``Elements/Mercury`` of ``Mercury (element)``."""
    subject = _CATEGORY.search(text)
    return f"{subject[1].strip() if subject else 'Others'}/{title.partition(' (')[0]}"


def _words(
    text: str,
    at: int,
    end: int,
    links: list[LinkSpan],
    notes: dict[str, str],
    redirects: dict[str, str],
    here: str,
    ways: Iterator[str],
) -> Iterator[str]:
    """A paragraph, with its links one way or another."""
    for link in links:
        yield _escaped(text[at : link.start])
        at = link.end
        target = link.target.strip().replace("_", " ")
        target = target[:1].upper() + target[1:]
        yield _link(text[link.start : link.end], target, link.fragment, notes, redirects, here, next(ways))
    yield _escaped(text[at:end])


_WAYS = ("name", "name", "path", "alias", "embed", "markdown", "small", "name")


def _link(
    shown: str, target: str, part: str, notes: dict[str, str], redirects: dict[str, str], here: str, way: str
) -> str:
    """A link to an article, in one of the ways there are; to a page that is no article, one to no note."""
    through = redirects.get(target, target).partition("#")[0]
    through = through[:1].upper() + through[1:]
    if not target:
        return f"[[#{part}|{shown}]]"
    if through not in notes:
        return f"[{_escaped(shown)}](nowhere/{quote(target)}.md)"
    note, section = notes[through], f"#{part}" if part else ""
    name = note.rpartition("/")[2]
    twice = [other for other in notes.values() if other.endswith(f"/{name}")]
    if way == "alias" and target in redirects:
        return f"[[{target}|{shown}]]"
    if way == "path" or (len(twice) > 1 and note.partition("/")[0] != here.partition("/")[0]):
        return f"[[{note}{section}|{shown}]]"
    if way == "embed":
        return f"![[{name}]]"
    if way == "markdown":
        return f"[{_escaped(shown)}](../{quote(note)}.md{quote(section, safe='#')})"
    return f"[[{name.lower() if way == 'small' else name}{section}|{shown}]]"


def _escaped(words: str) -> str:
    """Words that are no markup, whatever they look like."""
    return _MARKUP.sub(r"\\\g<0>", words)


if __name__ == "__main__":
    write_vault(Path(sys.argv[1]))
