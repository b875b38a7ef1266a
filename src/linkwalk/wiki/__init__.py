"""The layer that the command line, the server and the adapters stand on: ``Wiki``, and what opens its parts.

Nothing heavy is imported before it is used, so that ``linkwalk --help`` is instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwalk.navigate.ways import Ways
    from linkwalk.wiki.answers import Answer, Evidence
    from linkwalk.wiki.opened import Wiki
    from linkwalk.wiki.pages import Link, Page, Segment
    from linkwalk.wiki.places import Place
    from linkwalk.wiki.walks import Choice, Click, Walk

__all__ = [
    "Answer",
    "Choice",
    "Click",
    "Evidence",
    "Link",
    "Page",
    "Place",
    "Segment",
    "Walk",
    "Ways",
    "Wiki",
]

_WHERE = {
    "Answer": "answers",
    "Choice": "walks",
    "Click": "walks",
    "Evidence": "answers",
    "Link": "pages",
    "Page": "pages",
    "Place": "places",
    "Segment": "pages",
    "Walk": "walks",
    "Ways": "agents",
    "Wiki": "opened",
}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
