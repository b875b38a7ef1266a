"""The one way from what a wiki answers to JSON: a dataclass is its fields, by their names."""

from dataclasses import fields, is_dataclass
from typing import Any


def plain(thing: Any) -> Any:
    """An answer as plain values: what the command line prints, and what is sent over HTTP and MCP."""
    if is_dataclass(thing):
        return {field.name: plain(getattr(thing, field.name)) for field in fields(thing)}
    if isinstance(thing, tuple | list):
        return [plain(part) for part in thing]
    return thing
