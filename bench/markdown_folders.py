"""Folders of Markdown: pages, links and edges as they are read, beside what is known of them.

    python bench/markdown_folders.py ../shared/data/markdown/README.md FOLDER... [--built WORKSPACES]

A folder is named like its row in the README's table. Links of every page count, also of those that a build leaves out.
With ``--built`` a second table says what became of them in the graphs WORKSPACES/NAME.
"""

import argparse
import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

from linkwalk.sources.markdown.folder import Markdown
from linkwalk.sources.source import ReadConfig


def expected(readme: Path) -> dict[str, tuple[int, int, int]]:
    """Pages, internal links and distinct edges of every collection, as its README has them."""
    rows = [[cell.strip() for cell in line.split("|")] for line in readme.read_text().splitlines()]
    found = {}
    for row in rows:
        if len(row) > 10 and (name := re.fullmatch(r"`(\w+)`", row[1])):
            pages, links, edges = (int(row[i].replace(",", "")) for i in (5, 7, 8))
            found[name[1]] = pages, links, edges
    return found


def measure(folder: Path) -> dict[str, Any]:
    """What one collection's documents say."""
    source = Markdown(folder, ReadConfig())
    damage: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    edges: set[tuple[str, str]] = set()
    pages = resolved = own = 0
    known = source.vault.known
    began = time.process_time()
    for piece, _ in source.pieces():
        for document in source.documents(piece, damage):
            if document.redirect is not None or document.address not in known:
                continue
            pages += 1
            if document.contents:  # a folder's page without a word: its links are not the author's
                continue
            reasons.update(document.counts)
            for link in document.links:
                if not link.target:
                    own += 1
                elif link.target in known or link.target.endswith("/"):
                    resolved += 1
                    if link.target != document.address:
                        edges.add((document.address, link.target))
                else:
                    reasons["missing page"] += 1
    seconds = time.process_time() - began
    reasons["section of the page itself"] = own
    return {
        "pages": pages,
        "links": resolved + sum(reasons.values()),
        "internal": resolved,
        "edges": len(edges),
        "reasons": dict(reasons.most_common()),
        "damage": dict(damage),
        "pages_per_second": round(pages / seconds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("readme", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--built", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    known, found = expected(given.readme), {folder.name: measure(folder) for folder in given.folders}
    for name in found if given.built else ():
        graph = given.built / name / "graph"
        ledger, manifest = (
            json.loads((graph / f"{file}.json").read_text()) for file in ("ledger", "manifest")
        )
        found[name]["built"] = {"ledger": ledger, "edges": manifest["counts"]["edges_by_kind"]}
    if given.json:
        print(json.dumps(found, indent=1))
        return
    print(
        "| collection | pages | links seen | internal (README) | edges (README) | others, by reason | pages/s of CPU |"
    )
    print("| --- | --: | --: | --: | --: | --- | --: |")
    for name, row in found.items():
        pages, links, edges = known[name]
        print(
            f"| {name} | {row['pages']:,} ({pages:,}) | {row['links']:,} | {row['internal']:,} ({links:,}, "
            f"{row['internal'] / links - 1:+.2%}) | {row['edges']:,} ({edges:,}, {row['edges'] / edges - 1:+.2%}) "
            f"| {in_words(row['reasons'])} | {row['pages_per_second']:,} |"
        )
    if given.built:
        print(
            "\n| collection | read | kept | left out | links seen | resolved | not, by reason | sections | edges |"
        )
        print("| --- | --: | --: | --- | --: | --: | --- | --- | --- |")
    for name, row in found.items() if given.built else ():
        ledger, edges = row["built"]["ledger"], row["built"]["edges"]
        pages, links = ledger["pages"], ledger["links"]
        print(
            f"| {name} | {pages['read']:,} | {pages['kept']:,} | {in_words(pages['skipped'])} | {links['seen']:,} "
            f"| {links['resolved']['total']:,} | {in_words(links['unresolved'])} "
            f"| {in_words(ledger['section_links'])} | {in_words(edges)} |"
        )


def in_words(counts: dict[str, int]) -> str:
    """Counts by reason, but for their total."""
    return ", ".join(f"{n:,} {reason}" for reason, n in counts.items() if n and reason != "total")


if __name__ == "__main__":
    main()
