"""The wikitext scanner's speed, next to gensim's ``filter_wiki`` and mwparserfromhell's parser.

All read the same genuine pages in one process on one core. gensim's filter drops markup by regular
expressions and keeps no links; mwparserfromhell builds a tree and renders nothing. Repetitions are
interleaved, and the best counts.
"""

import argparse
import bz2
import html
import re
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import mwparserfromhell
from gensim.corpora.wikicorpus import filter_wiki

from linkwalk.sources.site import Site
from linkwalk.sources.wikitext.scanner import scan
from report import report

ARCHIVE = Path(__file__).parents[2] / "shared" / "data" / "genuine-dump-samples.tar.xz"


def genuine_pages(archive: Path) -> list[str]:
    """The wikitext of every page in the main namespace that is no redirect."""
    pages = []
    with tarfile.open(archive) as members:
        for member in members:
            stream = members.extractfile(member)
            if stream is None:
                continue
            data = stream.read()
            dump = (bz2.decompress(data) if member.name.endswith(".bz2") else data).decode("utf-8", "replace")
            names = set(re.findall(r'<namespace key="-?[1-9]\d*"[^>/]*>([^<]+)<', dump))
            for page in re.findall(r"<page>(.*?)</page>", dump, re.DOTALL):
                title = re.search(r"<title>(.*?)</title>", page)
                text = re.search(r"<text[^>]*>(.*?)</text>", page, re.DOTALL)
                if title is None or text is None or title[1].partition(":")[0] in names:
                    continue
                wikitext = html.unescape(text[1])
                if not wikitext.lstrip().lower().startswith("#redirect"):
                    pages.append(wikitext)
    return pages


def seconds(work: Callable[[str], object], pages: list[str]) -> float:
    begin = time.perf_counter()
    for page in pages:
        work(page)
    return time.perf_counter() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--archive", type=Path, default=ARCHIVE, help="tar archive of MediaWiki dumps")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions, of which the best counts")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    if not options.archive.exists():
        print(f"no dumps at {options.archive}", file=sys.stderr)
        return 1
    pages = genuine_pages(options.archive)
    size = sum(len(page.encode()) for page in pages)
    site = Site()
    works: dict[str, Callable[[str], object]] = {
        "linkwalk scan": lambda page: scan(page, site),
        "gensim filter_wiki": filter_wiki,
        "mwparserfromhell parse": mwparserfromhell.parse,
    }
    best = dict.fromkeys(works, float("inf"))
    for _ in range(options.repeat):
        for name, work in works.items():
            best[name] = min(best[name], seconds(work, pages))
    rates = {name: size / 1e6 / spent for name, spent in best.items()}
    results = {f"{name}, MB/s": rate for name, rate in rates.items()}
    results["ratio to gensim"] = rates["linkwalk scan"] / rates["gensim filter_wiki"]
    sizes = {"pages": len(pages), "wikitext_mb": size / 1e6, "best_of": options.repeat}
    report("scanner", sizes, results, options.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
