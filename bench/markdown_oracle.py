"""Links of Markdown pages beside an oracle: GitHub's own parser for the Markdown, Beautiful Soup for the HTML it gives.

    python bench/markdown_oracle.py --pages 100 --seed 1 FOLDER...

The oracle says for every link of a page its address as written, the text that is shown, and which file of the folder it
leads to. Links agree where all three do; those that either side alone has count as apart.
"""

import argparse
import random
import re
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import cmarkgfm
from bs4 import BeautifulSoup, Tag
from cmarkgfm.cmark import Options

from linkwalk.sources.markdown.folder import Markdown
from linkwalk.sources.markdown.text import read_markdown
from linkwalk.sources.source import ReadConfig

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_KEPT = re.compile(r"<pre\b.*?</pre>|<!--.*?-->|<script\b.*?</script>|<code>[^<]*</code>(?!\]\()", re.DOTALL)
_IN_HTML = re.compile(
    r"(?<!!)\[((?:[^\[\]<>]|<[^<>]*>|\[[^\[\]]*\])*)\]\(([^()\s<>]*(?:\([^()\s]*\)[^()\s]*)*)\)"
)
_UNSEEN = ("pre", "script", "style", "template", "svg")
ELSEWHERE, EMPTY = "elsewhere", "\0"


class Seen(NamedTuple):
    """One link of a page."""

    href: str
    shown: str
    target: str


def oracle(text: str, page: Path, root: Path) -> list[Seen]:
    """A page's links as the oracle has them, in order."""
    body = _FRONT_MATTER.sub("", text)
    rendered = cmarkgfm.markdown_to_html_with_extensions(
        body, options=Options.CMARK_OPT_UNSAFE, extensions=["table"]
    )
    soup = BeautifulSoup(with_links(rendered), "html.parser")
    found = []
    for node in soup.find_all("a", href=True):
        if not node.find_parents(_UNSEEN):
            href = str(node["href"])
            found.append(Seen(unquote(href), shown_by(node, href), file_at(href, page, root)))
    return found


def with_links(rendered: str) -> str:
    """HTML in which links of Markdown are links that stand in blocks of HTML, where CommonMark leaves them alone."""
    parts, at = [], 0
    for kept in _KEPT.finditer(rendered):
        parts += [_IN_HTML.sub(as_link, rendered[at : kept.start()]), kept[0]]
        at = kept.end()
    return "".join([*parts, _IN_HTML.sub(as_link, rendered[at:])])


def as_link(found: re.Match[str]) -> str:
    """A link of Markdown as HTML, without emphasis and marks of code."""
    return f'<a href="{found[2]}">{re.sub("[*`]", "", found[1])}</a>'


def shown_by(link: Tag, href: str) -> str:
    """A link's words; without any, what its picture or its page is called."""
    if words := " ".join(link.get_text().split()):
        return words
    pictures = [" ".join(str(picture.get("alt", "")).split()) for picture in link.find_all("img")]
    return next(filter(None, reversed(pictures)), Path(urlsplit(href).path).stem)


def file_at(href: str, page: Path, root: Path) -> str:
    """The page of the folder that is at the other end of a link, or what else it is."""
    if not href or href.startswith("#"):
        return "page itself"
    path = unquote(href.partition("#")[0].partition("?")[0])
    place = root / path.lstrip("/") if path.startswith("/") else page.parent / path
    try:
        for file in (place.resolve(), place.resolve().with_name(place.name + ".md")):
            if file.is_file() and file.suffix == ".md":
                return str(file.relative_to(root))
    except (OSError, ValueError):
        return ELSEWHERE
    return "external" if urlsplit(href).scheme or href.startswith("//") else ELSEWHERE


def ours(source: Markdown, text: str, address: str) -> list[Seen]:
    """The same as the source has them."""
    text = _FRONT_MATTER.sub("", text)
    scan = read_markdown(
        text, lambda href: (href or EMPTY, ""), lambda name: (name, ""), ReadConfig(), Counter()
    )
    found = []
    for link in sorted(scan.links):
        href = link.target.removeprefix(EMPTY)
        target = source.vault.resolve(href, address)
        if isinstance(target, str):
            to = target if target in ("external", "page itself") else ELSEWHERE
        else:
            to = target[0] if target[0] in source.vault.known else ELSEWHERE if target[0] else "page itself"
        found.append(Seen(unquote(href), " ".join(scan.text[link.start : link.end].split()), to))
    return found


def apart(mine: list[Seen], theirs: list[Seen]) -> tuple[int, list[tuple[str, Seen]]]:
    """How many links agree, in order, and the others by whose they are."""
    blocks = SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks()
    same_mine = {i for block in blocks for i in range(block.a, block.a + block.size)}
    same_theirs = {i for block in blocks for i in range(block.b, block.b + block.size)}
    return len(same_mine), [
        *(("ours", link) for i, link in enumerate(mine) if i not in same_mine),
        *(("oracle", link) for i, link in enumerate(theirs) if i not in same_theirs),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--pages", type=int, default=100, help="pages of every folder")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--show", type=int, default=20, help="how many links that are apart to print")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    total: Counter[str] = Counter()
    for folder in given.folders:
        source, root = Markdown(folder), folder.resolve()
        counts: Counter[str] = Counter()
        for address in sorted(chance.sample(source.vault.pages, min(given.pages, len(source.vault.pages)))):
            text = (folder / address).read_text(encoding="utf-8-sig", errors="replace")
            agree, others = apart(ours(source, text, address), oracle(text, root / address, root))
            counts["agree"] += agree
            counts["ours alone"] += sum(whose == "ours" for whose, _ in others)
            counts["oracle alone"] += sum(whose == "oracle" for whose, _ in others)
            for whose, link in others[: max(0, given.show - total["printed"])]:
                print(f"{folder.name}/{address}: {whose}: {link}")
                total["printed"] += 1
        print(f"{folder.name}: {dict(counts)} {share(counts):.2%}")
        total += counts
    print(
        f"all: {share(total):.2%} of {total['agree'] + max(total['ours alone'], total['oracle alone']):,} links"
    )


def share(counts: Counter[str]) -> float:
    """Links that agree, of all that either side has; a link that both have and read differently is one."""
    return counts["agree"] / max(1, counts["agree"] + max(counts["ours alone"], counts["oracle alone"]))


if __name__ == "__main__":
    main()
