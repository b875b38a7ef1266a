"""Stage 1, "read": a piece of a source becomes a shard, its articles as blocks, with what it takes to link them later.

Columns of a shard are called by what their rows are: articles, redirects, pages left out (skipped), blocks, sections
(a block's section counts from 1, 0 is none), tags and which article has which (taggings), sentences, anchors (where a
``#fragment`` lands), links.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.arrays import Bools
from linkwalk.build.blocks import cut_blocks
from linkwalk.build.entities.anchors import surname
from linkwalk.build.shards import keys_of, report_column, save, string_column, strings_in
from linkwalk.build.tables import Arrays
from linkwalk.graph.store import name_key
from linkwalk.sources.documents import Counts, Document, LinkSpan, Scan, Wikitext, mend, tidy
from linkwalk.sources.labels import day_of, distinct_tags
from linkwalk.sources.select import (
    REASONS,
    reason_by_source,
    reason_by_text,
    reason_by_title,
    redirect_target,
)
from linkwalk.sources.site import ARTICLE, Site
from linkwalk.sources.source import Source
from linkwalk.sources.wikitext.scanner import scan

#: An anchor longer than this is a broken link, not something one clicks.
MAX_ANCHOR_CHARS = 500
_NO_FRAGMENT = _NO_PAGE = 0
_COLUMNS = {
    "article": "title key:u8 address address_key:u8 parent:u8 is_contents:? blocks:i4 surname date:i4 tags:i4",
    "redirect": "title from:u8 to:u8 fragment:u8",
    "skipped": "key:u8 reason:u1 parent:u8",
    "block": "text number:i4 section:i4 sentences:i4",
    "section": "title",
    "tag": "name",
    "tagging": "tag:i4",
    "sentence": "end:u2",
    "anchor": "article:i4 key:u8 block:i4",
    "link": "block:i4 start:u2 end:u2 key:u8 fragment:u8",
}
"""What every row has, strings or numbers of a type. An article's address is what links call it where that is not its
title, else empty; its parent is the key of the page above, or 0; it is contents where its links are a table of
contents; its surname is that of the person it is about, else empty; its tags are as many of the taggings, which
number the shard's tags."""


@dataclass(frozen=True, kw_only=True)
class ExtractConfig:
    """How pages become blocks."""

    block_words: int = 100
    min_chars: int = 20
    """Pages with less text are left out: what is shorter is a name, the shortest sentence is longer."""
    prose_only: bool = False
    keep_tables: bool = False
    keep_list_pages: bool = False


def read_shard(folder: Path, number: int, source: Source, piece: Any, config: ExtractConfig) -> None:
    """Read a piece of a source and cut its articles into blocks."""
    save(folder, "shard", number, extract(source, piece, config))


def extract(source: Source, piece: Any, config: ExtractConfig) -> Arrays:
    """The columns of a piece."""
    return _Extractor(source, config).run(piece)


def section_key(fragment: str) -> int:
    """64-bit key of a section's name as a link's ``#fragment`` writes it; 0 stands for none."""
    if not fragment.strip():
        return _NO_FRAGMENT
    return name_key(" ".join(fragment.replace("_", " ").split()).casefold())


def target_key(site: Site, target: str) -> int:
    """64-bit key of the page that a link's target names."""
    kind, plain = site.classify(target)
    return name_key(site.normalise(plain if kind == ARTICLE else target))


