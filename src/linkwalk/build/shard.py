"""A piece of a source becomes a shard: its articles as blocks, with what the later stages need to link them.

Shards are plain ``.npz`` files. They are cut wherever the source was; what they hold is concatenated in order,
so the graph does not depend on where the cuts were, nor on which worker made which shard.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwalk.artifact import is_whole, parsing, to_json, write_piece
from linkwalk.build.blocks import cut_blocks
from linkwalk.build.entities.persons import surname
from linkwalk.graph.store import name_key
from linkwalk.sources.documents import Document, Wikitext, mend, tidy
from linkwalk.sources.select import (
    REASONS,
    reason_by_source,
    reason_by_text,
    reason_by_title,
    redirect_target,
)
from linkwalk.sources.source import Source
from linkwalk.sources.wikitext.scanner import LinkSpan, Scan, ScanOptions, scan
from linkwalk.sources.wikitext.site import ARTICLE, Site

Arrays = dict[str, NDArray[Any]]

#: An anchor longer than this is a broken link, not something one clicks.
_MAX_ANCHOR_CHARS = 500
_NO_FRAGMENT = _NO_PAGE = 0
AGAIN = "run the same command again, which makes it anew"
"""What to do about a shard that was damaged while it was worked on."""


@dataclass(frozen=True, kw_only=True)
class ExtractConfig:
    """How pages become blocks."""

    block_words: int = 100
    min_chars: int = 20
    """Pages with less text are left out: what is shorter is a name, the shortest sentence is longer."""
    prose_only: bool = False
    keep_tables: bool = False
    keep_list_pages: bool = False


def section_key(fragment: str) -> int:
    """64-bit key of a section's name as a link's ``#fragment`` writes it; 0 stands for none."""
    return (
        name_key(" ".join(fragment.replace("_", " ").split()).casefold())
        if fragment.strip()
        else _NO_FRAGMENT
    )


def extract(source: Source, piece: Any, config: ExtractConfig) -> Arrays:
    """Read a piece of a source and cut its articles into blocks."""
    return _Extractor(source.site, config).run(source, piece)


