"""What a page of Markdown says about itself before its text: YAML between ``---``, or TOML between ``+++``."""

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

from linkwalk.parts import import_library
from linkwalk.sources.documents import Counts

_FENCED = re.compile(
    r"(---|\+\+\+)[ \t]*\n(.*?)(?:^|\n)(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
#: Front matter beyond this is none that a person or a tool writes.
MAX_CHARS = 1 << 16
_TAGS = ("tags", "tag", "categories", "category", "keywords")
_DATES = ("updated", "lastmod", "last_modified", "modified", "date")
"""Fields of one meaning, as Obsidian, Jekyll, Hugo and others call them; of the dates the first counts."""
_LINE = re.compile(
    r"^(title|aliases|alias|redirect_from|redirect_to|date)[ \t]*[:=][ \t]*(.*)$", re.MULTILINE
)
_WIKILINK = re.compile(r"\[\[[^\[\]\n]+\]\]")
BROKEN, IN_FRONT_MATTER = "broken front matter", "in front matter"


@dataclass(frozen=True)
class FrontMatter:
    """Those fields that we know."""

    title: str = ""
    aliases: list[str] = field(default_factory=list)
    """Other names, and paths that the page had before (those begin with a slash)."""
    redirect: str = ""
    """Where a page leads that is only another's former place."""
    tags: list[str] = field(default_factory=list)
    date: str = ""
    """When it was last changed, else when it was written."""
    links: int = 0
    """How many links in double brackets stand in it, as Obsidian's properties have them."""


def split(text: str, damage: Counts) -> tuple[FrontMatter, str]:
    """A page's front matter and its text."""
    found = _FENCED.match(text, 0, MAX_CHARS)
    if found is None:
        return FrontMatter(), text
    fields = _yaml(found[2]) if found[1] == "---" else _toml(found[2])
    if fields is not None and not isinstance(fields, dict):
        return FrontMatter(), text  # words between two rulers
    if fields is None:
        damage[BROKEN] += 1
        fields = {name: value.strip().strip("\"'") for name, value in _LINE.findall(found[2])}
    former = [path if path.startswith("/") else f"/{path}" for path in _names(fields.get("redirect_from"))]
    aliases = _names(fields.get("aliases")) + _names(fields.get("alias"))
    return (
        FrontMatter(
            title=_name(fields.get("title")),
            aliases=aliases + former,
            redirect=_name(fields.get("redirect_to")),
            tags=[tag for name in _TAGS for tag in _names(fields.get(name))],
            date=next(filter(None, (_name(fields.get(name)) for name in _DATES)), ""),
            links=len(_WIKILINK.findall(found[2])) if found[1] == "---" else 0,  # in TOML these are tables
        ),
        text[found.end() :],
    )


def _yaml(written: str) -> Any:
    """What is written, all values as text (``1.10`` is a title, not a number); None where it is broken."""
    yaml = import_library("yaml", "PyYAML", "pyyaml")
    try:
        return yaml.load(written, Loader=yaml.BaseLoader) or {}
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None


def _toml(written: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(written)
    except (ValueError, RecursionError):
        return None


def _name(value: object) -> str:
    """A name as a line of text; a number or a date is one as well."""
    name = "" if isinstance(value, list | dict) else " ".join(str(value).split())
    return "" if name in ("None", "null", "~") else name


def _names(value: object) -> list[str]:
    """One name or a list of them; a line of names with commas is a list, too."""
    values = value if isinstance(value, list) else _name(value).split(",")
    return [name for name in map(_name, values) if name]
