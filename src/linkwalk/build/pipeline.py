"""The stages of a build, in order: what the workers do with shards, and what is merged from all of them between.

Nothing here depends on where a source was cut or on which worker made which shard: columns are put together in the
shards' order, and merges sort by key.
"""

import functools
import json
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwalk.artifact import read_json, write_json
from linkwalk.build.assembly import write_shards
from linkwalk.build.contents import write_contents
from linkwalk.build.edges import link_edges, write_backlinks
from linkwalk.build.entities.anchors import (
    ANCHOR_FILES,
    Anchors,
    add_foreign_seen,
    foreign_pairs,
    merge_contexts,
    merge_pairs,
)
from linkwalk.build.entities.linker import admit
from linkwalk.build.entities.mentions import hash_table
from linkwalk.build.entities.relations import write_relations
from linkwalk.build.ledger import Ledger
from linkwalk.build.names import Names, first_of_each, write_names
from linkwalk.build.shard import (
    AGAIN,
    Arrays,
    ExtractConfig,
    drop_articles,
    finished,
    load,
    load_column,
    save,
    tell_apart,
)
from linkwalk.build.stages import (
    count_shard,
    extract_shard,
    path_of,
    resolve_shard,
)
from linkwalk.build.workers import WorkerPool
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.columns import map_array
from linkwalk.graph.store import Graph
from linkwalk.graph.writer import GraphWriter
from linkwalk.progress import Progress
from linkwalk.sources.source import Source


@dataclass(frozen=True, kw_only=True)
class BuildConfig:
    """What shapes the graph. How fast it is made (workers) is not part of it."""

    extract: ExtractConfig = field(default_factory=ExtractConfig)
    entity_links: bool = True
    contents: bool = True
    """Links up and down between pages that stand above one another."""
    backlinks: bool = False
    """For every link one the other way."""


