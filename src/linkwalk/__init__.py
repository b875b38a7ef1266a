"""linkwalk: learn to find things by following links."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwalk.wiki import Wiki as Wiki

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "Wiki":  # only when asked for: importing the package stays instant
        from linkwalk.wiki import Wiki

        return Wiki
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
