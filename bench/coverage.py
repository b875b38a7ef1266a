"""Does the graph have the links it should? Against Wikispeedia's list of the same pages' links, and by the ledger.

python bench/coverage.py SCHOOLS_DUMP WIKI WIKISPEEDIA_TAR

The truth for "stands in kept text" is made here from the raw wikitext, without linkwalk: tables are cut out by their
marks, and every [[target]] that is left counts, however it is written.
"""

import argparse
import bz2
import html
import json
import re
import tarfile
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from linkwalk.graph.store import LINK, Graph
from report import report

PAGE = re.compile(r"<title>(.*?)</title>.*?<text[^>]*>(.*?)</text>", re.DOTALL)
TABLE = re.compile(r"^\{\|.*?^\|\}", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^=+.*=+\s*$", re.MULTILINE)
TARGET = re.compile(r"\[\[([^\[\]|#]+)")


def normal(title: str) -> str:
    title = " ".join(title.replace("_", " ").split())
    return title[:1].upper() + title[1:]


def raw_links(dump: Path) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """(source, target) of every link in the raw dump, and of those outside tables and headings."""
    everywhere, outside = set(), set()
    text = bz2.decompress(dump.read_bytes()).decode()
    for title, body in PAGE.findall(text):
        title, body = normal(html.unescape(title)), html.unescape(body)
        everywhere |= {(title, normal(html.unescape(t))) for t in TARGET.findall(body)}
        body = HEADING.sub("", TABLE.sub("", body))
        outside |= {(title, normal(html.unescape(t))) for t in TARGET.findall(body)}
    return everywhere, outside


def wikispeedia(archive: Path) -> set[tuple[str, str]]:
    with tarfile.open(archive) as tar:
        member = next(m for m in tar.getmembers() if m.name.endswith("links.tsv"))
        lines = tar.extractfile(member).read().decode().splitlines()  # type: ignore[union-attr]
    pairs = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {(normal(unquote(a)), normal(unquote(b))) for a, b in pairs}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dump", type=Path)
    parser.add_argument("wiki", type=Path)
    parser.add_argument("games", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    graph = Graph.open(arguments.wiki)
    titles = graph.titles.slice(0, graph.articles)
    links = np.flatnonzero(graph.out_kinds == LINK)
    source = graph.node_article[np.searchsorted(graph.out_indptr, links, side="right") - 1].tolist()
    target = graph.node_article[graph.out_targets[links]].tolist()
    ours = {(titles[a], titles[b]) for a, b in zip(source, target, strict=True)}
    everywhere, outside = raw_links(arguments.dump)
    listed = {(a, b) for a, b in wikispeedia(arguments.games) if a != b}
    kept = set(titles)
    both = {(a, b) for a, b in listed if a in kept and b in kept}
    due = both & outside
    ledger = json.loads((arguments.wiki / "graph" / "ledger.json").read_bytes())
    resolved = ledger["links"]["resolved"]["total"]
    in_text = {
        k: v
        for k, v in ledger["links"]["unresolved"].items()
        if k in ("missing page", "list", "short", "disambiguation")
    }
    results = {
        "pages in the ledger": ledger["pages"]["read"],
        "links in kept text that resolve": resolved / (resolved + sum(in_text.values())),
        "Wikispeedia pairs": len(listed),
        "of them with both pages kept": len(both),
        "of those in the dump": len(both & everywhere) / len(both),
        "of those in kept text": len(due),
        "of those in the graph": len(due & ours) / len(due),
    }
    report("coverage", {"wiki": graph.snapshot}, results, arguments.json)
    for pair in sorted(due - ours)[:20]:
        print("    missing:", *pair, sep="  ")


if __name__ == "__main__":
    main()