class _Extractor:
    """Collects the columns of one shard."""

    def __init__(self, site: Site, config: ExtractConfig) -> None:
        self.site, self.config = site, config
        self.options = ScanOptions(keep_tables=config.keep_tables, prose_only=config.prose_only)
        self.pages: Counter[str] = Counter()
        self.damage: Counter[str] = Counter()
        self.links: Counter[str] = Counter()
        self.contents: Counter[str] = Counter()  # links of tables of contents
        self.newest = ""
        self.titles: list[str] = []
        self.addresses: list[str] = []  # what links call an article where that is not its title, else empty
        self.parents: list[int] = []  # keys of the pages above, or 0
        self.is_contents: list[bool] = []  # whether an article's links are a table of contents
        self.article_blocks: list[int] = []
        self.surnames: list[str] = []  # of the person an article is about, else empty
        self.redirects: list[str] = []
        self.redirect_keys: list[int] = []
        self.redirect_fragments: list[int] = []
        self.skipped_keys: list[int] = []
        self.skipped_reasons: list[int] = []
        self.skipped_parents: list[int] = []
        self.texts: list[bytes] = []
        self.block_number: list[int] = []
        self.block_section: list[int] = []
        self.sections: list[str] = []
        self.sentence_counts: list[int] = []
        self.sentence_ends: list[int] = []
        self.anchors: list[tuple[int, int, int]] = []  # article, section key, block: where a #fragment lands
        self.link_rows: list[
            tuple[int, int, int, int, int]
        ] = []  # block, start, end, target key, fragment key
        self.keys: dict[str, int] = {}  # targets repeat: hash each spelling once per shard

    def run(self, source: Source, piece: Any) -> Arrays:
        for document in source.documents(piece, self.damage):
            self.pages["read"] += 1
            self.newest = max(self.newest, document.timestamp)
            reason = self.add(document)
            self.pages[reason or "kept"] += 1
        return self.columns()

    def add(self, document: Document | Wikitext) -> str | None:
        """Add one document; one that is left out says why."""
        found = self.scan(document) if isinstance(document, Wikitext) else self.take(document)
        if not isinstance(found, str):
            listed = (
                isinstance(document, Document) and document.contents
            )  # a list of two pages is short, and needed
            least = 1 if listed else self.config.min_chars
            found = reason_by_text(found.text, min_chars=least, wiki=not self.site.literal) or found
        address, parent, is_contents = "", _NO_PAGE, False
        if isinstance(document, Document):
            address, is_contents = document.address, document.contents
            parent = self.key(document.parent) if document.parent else _NO_PAGE
        if not isinstance(found, str):
            self.parents.append(parent)
            self.is_contents.append(is_contents)
            self.add_article(document.title, address, found)
            if is_contents:
                self.contents.update({f"link: {reason}": count for reason, count in found.counts.items()})
            else:
                self.links.update(found.counts)
            return None
        if found != "redirect" and not (isinstance(document, Wikitext) and document.namespace):
            keys = [name_key(document.title)] + ([self.key(address)] if address else [])
            self.skipped_keys += keys
            self.skipped_reasons += [REASONS.index(found)] * len(keys)
            self.skipped_parents += [parent] * len(keys)
        return found

    def scan(self, page: Wikitext) -> Scan | str:
        """A page of wikitext as plain text, or why it is left out."""
        page.title = self.site.normalise(page.title)
        if page.namespace == 0 and (target := redirect_target(page)):
            name, _, fragment = target.partition("#")
            self.add_redirect(page.title, name, fragment)
            return "redirect"
        reason = reason_by_source(page, keep_lists=self.config.keep_list_pages)
        return reason or scan(page.text, self.site, self.options)

    def take(self, document: Document) -> Scan | str:
        """A document as it is but for its white space, or why it is left out."""
        mend(document, self.damage)
        document.title = self.site.normalise(document.title)
        if document.redirect is not None:
            for name in filter(None, (document.title, self.site.normalise(document.address))):
                self.add_redirect(name, document.redirect, document.redirect_fragment)
            return "redirect"
        if not document.title:
            return "no title"
        if self.site.literal:
            return tidy(document)
        reason = reason_by_title(document.title, keep_lists=self.config.keep_list_pages)
        return reason or tidy(document)

    def add_redirect(self, title: str, target: str, fragment: str) -> None:
        self.redirects.append(title)
        self.redirect_keys.append(self.key(target))
        self.redirect_fragments.append(section_key(fragment))

    def key(self, target: str) -> int:
        """Key of the page a link names."""
        key = self.keys.get(target)
        if key is None:
            kind, plain = self.site.classify(target)
            key = self.keys[target] = name_key(self.site.normalise(plain if kind == ARTICLE else target))
        return key

    def add_article(self, title: str, address: str, found: Scan) -> None:
        too_long = sum(link.end - link.start > _MAX_ANCHOR_CHARS for link in found.links)
        if too_long:
            found.counts["anchor too long"] = found.counts.get("anchor too long", 0) + too_long
            found.links = [link for link in found.links if link.end - link.start <= _MAX_ANCHOR_CHARS]
        blocks = cut_blocks(found, self.config.block_words)
        article, first = len(self.titles), len(self.texts)
        self.titles.append(title)
        self.addresses.append(address)
        self.article_blocks.append(len(blocks))
        self.surnames.append(surname(title, found.text[:1000]) or "")
        section = None
        for number, block in enumerate(blocks):
            if block.section != section:
                section = block.section
                if section:
                    self.sections.append(section)
            self.block_section.append(len(self.sections) if section else 0)
            self.block_number.append(number)
            self.add_block(
                found.text[block.start : block.end], block.sentence_ends, block.links, address or title
            )
        at = 0
        for heading in found.headings:
            while at + 1 < len(blocks) and blocks[at].end <= heading.offset:
                at += 1
            if key := section_key(heading.anchor or heading.title):
                self.anchors.append((article, key, first + at))

    def add_block(self, text: str, ends: list[int], links: list[LinkSpan], name: str) -> None:
        row = len(self.texts)
        encoded = text.encode()
        self.texts.append(encoded)
        self.sentence_counts.append(len(ends))
        place: dict[int, int] = {}
        if len(encoded) != len(text):  # characters to bytes, for just the offsets that are needed
            at = size = 0
            for offset in sorted({*ends, *(link.start for link in links), *(link.end for link in links)}):
                size += len(text[at:offset].encode())
                at, place[offset] = offset, size
        self.sentence_ends += [place.get(end, end) for end in ends]
        for link in links:
            key = self.key(link.target or name)
            self.link_rows.append(
                (
                    row,
                    place.get(link.start, link.start),
                    place.get(link.end, link.end),
                    key,
                    section_key(link.fragment) if link.fragment else _NO_FRAGMENT,
                )
            )

    def columns(self) -> Arrays:
        links = np.array(self.link_rows, np.uint64).reshape(-1, 5)
        anchors = np.array(self.anchors, np.uint64).reshape(-1, 3)
        report = {
            "pages": self.pages,
            "damage": self.damage,
            "links": self.links,
            "contents": self.contents,
            "newest": self.newest,
        }
        return {
            "report": _bytes(to_json(report)),
            **_strings("titles", [title.encode() for title in self.titles]),
            "title_keys": _keys(self.titles),
            **_strings("addresses", [address.encode() for address in self.addresses]),
            "address_keys": np.array([self.key(a) if a else _NO_PAGE for a in self.addresses], np.uint64),
            "parent_keys": np.array(self.parents, np.uint64),
            "is_contents": np.array(self.is_contents, np.bool_),
            "article_blocks": np.array(self.article_blocks, np.int32),
            **_strings("surnames", [name.encode() for name in self.surnames]),
            **_strings("redirects", [title.encode() for title in self.redirects]),
            "redirect_from": _keys(self.redirects),
            "redirect_to": np.array(self.redirect_keys, np.uint64),
            "redirect_fragment": np.array(self.redirect_fragments, np.uint64),
            "skipped_keys": np.array(self.skipped_keys, np.uint64),
            "skipped_reasons": np.array(self.skipped_reasons, np.uint8),
            "skipped_parents": np.array(self.skipped_parents, np.uint64),
            **_strings("text", self.texts),
            "block_number": np.array(self.block_number, np.int32),
            "block_section": np.array(self.block_section, np.int32),
            **_strings("sections", [section.encode() for section in self.sections]),
            "sentence_counts": np.array(self.sentence_counts, np.int32),
            "sentence_ends": np.array(self.sentence_ends, np.uint16),
            "anchor_article": anchors[:, 0].astype(np.int32),
            "anchor_key": anchors[:, 1],
            "anchor_block": anchors[:, 2].astype(np.int32),
            "link_block": links[:, 0].astype(np.int32),
            "link_span": links[:, 1:3].astype(np.uint16),
            "link_key": links[:, 3],
            "link_fragment": links[:, 4],
        }


