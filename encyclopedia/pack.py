"""Packs the encyclopedia's sources into the two MediaWiki exports that ship with the package.

python encyclopedia/pack.py            writes src/linkwalk/shipped/encyclopedia.xml.bz2 and encyclopedia-2.xml.bz2

Sources: one wikitext file per article in a folder per subject, ``redirects.tsv`` beside them, and pages that are no
articles (a disambiguation page, lists) in ``pages``. The second edition is made from the first by ``edition.py``. The
same sources give the same bytes.
"""

import bz2
import json
import re
from pathlib import Path
from xml.sax.saxutils import escape

from edition import second_edition

HERE = Path(__file__).parent
TARGET = HERE.parent / "src" / "linkwalk" / "shipped"
NAMESPACES = {6: "File", 10: "Template", 14: "Category"}
#: Folders that hold no subject.
OTHER = {"pages", "second", "__pycache__"}


def subjects() -> list[Path]:
    """The folders of the subjects."""
    return sorted(path for path in HERE.iterdir() if path.is_dir() and path.name not in OTHER)


def title_of(path: Path) -> str:
    """The title a source file's name stands for."""
    return path.stem.replace("_", " ")


def first_edition() -> dict[str, str]:
    """Title -> wikitext of every page in the main namespace, redirects included."""
    pages = {
        title_of(path): path.read_text()
        for folder in [*subjects(), HERE / "pages"]
        for path in folder.glob("*.wiki")
    }
    for folder in subjects():
        for line in (folder / "redirects.tsv").read_text().splitlines():
            name, target = line.split("\t")
            pages.setdefault(name, f"#REDIRECT [[{target}]]")
    return pages


def with_other_namespaces(pages: dict[str, str]) -> list[tuple[str, int, str]]:
    """The pages, and the categories and templates they use, as (title, namespace, text) in the order of a dump."""
    text = "\n".join(pages.values())
    categories = sorted(set(re.findall(r"\[\[Category:([^\]|]+)", text)))
    templates = sorted({name.strip() for name in re.findall(r"\{\{\s*([A-Z][^|{}\n<]*)", text)})
    rows = [(title, 0, page) for title, page in sorted(pages.items())]
    rows += [(f"Template:{name}", 10, "<includeonly>{{{1|}}}</includeonly>") for name in templates]
    rows += [(f"Category:{name}", 14, f"Articles about {name.lower()}.") for name in categories]
    return rows


def to_xml(pages: dict[str, str], name: str, date: str) -> str:
    """A MediaWiki export."""
    lines = [
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">',
        f"  <siteinfo>\n    <sitename>{name}</sitename>\n    <dbname>linkwalkdemo</dbname>",
        "    <case>first-letter</case>\n    <namespaces>",
        '      <namespace key="0" case="first-letter" />',
        *(
            f'      <namespace key="{key}" case="first-letter">{name}</namespace>'
            for key, name in NAMESPACES.items()
        ),
        "    </namespaces>\n  </siteinfo>",
    ]
    for number, (title, namespace, text) in enumerate(with_other_namespaces(pages), 1):
        redirect = re.match(r"#REDIRECT \[\[([^\]#]+)", text)
        lines += [
            f"  <page>\n    <title>{escape(title)}</title>\n    <ns>{namespace}</ns>\n    <id>{number}</id>",
            *([f'    <redirect title="{escape(redirect[1], {chr(34): "&quot;"})}" />'] if redirect else []),
            f"    <revision>\n      <id>{number}</id>\n      <timestamp>{date}T00:00:00Z</timestamp>",
            "      <model>wikitext</model>\n      <format>text/x-wiki</format>",
            f'      <text xml:space="preserve">{escape(text.strip())}</text>\n    </revision>\n  </page>',
        ]
    return "\n".join([*lines, "</mediawiki>", ""])


def questions_and_claims() -> dict[str, list[dict[str, object]]]:
    """The claims and questions of all subjects, together."""
    return {
        name: [
            json.loads(line)
            for folder in subjects()
            for line in (folder / f"{name}.jsonl").read_text().splitlines()
            if line.strip()
        ]
        for name in ("claims", "questions")
    }


def main() -> None:
    """Write both editions, and the claims and questions."""
    first = first_edition()
    for name, pages, title, date in (
        ("encyclopedia", first, "Linkwalk Encyclopedia", "2026-01-01"),
        ("encyclopedia-2", second_edition(first), "Linkwalk Encyclopedia, second edition", "2027-01-01"),
    ):
        packed = bz2.compress(to_xml(pages, title, date).encode())
        (TARGET / f"{name}.xml.bz2").write_bytes(packed)
        print(f"{name}: {len(pages):,} pages, {len(packed) / 1000:.0f} KB")
    for name, rows in questions_and_claims().items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (TARGET / f"{name}.jsonl").write_text(text)
        print(f"{name}: {len(rows)}")


if __name__ == "__main__":
    main()
