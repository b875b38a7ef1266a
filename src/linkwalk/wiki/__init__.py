"""The layer that the command line, the server and the adapters stand on: ``Wiki``, and what opens its parts.

Nothing heavy is imported before it is used, so that ``linkwalk --help`` is instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwalk.navigate.moves import MoveConfig
    from linkwalk.wiki.answers import Answer, Choice, Click, Evidence, Place, Walk
    from linkwalk.wiki.pages import Link, Page, Segment
    from linkwalk.wiki.wiki import Wiki

__all__ = [
    "Answer",
    "Choice",
    "Click",
    "Evidence",
    "Link",
    "MoveConfig",
    "Page",
    "Place",
    "Segment",
    "Walk",
    "Wiki",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        modules = (import_module(f"{__name__}.{part}") for part in ("wiki", "answers", "pages"))
        return next(getattr(module, name) for module in modules if hasattr(module, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