def _bytes(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)


def _keys(names: list[str]) -> NDArray[np.uint64]:
    return np.fromiter(map(name_key, names), np.uint64, len(names))


def _strings(name: str, encoded: list[bytes]) -> Arrays:
    """A string column of a shard: one blob and the lengths."""
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return {name: _bytes(b"".join(encoded)), f"{name}_lengths": lengths}


def shard_strings(shard: Arrays, name: str) -> list[str]:
    """Decode a string column of a shard."""
    blob, at, strings = shard[name].tobytes(), 0, []
    for length in shard[f"{name}_lengths"].tolist():
        strings.append(blob[at : at + length].decode())
        at += length
    return strings


def drop_articles(shard: Arrays, stay: NDArray[np.bool_]) -> Arrays:
    """A shard without some of its articles, their blocks, sections and links; its report counts them as duplicates."""
    counts = shard["article_blocks"]
    block_stays = np.repeat(stay, counts)
    article_number, block_number = np.cumsum(stay) - 1, np.cumsum(block_stays) - 1
    titles, addresses, surnames = (
        [t.encode() for t, s in zip(shard_strings(shard, name), stay.tolist(), strict=True) if s]
        for name in ("titles", "addresses", "surnames")
    )
    bounds = np.concatenate(([0], np.cumsum(shard["text_lengths"])))
    text = shard["text"].tobytes()
    texts = [text[bounds[i] : bounds[i + 1]] for i in np.flatnonzero(block_stays).tolist()]
    # Sections are numbered from 1 in the order their blocks come; those left are renumbered the same way.
    used = np.unique(shard["block_section"][block_stays])
    sections = shard_strings(shard, "sections")
    anchor_stays, link_stays = stay[shard["anchor_article"]], block_stays[shard["link_block"]]
    report = json.loads(shard["report"].tobytes())
    dropped = int((~stay).sum())
    report["pages"]["kept"] -= dropped
    report["pages"]["duplicate title"] = report["pages"].get("duplicate title", 0) + dropped
    with_lead = np.union1d([0], used)
    return {
        **shard,
        "report": _bytes(to_json(report)),
        **_strings("titles", titles),
        "title_keys": shard["title_keys"][stay],
        **_strings("addresses", addresses),
        "address_keys": shard["address_keys"][stay],
        "parent_keys": shard["parent_keys"][stay],
        "is_contents": shard["is_contents"][stay],
        "article_blocks": counts[stay],
        **_strings("surnames", surnames),
        **_strings("text", texts),
        "block_number": shard["block_number"][block_stays],
        "block_section": np.searchsorted(with_lead, shard["block_section"][block_stays]).astype(np.int32),
        **_strings("sections", [sections[i - 1].encode() for i in used.tolist() if i > 0]),
        "sentence_counts": shard["sentence_counts"][block_stays],
        "sentence_ends": shard["sentence_ends"][np.repeat(block_stays, shard["sentence_counts"])],
        "anchor_article": article_number[shard["anchor_article"][anchor_stays]].astype(np.int32),
        "anchor_key": shard["anchor_key"][anchor_stays],
        "anchor_block": block_number[shard["anchor_block"][anchor_stays]].astype(np.int32),
        "link_block": block_number[shard["link_block"][link_stays]].astype(np.int32),
        "link_span": shard["link_span"][link_stays],
        "link_key": shard["link_key"][link_stays],
        "link_fragment": shard["link_fragment"][link_stays],
    }


