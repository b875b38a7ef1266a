"""The books of a build: pages read = kept + left out, links seen = resolved + unresolved, each by reason."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from linkwalk.sources.select import REASONS


@dataclass(slots=True)
class Ledger:
    """What went in, what came out, and why the rest did not. Nothing is lost silently."""

    pages: Counter[str] = field(default_factory=Counter)
    links: Counter[str] = field(default_factory=Counter)
    """Links that are no links to an article, by reason, as the scanner saw them."""
    damage: Counter[str] = field(default_factory=Counter)
    redirects: Counter[str] = field(default_factory=Counter)
    resolved: Counter[str] = field(default_factory=Counter)
    """What became of links whose page is here: an edge, merged with another edge, or pointing at its own block."""
    unresolved: Counter[str] = field(default_factory=Counter)
    sections: Counter[str] = field(default_factory=Counter)
    """Links that ask for a section: whether the article has it; if not, they lead to its first block."""
    entities: Counter[str] = field(default_factory=Counter)
    contents: Counter[str] = field(default_factory=Counter)
    """Pages that name one above them, and links of tables of contents: what became of them."""
    backlinks: Counter[str] = field(default_factory=Counter)
    newest: str = ""
    """The last timestamp of any page."""

    def enter(self, report: dict[str, Any]) -> None:
        """Add what a shard reports of itself, under the names of the ledger's accounts."""
        self.newest = max(self.newest, report.pop("newest", ""))
        for account, counts in report.items():
            getattr(self, account).update(counts)

    def to_json(self) -> dict[str, Any]:
        """The ledger as it is written to disk."""
        skipped = {reason: self.pages[reason] for reason in REASONS if self.pages[reason]}
        resolved, unresolved = self.resolved.total(), self.unresolved + self.links
        return {
            "pages": {"read": self.pages["read"], "kept": self.pages["kept"], "skipped": skipped},
            "links": {
                "seen": resolved + unresolved.total(),
                "resolved": {"total": resolved, **_sorted(self.resolved)},
                "unresolved": {"total": unresolved.total(), **_sorted(unresolved)},
            },
            "section_links": _sorted(self.sections),
            "entity_links": _sorted(self.entities),
            "contents": _sorted(self.contents),
            "backlinks": _sorted(self.backlinks),
            "redirects": _sorted(self.redirects),
            "damage": _sorted(self.damage),
        }

    def damage_in_words(self) -> str:
        """The damage as one line, for the warning."""
        return ", ".join(f"{count:,} × {reason}" for reason, count in _sorted(self.damage).items())


def _sorted(counter: Counter[str]) -> dict[str, int]:
    """Largest first, ties by name: the same book whatever order the shards came in."""
    return {name: int(n) for name, n in sorted(counter.items(), key=lambda item: (-item[1], item[0])) if n}
