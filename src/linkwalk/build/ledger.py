"""The books of a build: pages read = kept + left out, links seen = resolved + unresolved, each by reason."""

from collections import Counter, defaultdict
from typing import Any

from linkwalk.sources.documents import Counts
from linkwalk.sources.select import REASONS

JsonObject = dict[str, Any]


class Ledger(defaultdict[str, Counts]):
    """What went in, what came out, and why the rest did not, by account. Nothing is lost silently.

    ``pages``; ``links`` that are no links to an article, by reason, as the scanner saw them; ``damage``; ``redirects``;
    ``resolved``, what became of links whose page is here: an edge, merged with another edge, or pointing at its own
    block; ``unresolved``; ``sections``, links that ask for one: whether the article has it (if not, they lead to its
    first block); ``entities``; ``contents``, pages that name one above them, and links of tables of contents;
    ``backlinks``.
    """

    def __init__(self) -> None:
        super().__init__(Counter)
        self.newest = ""
        """The last timestamp of any page."""

    def enter(self, report: JsonObject) -> None:
        """Add what a shard reports of itself, under the names of the ledger's accounts."""
        self.newest = max(self.newest, report.pop("newest", ""))
        for account, counts in report.items():
            self[account].update(counts)

    def to_json(self) -> JsonObject:
        """The ledger as it is written to disk."""
        pages, resolved, unresolved = self["pages"], self["resolved"], self["unresolved"] + self["links"]
        skipped = {reason: pages[reason] for reason in REASONS if pages[reason]}
        links = {
            "seen": resolved.total() + unresolved.total(),
            "resolved": {"total": resolved.total(), **_sorted(resolved)},
            "unresolved": {"total": unresolved.total(), **_sorted(unresolved)},
        }
        return {
            "pages": {"read": pages["read"], "kept": pages["kept"], "skipped": skipped},
            "links": links,
            "section_links": _sorted(self["sections"]),
            "entity_links": _sorted(self["entities"]),
            **{name: _sorted(self[name]) for name in ("contents", "backlinks", "redirects", "damage")},
        }

    def damage_in_words(self) -> str:
        """The damage as one line, for the warning."""
        return ", ".join(f"{count:,} × {reason}" for reason, count in _sorted(self["damage"]).items())


def _sorted(counter: Counts) -> dict[str, int]:
    """Largest first, ties by name: the same book whatever order the shards came in."""
    return {name: int(n) for name, n in sorted(counter.items(), key=lambda item: (-item[1], item[0])) if n}
