"""The second edition, made from the first: what a year of editing does to a wiki, in small.

Articles are added (``second/``), deleted, and renamed with a redirect left behind; some articles gain a paragraph that
leads to the new ones; and by a rule that depends on the title alone, paragraphs are dropped, merged or moved.
"""

import re
from itertools import pairwise
from pathlib import Path
from zlib import crc32

HERE = Path(__file__).parent

DELETED = ("Salt", "Seed", "Ink", "Dam", "Punctuation", "Sorting algorithm")
RENAMED = {
    "Yangtze": "Yangtze River",
    "Volga": "Volga River",
    "Zero": "0 (number)",
    "Ship": "Sailing ship",
    "Honey bee": "Western honey bee",
}
#: Paragraphs that lead to the new articles: title -> paragraph put before the categories.
GROWN = {
    "Ocean current": "The best studied of them is the [[Gulf Stream]], which Benjamin Franklin had drawn on a chart.",
    "Norway": "That its harbours stay free of ice is owed to the last branches of the [[Gulf Stream]].",
    "Comet": "The most famous of those that come back is [[Halley's Comet]], seen again in 1986.",
    "Gravity": "The return of [[Halley's Comet]] in 1758, as foretold, was the theory's first public triumph.",
    "Atom": "The uncharged partner of the proton, the [[neutron]], was recognised last, in 1932.",
    "Uranium": "It is the [[neutron]]s set free by one splitting nucleus that split the next.",
    "Jazz": "No instrument is bound up with it more closely than the [[saxophone]].",
    "Flute": "The [[saxophone]], although made of brass, is a relative.",
    "DNA": "The photographs by [[Rosalind Franklin]] showed that the molecule is a helix.",
    "Virus": "[[Rosalind Franklin]] found how the parts of the tobacco mosaic virus fit together.",
    "Exploration": "In the Pacific, [[Polynesian navigation]] had found nearly every island long before.",
    "James Cook": "He learned from Tupaia how far [[Polynesian navigation]] reached.",
}


def second_edition(first: dict[str, str]) -> dict[str, str]:
    """Title -> wikitext of the second edition's pages."""
    pages = {}
    for title, text in first.items():
        if title in DELETED or _leads_to(text) in DELETED:
            continue
        if title in GROWN:
            text = _append(text, GROWN[title])
        elif _leads_to(text) is None:
            text = _edit(title, text)
        if title in RENAMED:
            pages[title] = f"#REDIRECT [[{RENAMED[title]}]]"
            title = RENAMED[title]
        pages[title] = text
    for path in sorted((HERE / "second").glob("*.wiki")):
        pages[path.stem.replace("_", " ")] = path.read_text()
    return pages


def _leads_to(text: str) -> str | None:
    """Where a redirect leads; None for other pages."""
    match = re.match(r"#REDIRECT \[\[([^\]#]+)", text)
    return match[1] if match else None


def _append(text: str, paragraph: str) -> str:
    """Put a paragraph at the end, before the categories."""
    body, mark, categories = text.partition("[[Category:")
    return f"{body.rstrip()}\n\n{paragraph}\n{mark}{categories}"


def _edit(title: str, text: str) -> str:
    """Drop, merge or move a paragraph of running text, in three articles out of eight."""
    parts = re.split(r"(\n\s*\n)", text)
    # Running paragraphs by position, the first one excepted; separators stand between them.
    prose = [
        i for i in range(2, len(parts), 2) if re.match(r"[\w'\"]", parts[i]) and "[[Category:" not in parts[i]
    ]
    change = crc32(title.encode()) % 8
    if len(prose) >= 3 and change == 0:
        del parts[prose[-1] - 1 : prose[-1] + 1]
    elif len(prose) >= 2 and change == 1:
        a, b = prose[0], prose[1]
        parts[a], parts[b] = parts[b], parts[a]
    elif change == 2:
        for a, b in pairwise(prose):
            if b == a + 2:
                parts[a : b + 1] = [f"{parts[a]} {parts[b]}"]
                break
    return "".join(parts)
