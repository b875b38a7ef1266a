"""The wiki's dataclasses as JSON: written fast, and described by the strings beneath their fields."""

from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json

from linkwalk.graph.sentence import Sentence
from linkwalk.navigate.ways import MapConfig, Ways
from linkwalk.wiki import Answer, Choice, Click, Evidence, Link, Page, Place, Segment, Walk
from linkwalk.wiki.answers import Closest
from linkwalk.wiki.pages import Listed

SHAPES = (
    *(Place, Segment, Link, Listed, Page, Sentence, Choice, Click, Closest, MapConfig, Ways, Walk),
    *(Evidence, Answer),
)
_DESCRIBED = {
    "use_attribute_docstrings": True,
    "extra": "forbid",
    "json_schema_serialization_defaults_required": True,
}
for _shape in SHAPES:  # here, so that the layers below need not know of pydantic
    _shape.__pydantic_config__ = _DESCRIBED  # type: ignore[union-attr]


# Now, in one thread: the strings are read from the source, and Python 3.11 cannot parse in several at once.
_WRITERS = {shape: TypeAdapter[Any](shape) for shape in (Page, Click, Walk, Answer)}


def written(value: Any) -> bytes:
    """Fields by their names, as ``linkwalk.wiki.answers.plain`` gives them, in a tenth of its time."""
    writer = _WRITERS.get(type(value))  # which knows the types, and need not look at each value
    return to_json(value) if writer is None else writer.dump_json(value)
