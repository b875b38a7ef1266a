"""One wiki twice, from its HTML and from its dump: whether the articles and the links between them are the same.

    python bench/html_and_dump.py FOLDER DUMP [--examples N] [--json OUT]

A page is an article of the dump by its title or its file's name; other pages of the folder (indexes, say) are counted
and left aside. Both are built with tables and short pages, without entity links. Links that only one of the two has are
told by where they stand in the HTML, and whether the wikitext has them.
"""

import argparse
import re
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from linkwalk.build.build import BuildConfig, build
from linkwalk.build.read import ExtractConfig
from linkwalk.graph.store import LINK, Graph
from linkwalk.progress import Progress
from linkwalk.sources.formats import open_source
from linkwalk.sources.html.folder import Html
from linkwalk.sources.html.text import HtmlPage
from linkwalk.sources.source import ReadConfig, Source
from report import report

Pairs = set[tuple[str, str]]
_CONFIG = BuildConfig(
    extract=ExtractConfig(keep_tables=True, keep_list_pages=True, min_chars=1), entity_links=False
)


def article_graph(source: Source, folder: Path) -> tuple[dict[str, str], Pairs]:
    """Titles with their addresses, and pairs of titles that a link joins."""
    build([source], folder, _CONFIG, workers=1, progress=Progress(quiet=True))
    graph = Graph.open(folder)
    titles = [graph.titles[i] for i in range(graph.articles)]
    links = graph.out_kinds == LINK
    home = np.repeat(graph.node_article, np.diff(graph.out_indptr))[links].astype(np.int64)
    codes = np.unique(home << 32 | graph.node_article[graph.out_targets[links]])
    pairs = ((titles[code >> 32], titles[code & 0xFFFFFFFF]) for code in codes.tolist())
    places = (
        [""] * len(titles) if graph.addresses is None else [graph.addresses[i] for i in range(len(titles))]
    )
    return dict(zip(titles, places, strict=True)), {(home, away) for home, away in pairs if home != away}


def rate_of(source: Html) -> float:
    """Pages a second of one core's time, from files to documents."""
    began = time.process_time()
    pages = sum(1 for piece, _ in source.pieces() for _ in source.documents(piece, Counter()))
    return pages / (time.process_time() - began)


def wikitexts(source: Source) -> dict[str, str]:
    """The dump's pages as they are written."""
    return {
        page.title: page.text for piece, _ in source.pieces() for page in source.documents(piece, Counter())
    }


def place(source: Html, page: HtmlPage, address: str, target: str) -> str:
    """Where a page's HTML has a link to another, told by the innermost element that says something."""
    for link in page.tree.css("a[href]"):
        href = link.attributes["href"] or ""
        if source.vault.resolve_link(href, address, page.base, source.home)[0] != target:
            continue
        node = link
        while node is not None and node.tag != "body":
            if node.id == "siteSub" or re.fullmatch("h[1-6]|sup|pre|table|li|dd|p|blockquote", node.tag):
                return f"in <{node.tag}>"
            node = node.parent
        return "in another block"
    return "nowhere"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("dump", type=Path)
    parser.add_argument("--examples", type=int, default=0, help="links of every reason to show")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    html, dump = Html(given.folder, ReadConfig(tables=True)), open_source(given.dump)
    with tempfile.TemporaryDirectory() as folder:
        address, html_pairs = article_graph(html, Path(folder) / "html")
        dump_titles, dump_pairs = article_graph(dump, Path(folder) / "dump")
    theirs, matched = set(dump_titles), {}
    for title, page in address.items():
        stem = " ".join(unquote(unquote(Path(page).stem)).replace("_", " ").split())
        name = next((n for n in (stem[:1].upper() + stem[1:], title) if n in theirs), None)
        if name and name not in matched.values():
            matched[title] = name
    back = {name: address[title] for title, name in matched.items()}
    ours = {(matched[a], matched[b]) for a, b in html_pairs if a in matched and b in matched}
    known = {(a, b) for a, b in dump_pairs if a in back and b in back}
    texts, reasons = wikitexts(dump), Counter[str]()
    parsed: tuple[str, Any] = ("", None)
    for home, away in sorted(ours ^ known):
        if parsed[0] != home:
            parsed = home, html.parse(back[home], Counter())
        where = place(html, parsed[1], back[home], back[away])
        written = re.search(rf"\[\[\s*{re.escape(away)}\s*[|\]#]", texts[home], re.IGNORECASE)
        side = "HTML" if (home, away) in ours else "dump"
        reason = f"only from {side}: {where} of the HTML, {'' if written else 'not '}in the wikitext"
        reasons[reason] += 1
        if reasons[reason] <= given.examples:
            print(f"{reason}: {home} -> {away}")
    results: dict[str, Any] = {
        "pages of HTML": len(address),
        "articles of the dump": len(dump_titles),
        "matched": len(back),
        "articles the same": len(back) / len(dump_titles),
        "links from HTML": len(ours),
        "links from the dump": len(known),
        "in both": len(ours & known),
        "links the same": len(ours & known) / len(ours | known),
        "of the dump's, from HTML": len(ours & known) / len(known),
        **dict(reasons.most_common()),
        "pages/s on one core": rate_of(html),
    }
    for name in sorted(theirs - set(back))[:20]:
        print(f"not matched: {name}")
    report("html_and_dump", {"folder": given.folder.name, "dump": given.dump.name}, results, given.json)


if __name__ == "__main__":
    main()