class _Extractor:
    """Collects the rows of one shard."""

    def __init__(self, source: Source, config: ExtractConfig) -> None:
        self.source, self.site, self.config = source, source.site, config
        self.report: defaultdict[str, Counts] = defaultdict(Counter)
        self.rows: dict[str, list[tuple[Any, ...]]] = {group: [] for group in _COLUMNS}
        self.keys: dict[str, int] = {}  # targets repeat: hash each spelling once per shard
        self.tags: set[str] = set()

    def run(self, piece: Any) -> Arrays:
        pages, newest = self.report["pages"], ""
        for document in self.source.documents(piece, self.report["damage"]):
            pages["read"] += 1
            newest = max(newest, document.timestamp)
            pages[self.add(document) or "kept"] += 1
        number = {tag: at for at, tag in enumerate(sorted(self.tags))}
        self.rows["tag"] = [(tag,) for tag in number]
        self.rows["tagging"] = [(number[tag],) for (tag,) in self.rows["tagging"]]
        columns = {"report": report_column({**self.report, "newest": newest})}
        for group, fields in _COLUMNS.items():
            for at, field in enumerate(fields.split()):
                name, _, kind = f"{group}_{field}".partition(":")
                values = [row[at] for row in self.rows[group]]
                columns |= {name: np.array(values, kind)} if kind else string_column(name, values)
        return columns

    def add(self, document: Document | Wikitext) -> str | None:
        """Add one document; one that is left out says why."""
        if isinstance(document, Wikitext):
            found, address, above, is_contents = self.scan(document), "", "", False
            date = document.timestamp
        else:
            found = self.take(document)
            address, above, is_contents = document.address, document.parent, document.contents
            date = document.date or document.timestamp
        parent = self.key(above) if above else _NO_PAGE
        if isinstance(found, Scan):
            least = 1 if is_contents else self.config.min_chars  # a list of two pages is short, and needed
            reason = reason_by_text(found.text, min_chars=least, wiki=not self.site.literal)
            if reason is None:
                self.add_article(document.title, address, parent, is_contents, date, found)
                return None
        else:
            reason = found
        if reason != "redirect" and not (isinstance(document, Wikitext) and document.namespace):
            for key in [name_key(document.title)] + ([self.key(address)] if address else []):
                self.rows["skipped"].append((key, REASONS.index(reason), parent))
        return reason

    def scan(self, page: Wikitext) -> Scan | str:
        """A page of wikitext as plain text, or why it is left out."""
        page.title = self.site.normalise(page.title)
        if page.namespace == 0 and (target := redirect_target(page)):
            name, _, fragment = target.partition("#")
            self.add_redirect(page.title, name, fragment)
            return "redirect"
        config = self.config
        reason = reason_by_source(page, keep_lists=config.keep_list_pages)
        return reason or scan(
            page.text, self.site, keep_tables=config.keep_tables, prose_only=config.prose_only
        )

    def take(self, document: Document) -> Scan | str:
        """A document as it is but for its white space, or why it is left out."""
        mend(document, self.report["damage"])
        document.title = self.site.normalise(document.title)
        if document.redirect is not None:
            for name in filter(None, (document.title, self.site.normalise(document.address))):
                self.add_redirect(name, document.redirect, document.redirect_fragment)
            return "redirect"
        if not document.title:
            return "no title"
        reason = None
        if not self.site.literal:
            reason = reason_by_title(document.title, keep_lists=self.config.keep_list_pages)
        return reason or tidy(document)

    def add_redirect(self, title: str, target: str, fragment: str) -> None:
        self.rows["redirect"].append((title, name_key(title), self.key(target), section_key(fragment)))

    def key(self, target: str) -> int:
        """Key of the page a link names."""
        key = self.keys.get(target)
        if key is None:
            key = self.keys[target] = target_key(self.site, target)
        return key

    def add_article(
        self, title: str, address: str, parent: int, is_contents: bool, date: str, found: Scan
    ) -> None:
        rows = self.rows
        links = [link for link in found.links if link.end - link.start <= MAX_ANCHOR_CHARS]
        counts = Counter({**found.counts, "anchor too long": len(found.links) - len(links)})
        for reason, count in (+counts).items():
            self.report["contents" if is_contents else "links"]["link: " * is_contents + reason] += count
        found.links = links
        blocks = cut_blocks(found, self.config.block_words)
        article, first, section = len(rows["article"]), len(rows["block"]), ""
        for number, block in enumerate(blocks):
            if block.section and block.section != section:
                rows["section"].append((block.section,))
            section = block.section
            text = found.text[block.start : block.end]
            at = len(rows["section"]) if section else 0
            rows["block"].append((text, number, at, len(block.sentence_ends)))
            self.add_spans(text, block.sentence_ends, block.links, address or title)
        at = 0
        for heading in found.headings:
            while at + 1 < len(blocks) and blocks[at].end <= heading.offset:
                at += 1
            if key := section_key(heading.anchor or heading.title):
                rows["anchor"].append((article, key, first + at))
        person = surname(title, found.text[:1000]) or ""
        own = self.key(address) if address else _NO_PAGE
        tags, day = self.add_tags(found.tags), day_of(date)
        rows["article"].append(
            (title, name_key(title), address, own, parent, is_contents, len(blocks), person, day, tags)
        )

    def add_tags(self, written: Sequence[str]) -> int:
        """Add the tags of the next article, and say how many they are."""
        tags = distinct_tags(written)
        self.tags.update(tags)
        self.rows["tagging"] += [(tag,) for tag in tags]  # by name until all are known
        return len(tags)

    def add_spans(self, text: str, ends: list[int], links: list[LinkSpan], name: str) -> None:
        """Add the sentences and links of the last block, whose article links may leave unnamed."""
        is_ascii = text.isascii()

        def byte(offset: int) -> int:
            return offset if is_ascii else len(text[:offset].encode())

        self.rows["sentence"] += [(byte(end),) for end in ends]
        block = len(self.rows["block"]) - 1
        self.rows["link"] += [
            (
                block,
                byte(link.start),
                byte(link.end),
                self.key(link.target or name),
                section_key(link.fragment) if link.fragment else _NO_FRAGMENT,
            )
            for link in links
        ]


