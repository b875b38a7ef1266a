"""The five stages of a build, in order: read, resolve, count, link, write. Each has a file of its own.

In a stage the workers go through the shards, from one file of each to the next; before and after them the main process
merges what concerns the whole. Nothing depends on where a source was cut or on which worker made which shard: columns
are put together in the shards' order, and merges sort by key.
"""

import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linkwalk.artifact import read_json, write_json
from linkwalk.build.costs import Costs
from linkwalk.build.count import count_shard, pair_surfaces, weigh_surfaces
from linkwalk.build.entities.anchors import ANCHOR_FILES
from linkwalk.build.ledger import JsonObject, Ledger
from linkwalk.build.link import link_shard, write_backlinks
from linkwalk.build.read import ExtractConfig, read_shard
from linkwalk.build.resolve import name_articles, resolve_shard
from linkwalk.build.shards import AGAIN, ShardFiles, finished
from linkwalk.build.workers import Task, WorkerPool
from linkwalk.build.write import write_shards
from linkwalk.errors import ArtifactError, InputError
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


@dataclass
class Build:
    """One build under way; the methods are its stages, in order."""

    folder: Path
    sources: Sequence[Source]
    config: BuildConfig
    other: Graph | None
    """Another wiki, whose anchors are learned from as well."""
    pool: WorkerPool
    progress: Progress

    def __post_init__(self) -> None:
        self.shards, self.ledger, self.costs = ShardFiles(self.folder), Ledger(), Costs()
        self.paths = ", ".join(str(source.path) for source in self.sources)

    def run(self, plan: JsonObject, *, strict: bool) -> tuple[JsonObject, JsonObject]:
        """All stages; returns the manifest and the ledger."""
        self.read()
        self.resolve(strict=strict)
        if self.config.entity_links:
            self.count()
        self.link()
        return self.write(plan)

    def each(self, name: str, kind: str, function: Callable[..., None], *arguments: Any) -> None:
        """Have the workers make one kind of file for all shards that have none yet."""
        ready = finished(self.folder, kind)
        with self.costs.part(name), self.progress.stage(name, self.shards.count, "shards") as shown:
            shown.update(len(ready))
            left = (number for number in range(self.shards.count) if number not in ready)
            self.pool.run(((function, (self.folder, number, *arguments)) for number in left), shown.advance)

    def read(self) -> None:
        """Stage 1: the sources are read once, in order; the workers cut them into blocks."""
        marker, ready, shards = self.folder / "read.json", finished(self.folder, "shard"), self.shards
        if _shards_read(marker) == len(ready):
            shards.count = len(ready)
        else:
            size = size_of(self.sources) / 1e6
            reached: deque[float] = deque()

            def tasks() -> Iterator[Task]:
                consumed = 0
                for source in self.sources:
                    for piece, piece_size in source.pieces():
                        number = shards.count
                        shards.count += 1
                        consumed += piece_size
                        if number not in ready:
                            reached.append(consumed / 1e6)
                            yield read_shard, (self.folder, number, source, piece, self.config.extract)

            with self.costs.part("read"), self.progress.stage("read", size, "MB") as stage:
                self.pool.run(tasks(), lambda: stage.update(reached.popleft()))
                stage.update(size)
            write_json(marker, {"shards": shards.count})
        for report in shards.reports("shard"):
            self.ledger.enter(report)
        self.check_pages()

    def check_pages(self) -> None:
        """Refuse sources without a usable page."""
        ledger, damage = self.ledger, self.ledger.damage_in_words()
        if not ledger["pages"]["read"]:
            why = f" ({damage})" if damage else ", the dump has none"
            raise InputError(f"{self.paths}: no page could be read{why}")
        if not ledger["pages"]["kept"]:
            skipped = ledger.to_json()["pages"]["skipped"]
            reasons = ", ".join(f"{n:,} {reason}" for reason, n in skipped.items())
            least = self.config.extract.min_chars
            why = f"a page of less than {least} characters is short, ask for fewer; or " * (
                "short" in skipped
            )
            raise InputError(
                f"{self.paths}: no page is an article ({reasons}): {why}see whether it is the right file"
            )

    def resolve(self, *, strict: bool) -> None:
        """Stage 2: articles get their numbers, links what they lead to."""
        with self.costs.part("name articles"):
            name_articles(self.shards, self.ledger, self.config.contents)
        # What no wiki lets happen, two pages of one title and redirects in a ring, is damage, too.
        ledger = self.ledger
        ledger["damage"]["duplicate title"] += ledger["pages"]["duplicate title"]
        ledger["damage"]["redirect loop"] += ledger["redirects"]["redirect loop"]
        damage = ledger.damage_in_words()
        if damage and strict:
            raise InputError(f"{self.paths}: damaged ({damage}), and the build is strict")
        if damage:
            self.progress.warn(f"damaged input: {damage}; the rest was kept, see graph/ledger.json")
        self.each("resolve", "links", resolve_shard)

    def count(self) -> None:
        """Stage 3: the statistics the entity linker goes by."""
        with self.costs.part("pair surfaces"):
            pair_surfaces(self.shards, self.other)
        linkless = not any(len(hops) for hops in self.shards.column("links", "hop_from"))
        self.each("count", "counts", count_shard, linkless)
        with self.costs.part("weigh surfaces"):
            weigh_surfaces(self.shards, self.other, linkless)

    def link(self) -> None:
        """Stage 4: every block's edges."""
        config = self.config
        if config.backlinks:
            with self.costs.part("turn links round"):
                write_backlinks(self.shards)
        self.each("link", "edges", link_shard, config.entity_links, config.contents, config.backlinks)

    def write(self, plan: JsonObject) -> tuple[JsonObject, JsonObject]:
        """Stage 5: everything together, in order; returns the manifest and the ledger."""
        folder = self.folder / "graph"
        shutil.rmtree(folder, ignore_errors=True)
        with (
            self.progress.stage("write", self.shards.count, "shards") as shown,
            GraphWriter(folder) as writer,
        ):
            with self.costs.part("write"):
                write_shards(self.shards, writer, shown.advance)
            if self.config.entity_links:
                for table, name in ANCHOR_FILES.items():
                    shutil.copyfile(self.folder / f"{table}.npy", folder / f"{name}.npy")
            for kind in ("links", "edges"):
                for report in self.shards.reports(kind):
                    self.ledger.enter(report)
            ledger = self.ledger.to_json()
            write_json(folder / "ledger.json", ledger)
            site = self.sources[0].site
            snapshot = {
                "name": site.name or site.dbname,
                "language": site.language,
                "date": self.ledger.newest[:10],
            }
            with self.costs.part("finish"):
                manifest = writer.finish({**plan, "snapshot": snapshot})
        return manifest, ledger


def size_of(sources: Sequence[Source]) -> int:
    """Bytes of all their files."""
    return sum(file.stat().st_size for source in sources for file in source.files)


def _shards_read(marker: Path) -> int | None:
    """How many shards the sources were cut into, where all of it has been read; None where that is not known."""
    try:
        return int(read_json(marker, AGAIN, {"shards": int})["shards"])
    except ArtifactError:
        return None
