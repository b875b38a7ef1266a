"""A later edition of a wiki, made from its dump: what some years of editing do, by chance that follows from titles.

python runs/later_edition.py DUMP.xml[.bz2] OUT.xml[.bz2] [--seed 1]
linkwalk build OUT.xml.bz2 -o NEW
linkwalk embed NEW --encoder OLD/embeddings/trained-words
linkwalk eval NEW --agent OLD/policies/trained-words --goals withheld

Of a hundred articles four are deleted, and of those with sections ten lose one to an article of its own, which they
then link to. In thirty of a hundred one paragraph is dropped and another one moved. Of all links five in a hundred
become plain words, and three lead to where another link of the page leads. The same dump and seed give the same text.
"""

import argparse
import bz2
import random
import re
from collections import Counter
from pathlib import Path
from typing import IO
from zlib import crc32

PAGE = re.compile(r"  <page>.*?</page>\n", re.DOTALL)
TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
TEXT = re.compile(r"(<text\b[^>]*>)(.*?)(</text>)", re.DOTALL)
LINK = re.compile(r"\[\[([^\[\]|:]+)(?:\|([^\[\]]*))?\]\]")
SECTION = re.compile(r"^== ([^=\n]+) ==\n(.*?)(?=^== |\Z)", re.MULTILINE | re.DOTALL)
LONG_ENOUGH = 600  # letters of a section that can be an article


def edited(page: str, seed: int, counts: Counter[str]) -> str:
    """A page of the first edition as pages of the second: none, itself changed, or two."""
    title, text = TITLE.search(page), TEXT.search(page)
    if title is None or text is None or text[2].lstrip().lower().startswith("#redirect"):
        return page
    chance = random.Random(crc32(f"{seed} {title[1]}".encode()))
    if chance.random() < 0.04:
        counts["deleted"] += 1
        return ""
    body, new = text[2], ""
    sections = [found for found in SECTION.finditer(body) if len(found[2]) > LONG_ENOUGH]
    if sections and chance.random() < 0.1:
        moved = chance.choice(sections)
        name = f"{title[1]} ({moved[1].strip().lower()})"
        body = f"{body[: moved.start(2)]}\nSee [[{name}]].\n\n{body[moved.end(2) :]}"
        new = page.replace(title[0], f"<title>{name}</title>", 1).replace(
            text[2], relinked(moved[2], chance, counts), 1
        )
        counts["split"] += 1
    if chance.random() < 0.3:
        body = with_paragraphs_moved(body, chance)
        counts["paragraphs changed"] += 1
    body = relinked(body, chance, counts)
    return page[: text.start(2)] + body + page[text.end(2) :] + new


def with_paragraphs_moved(body: str, chance: random.Random) -> str:
    """One paragraph is dropped, another one moved to another place."""
    parts = body.split("\n\n")
    prose = [i for i, part in enumerate(parts) if len(part) > 150 and part[0] not in "={|[*#"]
    if len(prose) < 4:
        return body
    dropped, moved, to = chance.sample(prose[1:], 3)
    parts[to] = f"{parts[to]}\n\n{parts[moved]}"
    return "\n\n".join(part for i, part in enumerate(parts) if i not in (dropped, moved))


def relinked(body: str, chance: random.Random, counts: Counter[str]) -> str:
    """Some links become plain words, some lead elsewhere."""
    targets = [link[1] for link in LINK.finditer(body)]

    def change(link: re.Match[str]) -> str:
        drawn, words = chance.random(), link[2] or link[1]
        if drawn < 0.05:
            counts["links removed"] += 1
            return words
        if drawn < 0.08:
            counts["links changed"] += 1
            return f"[[{chance.choice(targets)}|{words}]]"
        return link[0]

    return LINK.sub(change, body)


def opened(path: Path, mode: str) -> IO[str]:
    """A file of text, packed where its name says so."""
    if path.suffix == ".bz2":
        return bz2.open(path, mode + "t", encoding="utf-8")  # type: ignore[return-value]
    return path.open(mode, encoding="utf-8")


def main() -> None:
    """Read, edit, write, count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dump", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    with opened(arguments.dump, "r") as file:
        text = file.read()
    with opened(arguments.out, "w") as file:
        file.write(PAGE.sub(lambda page: edited(page[0], arguments.seed, counts), text))
    print(", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
