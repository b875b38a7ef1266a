"""What ships with the package: a small encyclopedia in two editions, with claims and questions, and a policy.

The sources are readable wikitext in the project's folder ``encyclopedia``; ``encyclopedia/pack.py`` packs them. The
policy's card is ``policy/MODEL_CARD.md``.
"""

import json
from pathlib import Path
from typing import Any

#: The words that stand for the bundled dumps wherever a dump is asked for.
EDITIONS = {"demo": "encyclopedia.xml.bz2", "demo2": "encyclopedia-2.xml.bz2"}

#: The agent that the policy which ships is called by, and the one that walks where none is named.
POLICY = "compass"

_HERE = Path(__file__).parent


def dump_path(word: str) -> Path | None:
    """The bundled dump that a word stands for, or None if it is no such word."""
    name = EDITIONS.get(word)
    return _HERE / name if name else None


def policy_path() -> Path:
    """The folder of the policy that ships: manifest, weights, target encoder, model card."""
    return _HERE / "policy"


def reranker_path() -> Path:
    """The folder of the cross-encoder that ships."""
    return _HERE / "reranker"


def claims() -> list[dict[str, Any]]:
    """Statements about the first edition: claim, label (SUPPORTS or REFUTES), and the sentence that settles it."""
    return _read("claims.jsonl")


def questions() -> list[dict[str, Any]]:
    """Questions about the first edition: question, answer, and the evidence, from one article or two."""
    return _read("questions.jsonl")


def _read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_HERE / name).read_text(encoding="utf-8").splitlines()]