def tell_apart(shard: Arrays, shared: NDArray[np.bool_]) -> Arrays:
    """A shard in which articles that share their title with others have their address behind it."""
    rows = zip(
        shard_strings(shard, "titles"), shard_strings(shard, "addresses"), shared.tolist(), strict=True
    )
    titles = [f"{title} ({address})" if renamed else title for title, address, renamed in rows]
    return {**shard, **_strings("titles", [title.encode() for title in titles]), "title_keys": _keys(titles)}


def save(path: Path, arrays: Arrays) -> None:
    """Write a shard so that it is there whole or not at all."""
    write_piece(path, lambda file: np.savez(file, allow_pickle=False, **arrays))


def load(path: Path) -> Arrays:
    """Read a shard."""
    with parsing(path, AGAIN), np.load(path, allow_pickle=False) as file:
        return dict(file.items())


def load_column(path: Path, name: str) -> NDArray[Any]:
    """Read one column of a shard."""
    with parsing(path, AGAIN), np.load(path, allow_pickle=False) as file:
        column: NDArray[Any] = file[name]
        return column


def finished(folder: Path, name: str) -> set[int]:
    """Numbers of the shards of one stage that are whole; one that is damaged is as good as missing."""
    pattern = re.compile(rf"{name}-(\d+)\.npz")
    found = ((path, pattern.fullmatch(path.name)) for path in folder.iterdir())
    return {int(match[1]) for path, match in found if match and is_whole(path)}