class Build:
    """One build under way; the methods are its stages, in order."""

    def __init__(
        self,
        folder: Path,
        sources: Sequence[Source],
        config: BuildConfig,
        other: Graph | None,
        pool: WorkerPool,
        progress: Progress,
        hide: float = 0.0,
    ) -> None:
        self.folder, self.sources, self.config, self.other = folder, sources, config, other
        self.pool, self.progress, self.hide = pool, progress, hide
        self.ledger = Ledger()
        self.shards = 0

    def run(self, plan: dict[str, Any], *, strict: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """All stages; returns the manifest and the ledger."""
        self.prepare(strict=strict)
        config = self.config
        if config.backlinks:
            write_backlinks(self.folder, self.shards)
        self.each("link", "edges", link_edges, config.entity_links, config.contents, config.backlinks)
        return self.write(plan)

    def prepare(self, *, strict: bool) -> None:
        """Everything up to the tables that edges are made from."""
        self.read()
        self.read_reports()
        self.check_pages()
        self.name()
        self.check_damage(strict=strict)
        self.each("resolve", "links", resolve_shard, self.hide)
        if self.config.entity_links:
            self.pair()
            self.each("count", "counts", count_shard, self.linkless)
            self.weigh()

    # Stage 1: the sources are read once, in order, and cut into blocks by the workers.

    def read(self) -> None:
        """Read the sources once, in order; the workers cut them into blocks."""
        marker = self.folder / "read.json"
        ready = finished(self.folder, "shard")
        if _shards_read(marker) == len(ready):
            self.shards = len(ready)
            return
        size = size_of(self.sources) / 1e6
        reached: deque[float] = deque()

        with self.progress.stage("read", size, "MB") as stage:

            def tasks() -> Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]:
                consumed = 0
                for source in self.sources:
                    for piece, piece_size in source.pieces():
                        number = self.shards
                        self.shards += 1
                        consumed += piece_size
                        if number not in ready:
                            reached.append(consumed / 1e6)
                            yield extract_shard, (self.folder, number, source, piece, self.config.extract)

            self.pool.run(tasks(), lambda: stage.update(reached.popleft()))
            stage.update(size)
        write_json(marker, {"shards": self.shards})

    def column(self, stage: str, name: str) -> Iterator[NDArray[Any]]:
        """One column of every shard, in order."""
        for number in range(self.shards):
            yield load_column(path_of(self.folder, stage, number), name)

    def whole(self, stage: str, name: str) -> NDArray[Any]:
        """One column of all shards together."""
        return np.concatenate(list(self.column(stage, name)))

    def reports(self, stage: str) -> Iterator[dict[str, Any]]:
        """What the shards of a stage say of themselves."""
        for report in self.column(stage, "report"):
            yield json.loads(report.tobytes())

    def read_reports(self) -> None:
        """Enter what the reading has counted."""
        for report in self.reports("shard"):
            self.ledger.pages.update(report["pages"])
            self.ledger.links.update(report["links"])
            self.ledger.contents.update(report["contents"])
            self.ledger.damage.update(report["damage"])
            self.ledger.newest = max(self.ledger.newest, report["newest"])

    def check_pages(self) -> None:
        """Refuse sources without a usable page."""
        ledger, files = self.ledger, ", ".join(str(source.path) for source in self.sources)
        damage = ledger.damage_in_words()
        if not ledger.pages["read"]:
            raise InputError(
                f"{files}: no page could be read" + (f" ({damage})" if damage else ", the dump has none")
            )
        if not ledger.pages["kept"]:
            reasons = ", ".join(
                f"{n:,} {reason}" for reason, n in ledger.to_json()["pages"]["skipped"].items()
            )
            least = self.config.extract.min_chars
            why = f"a page of less than {least} characters is short, ask for fewer; or " * bool(
                ledger.pages["short"]
            )
            raise InputError(
                f"{files}: no page is an article ({reasons}): {why}see whether it is the right file"
            )

    def check_damage(self, *, strict: bool) -> None:
        """Say what was damaged; what no wiki lets happen, two pages of one title and redirects in a ring, is too."""
        ledger, files = self.ledger, ", ".join(str(source.path) for source in self.sources)
        ledger.damage["duplicate title"] += ledger.pages["duplicate title"]
        ledger.damage["redirect loop"] += ledger.redirects["redirect loop"]
        damage = ledger.damage_in_words()
        if damage and strict:
            raise InputError(f"{files}: damaged ({damage}), and the build is strict")
        if damage:
            self.progress.warn(f"damaged input: {damage}; the rest was kept, see graph/ledger.json")

    # Stage 2: titles and redirects of the whole.

    def name(self) -> None:
        """Number articles and blocks; index titles, redirects and sections."""
        self.drop_duplicates()
        articles = [len(keys) for keys in self.column("shard", "title_keys")]
        blocks = [len(numbers) for numbers in self.column("shard", "block_number")]
        article_base, node_base = np.cumsum([0, *articles]), np.cumsum([0, *blocks])
        counts = self.whole("shard", "article_blocks")
        np.save(self.folder / "article-base.npy", article_base)
        np.save(self.folder / "node-base.npy", node_base)
        np.save(self.folder / "article-node.npy", (np.cumsum(counts) - counts).astype(np.int32))
        outcomes = write_names(
            self.folder,
            titles=self.whole("shard", "title_keys"),
            addresses=self.whole("shard", "address_keys"),
            redirect_from=self.whole("shard", "redirect_from"),
            redirect_to=self.whole("shard", "redirect_to"),
            redirect_fragment=self.whole("shard", "redirect_fragment"),
            skipped=self.whole("shard", "skipped_keys"),
            skipped_reason=self.whole("shard", "skipped_reasons"),
            section_article=_shifted(self.column("shard", "anchor_article"), article_base),
            section_key=self.whole("shard", "anchor_key"),
            section_node=_shifted(self.column("shard", "anchor_block"), node_base),
        )[1]
        self.ledger.redirects.update(outcomes)
        parents = self.whole("shard", "parent_keys")
        above = self.whole("shard", "skipped_parents")
        wanted = parents if self.config.contents else np.zeros_like(parents)
        self.ledger.contents.update(
            write_contents(self.folder, wanted, self.whole("shard", "skipped_keys"), above)
        )

    def drop_duplicates(self) -> None:
        """Of several articles with one title only the first stays. Dropping is done in the shards, once."""
        titles, addresses = self.whole("shard", "title_keys"), self.whole("shard", "address_keys")
        first = first_of_each(titles)
        stay = first_of_each(np.where(addresses != 0, addresses, titles)) & (first | (addresses != 0))
        if not stay.all():
            self.in_shards(~stay, lambda shard, gone: drop_articles(shard, ~gone))
            dropped = int((~stay).sum())
            self.ledger.pages["kept"] -= dropped
            self.ledger.pages["duplicate title"] += dropped
        if (
            shared := (~first)[stay]
        ).any():  # those with addresses of their own: another look at the new titles
            self.in_shards(shared, tell_apart)
            self.drop_duplicates()

    def in_shards(
        self, marked: NDArray[np.bool_], change: Callable[[Arrays, NDArray[np.bool_]], Arrays]
    ) -> None:
        """Write those shards anew that hold a marked article."""
        at = 0
        for number, keys in enumerate(list(self.column("shard", "title_keys"))):
            here = marked[at : at + len(keys)]
            at += len(keys)
            if here.any():
                path = path_of(self.folder, "shard", number)
                save(path, change(load(path), here))

    def each(self, name: str, stage: str, function: Callable[..., None], *arguments: Any) -> None:
        """Run one stage over all shards that have not been through it."""
        ready = finished(self.folder, stage)
        with self.progress.stage(name, self.shards, "shards") as shown:
            shown.update(len(ready))
            tasks = ((function, (self.folder, n, *arguments)) for n in range(self.shards) if n not in ready)
            self.pool.run(tasks, shown.advance)

    # Stage 3: the statistics the entity linker goes by.

    def pair(self) -> None:
        """Merge which surface forms lead to which articles."""
        rows = sum(len(keys) for keys in self.column("links", "pair_surface"))
        runs = self.runs("links")
        if self.other is not None:
            foreign = foreign_pairs(self.other, Names(self.folder))
            runs.append(foreign.__getitem__)
            rows += len(foreign["pair_surface"])
        merge_pairs(self.folder, runs, rows)
        anchors = Anchors.open(self.folder)
        np.save(self.folder / "surface-slots.npy", hash_table(anchors.keys))
        np.save(self.folder / "ambiguous.npy", anchors.ambiguous())
        self.linkless = not any(len(hops) for hops in self.column("links", "hop_from"))
        write_relations(
            self.folder,
            int(map_array(self.folder / "article-base.npy")[-1]),
            self.whole("links", "hop_from"),
            self.whole("links", "hop_to"),
        )

    def weigh(self) -> None:
        """Link probabilities, the surfaces worth looking for, and the words beside ambiguous ones."""
        anchors = Anchors.open(self.folder)
        seen, small = np.zeros(len(anchors.keys), np.int64), np.zeros(len(anchors.keys), np.int64)
        for number in range(self.shards):
            counts = load(path_of(self.folder, "counts", number))
            seen[counts["surface"]] += counts["seen"]
            if self.linkless:
                small[counts["surface"]] += counts["small"]
        elsewhere = np.zeros(len(anchors.keys), np.int64)
        if self.other is not None:
            add_foreign_seen(self.other, anchors.keys, elsewhere)
        np.save(self.folder / "surface-seen.npy", np.minimum(seen + elsewhere, 2**32 - 1).astype(np.uint32))
        probability, admitted = admit(anchors, seen, small, elsewhere, linkless=self.linkless)
        np.save(self.folder / "link-probability.npy", probability)
        np.save(self.folder / "admitted.npy", admitted)
        np.save(self.folder / "admitted-keys.npy", anchors.keys[admitted])
        np.save(self.folder / "admitted-slots.npy", hash_table(anchors.keys[admitted]))
        contexts = list(self.column("counts", "contexts"))
        np.save(self.folder / "contexts.npy", np.sum(contexts, axis=0, dtype=np.int64))
        rows = sum(len(keys) for keys in self.column("counts", "context"))
        merge_contexts(self.folder, self.runs("counts"), rows)

    def runs(self, stage: str) -> list[Callable[[str], NDArray[Any]]]:
        """For every shard a function that reads a column of it."""
        return [
            functools.partial(load_column, path_of(self.folder, stage, number))
            for number in range(self.shards)
        ]

    # Stage 4: everything together, in order.

    def write(self, plan: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Put everything together in order; returns the manifest and the ledger."""
        folder = self.folder / "graph"
        shutil.rmtree(folder, ignore_errors=True)
        with self.progress.stage("write", self.shards, "shards") as shown, GraphWriter(folder) as writer:
            write_shards(self.folder, self.shards, writer, shown.advance)
            if self.config.entity_links:
                for source, name in ANCHOR_FILES.items():
                    shutil.copyfile(self.folder / f"{source}.npy", folder / f"{name}.npy")
            ledger = self.close_books()
            write_json(folder / "ledger.json", ledger)
            site = self.sources[0].site
            snapshot = {
                "name": site.name or site.dbname,
                "language": site.language,
                "date": self.ledger.newest[:10],
            }
            manifest = writer.finish({**plan, "snapshot": snapshot})
        return manifest, ledger

    def close_books(self) -> dict[str, Any]:
        """Enter what became of the links."""
        for report in self.reports("links"):
            self.ledger.unresolved.update(report["unresolved"])
            self.ledger.contents.update(report["contents"])
            self.ledger.sections.update(report["sections"])
            self.ledger.redirects["links that go through one"] += report["redirected"]
        for report in self.reports("edges"):
            self.ledger.resolved.update(report["links"])
            self.ledger.entities.update(report["entities"])
            self.ledger.contents.update(report["contents"])
            self.ledger.backlinks.update(report["backlinks"])
        return self.ledger.to_json()


def size_of(sources: Sequence[Source]) -> int:
    """Bytes of all their files."""
    return sum(file.stat().st_size for source in sources for file in source.files)


def _shards_read(marker: Path) -> int | None:
    """How many shards the sources were cut into, where all of it has been read; None where that is not known."""
    try:
        return int(read_json(marker, AGAIN, {"shards": int})["shards"])
    except ArtifactError:
        return None


def _shifted(columns: Iterator[NDArray[Any]], base: NDArray[np.int64]) -> NDArray[np.int32]:
    """Shard-local numbers made global."""
    return np.concatenate([column + start for column, start in zip(columns, base, strict=False)]).astype(
        np.int32
    )