def drop_articles(shard: Arrays, stay: Bools) -> Arrays:
    """A shard without some of its articles, their blocks, sections and links; its report counts them as duplicates."""
    blocks = np.repeat(stay, shard["article_blocks"])
    sections = np.zeros(len(shard["section_title_lengths"]) + 1, np.bool_)
    sections[0] = True
    sections[shard["block_section"][blocks]] = True
    taggings = np.repeat(stay, shard["article_tags"])
    tags = np.zeros(len(shard["tag_name_lengths"]), np.bool_)
    tags[shard["tagging_tag"][taggings]] = True
    stays = {
        "article": stay,
        "tag": tags,
        "tagging": taggings,
        "block": blocks,
        "section": sections[1:],
        "sentence": np.repeat(blocks, shard["block_sentences"]),
        "anchor": stay[shard["anchor_article"]],
        "link": blocks[shard["link_block"]],
    }
    left = dict(shard)
    for name, column in shard.items():
        if (rows := stays.get(name.partition("_")[0])) is not None:
            lengths = shard.get(f"{name}_lengths")
            left[name] = column[rows if lengths is None else np.repeat(rows, lengths)]
    for name, rows in (
        ("anchor_article", stay),
        ("anchor_block", blocks),
        ("link_block", blocks),
        ("block_section", sections),
        ("tagging_tag", tags),
    ):
        left[name] = (np.cumsum(rows) - 1)[left[name]].astype(np.int32)
    report = json.loads(shard["report"].tobytes())
    dropped = int((~stay).sum())
    report["pages"]["kept"] -= dropped
    report["pages"]["duplicate title"] = report["pages"].get("duplicate title", 0) + dropped
    return {**left, "report": report_column(report)}


def tell_apart(shard: Arrays, shared: Bools) -> Arrays:
    """A shard in which articles that share their title with others have their address behind it."""
    titles = strings_in(shard, "article_title")
    addresses = strings_in(shard, "article_address")
    for row in np.flatnonzero(shared).tolist():
        titles[row] += f" ({addresses[row]})"
    return {**shard, **string_column("article_title", titles), "article_key": keys_of(titles)}
