"""A dump becomes a graph: the stages in order, resumable, the same bytes whatever the number of workers.

Everything is written below ``WIKI/graph.partial``; the finished graph is renamed into place at the end. A build that
was killed finds its finished shards there and goes on; what a stage merges from shards is quickly made again.
"""

import functools
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from linkwalk import __version__
from linkwalk.artifact import FORMAT, fingerprint_file, finish, read_manifest, write_json
from linkwalk.errors import ArtifactError, InputError, LinkwalkError
from linkwalk.graph.columns import map_array
from linkwalk.graph.csr import Csr, transpose, union
from linkwalk.graph.store import Graph, name_key
from linkwalk.graph.writer import GraphWriter
from linkwalk.progress import Progress
from linkwalk.sources.anchors import Anchors, merge_contexts, merge_pairs
from linkwalk.sources.dump import Dump, open_dump
from linkwalk.sources.ledger import Ledger
from linkwalk.sources.linker import admit, neighbourhood_norms
from linkwalk.sources.mentions import hash_table
from linkwalk.sources.names import Names, find_keys, first_of_each, write_names
from linkwalk.sources.shard import Arrays, ExtractConfig, drop_articles, finished, load, load_column, save, shard_strings
from linkwalk.sources.stages import (
    block_articles,
    count_shard,
    extract_shard,
    link_edges,
    path_of,
    resolve_shard,
)
from linkwalk.sources.workers import Workers

#: Tables of the linker that stay with the graph, for ``--anchors`` of another build.
ANCHOR_FILES = {
    "surface-keys": "anchors_surfaces",
    "surface-indptr": "anchors_indptr",
    "surface-links": "anchors_links",
    "surface-shapes": "anchors_shapes",
    "surface-seen": "anchors_seen",
    "candidate-articles": "anchors_articles",
    "candidate-links": "anchors_candidate_links",
}


@dataclass(frozen=True, kw_only=True)
class BuildConfig:
    """What shapes the graph. How fast it is made (workers) is not part of it."""

    extract: ExtractConfig = field(default_factory=ExtractConfig)
    entity_links: bool = True


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A finished build."""

    workspace: Path
    manifest: dict[str, Any]
    ledger: dict[str, Any]
    fresh: bool
    """False where the graph was there already, made from the same input with the same options."""


def build(
    dumps: Sequence[Path],
    workspace: Path,
    config: BuildConfig = BuildConfig(),  # noqa: B008 (frozen)
    *,
    anchors: Path | None = None,
    workers: int = 1,
    strict: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> BuildResult:
    """Build the graph of one or more dump files into ``workspace / "graph"``."""
    progress = progress or Progress(quiet=True)
    opened = [open_dump(path) for path in dumps]
    other = _open_anchors(anchors) if anchors is not None else None
    plan = _plan(opened, config, other)
    final, partial = workspace / "graph", workspace / "graph.partial"
    if present := _present(workspace, plan, force=force):
        if strict and present.ledger["damage"]:
            raise InputError(f"{workspace} was built from damaged input, see graph/ledger.json, and --strict was asked for")
        _tidy_up(workspace)
        return present
    made = _first_missing(workspace)
    partial.mkdir(parents=True, exist_ok=True)
    try:
        with _lock(partial, workspace), Workers(workers) as pool:
            _begin(partial, plan)
            job = Build(partial, opened, config, other, pool, progress)
            manifest, ledger = job.run(plan, strict=strict)
            finish(partial / "graph", final)
    except InputError:  # bad input leaves nothing behind
        shutil.rmtree(made or partial, ignore_errors=True)
        raise
    except OSError:  # a full disk, say: what is finished stays, to go on from, as it does after a kill
        shutil.rmtree(partial / "graph", ignore_errors=True)
        for file in partial.glob("*.partial"):
            file.unlink(missing_ok=True)
        if not finished(partial, "shard"):
            shutil.rmtree(made or partial, ignore_errors=True)
        raise
    shutil.rmtree(partial, ignore_errors=True)
    return BuildResult(workspace, manifest, ledger, True)


def _first_missing(folder: Path) -> Path | None:
    """The outermost folder that has to be made for ``folder`` to be there."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    return missing[-1] if missing else None


def _tidy_up(workspace: Path) -> None:
    """Remove what a build left that was killed just after it had finished; not from under one that is at work."""
    shutil.rmtree(workspace / "graph.old", ignore_errors=True)
    partial = workspace / "graph.partial"
    if partial.exists():
        try:
            with _lock(partial, workspace):
                shutil.rmtree(partial, ignore_errors=True)
        except LinkwalkError:
            pass


def _open_anchors(workspace: Path) -> Graph:
    """The graph to learn anchors from, if it can teach any."""
    graph = Graph.open(workspace)
    if not (graph.folder / "anchors_surfaces.npy").exists():
        raise InputError(f"{workspace} has no anchor statistics: build it without --no-entity-links")
    return graph


def _plan(dumps: Sequence[Dump], config: BuildConfig, other: Graph | None) -> dict[str, Any]:
    """What the graph follows from: version, options, inputs."""
    inputs = [{"name": d.path.name, "bytes": d.size, "fingerprint": fingerprint_file(d.path)} for d in dumps]
    if other is not None:
        inputs.append({"name": f"anchors of {other.snapshot}", "fingerprint": other.fingerprint})
    return {"linkwalk": __version__, "format": FORMAT, "config": asdict(config), "inputs": inputs}


def _present(workspace: Path, plan: dict[str, Any], *, force: bool) -> BuildResult | None:
    """The graph that is there already, if it is this one; anything else that is in the way is an error."""
    if workspace.exists() and not workspace.is_dir():
        raise InputError(f"{workspace} is a file: name a folder for the workspace")
    if not workspace.exists() or not any(workspace.iterdir()):
        return None
    if not (workspace / "graph").exists():
        if (workspace / "graph.partial").exists():
            return None
        raise InputError(f"{workspace} holds something else: name an empty or a new folder with -o")
    try:
        manifest = read_manifest(workspace / "graph", "graph", "linkwalk build")
    except ArtifactError:
        if force:
            return None
        raise InputError(f"{workspace} holds a graph this version cannot read: add --force to replace it") from None
    if force:
        return None
    if {key: manifest.get(key) for key in plan} == plan:
        ledger = json.loads((workspace / "graph" / "ledger.json").read_bytes())
        return BuildResult(workspace, manifest, ledger, False)
    raise InputError(
        f"{workspace} holds a graph of other input or options: add --force to replace it, or name another folder with -o"
    )


def _lock(partial: Path, workspace: Path) -> TextIO:
    """Keep two builds out of one folder; the lock goes with the process, however it ends."""
    file = (partial / "lock").open("w")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass  # no such locks on this system
    except OSError:
        file.close()
        raise LinkwalkError(f"another build is writing to {workspace}: wait for it, or name another folder") from None
    return file


def _begin(partial: Path, plan: dict[str, Any]) -> None:
    """Keep the shards of an interrupted build of the same plan; throw away those of another."""
    path = partial / "plan.json"
    if path.exists() and json.loads(path.read_bytes()) == plan:
        return
    for entry in partial.iterdir():
        if entry.name == "lock":
            continue
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    write_json(path, plan)


class Build:
    """One build under way; the methods are its stages, in order."""

    def __init__(
        self,
        folder: Path,
        dumps: Sequence[Dump],
        config: BuildConfig,
        other: Graph | None,
        pool: Workers,
        progress: Progress,
        hide: float = 0.0,
    ) -> None:
        self.folder, self.dumps, self.config, self.other = folder, dumps, config, other
        self.pool, self.progress, self.hide = pool, progress, hide
        self.ledger = Ledger()
        self.shards = 0

    def run(self, plan: dict[str, Any], *, strict: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """All stages; returns the manifest and the ledger."""
        self.prepare(strict=strict)
        self.each("link", "edges", link_edges, self.config.entity_links)
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

    # Stage 1: the dump is read once, in order, and cut into blocks by the workers.

    def read(self) -> None:
        marker = self.folder / "read.json"
        if marker.exists():
            self.shards = json.loads(marker.read_bytes())["shards"]
            return
        ready = finished(self.folder, "shard")
        sizes = [dump.size for dump in self.dumps]
        consumed: list[float] = []

        with self.progress.stage("read", sum(sizes) / 1e6, "MB") as stage:

            def tasks() -> Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]:
                before = 0
                for dump in self.dumps:
                    for piece, position in dump.pieces():
                        number = self.shards
                        self.shards += 1
                        consumed.append((before + position) / 1e6)
                        if number not in ready:
                            arguments = (self.folder, number, piece, dump.format, dump.site, self.config.extract)
                            yield extract_shard, arguments
                    before += dump.size

            finished_tasks = iter(range(1 << 62))
            self.pool.run(tasks(), lambda: stage.update(consumed[min(next(finished_tasks), len(consumed) - 1)]))
            stage.update(sum(sizes) / 1e6)
        write_json(marker, {"shards": self.shards})

    def column(self, stage: str, name: str) -> Iterator[NDArray[Any]]:
        """One column of every shard, in order."""
        for number in range(self.shards):
            yield load_column(path_of(self.folder, stage, number), name)

    def whole(self, stage: str, name: str) -> NDArray[Any]:
        """One column of all shards together."""
        return np.concatenate(list(self.column(stage, name)))

    def reports(self, stage: str) -> Iterator[dict[str, Any]]:
        for report in self.column(stage, "report"):
            yield json.loads(report.tobytes())

    def read_reports(self) -> None:
        for report in self.reports("shard"):
            self.ledger.pages.update(report["pages"])
            self.ledger.links.update(report["links"])
            self.ledger.damage.update(report["damage"])
            self.ledger.newest = max(self.ledger.newest, report["newest"])

    def check_pages(self) -> None:
        """Refuse a dump without a usable page."""
        ledger, files = self.ledger, ", ".join(str(dump.path) for dump in self.dumps)
        damage = ledger.damage_in_words()
        if not ledger.pages["read"]:
            raise InputError(f"{files}: no page could be read" + (f" ({damage})" if damage else ", the dump has none"))
        if not ledger.pages["kept"]:
            reasons = ", ".join(f"{n:,} {reason}" for reason, n in ledger.to_json()["pages"]["skipped"].items())
            raise InputError(f"{files}: no page is an article ({reasons}): lower --min-chars or check the dump")

    def check_damage(self, *, strict: bool) -> None:
        """Say what was damaged; what no wiki lets happen, two pages of one title and redirects in a ring, is too."""
        ledger, files = self.ledger, ", ".join(str(dump.path) for dump in self.dumps)
        ledger.damage["duplicate title"] += ledger.pages["duplicate title"]
        ledger.damage["redirect loop"] += ledger.redirects["redirect loop"]
        damage = ledger.damage_in_words()
        if damage and strict:
            raise InputError(f"{files}: damaged ({damage}), and --strict was asked for")
        if damage:
            self.progress.warn(f"damaged input: {damage}; the rest was kept, see graph/ledger.json")

    # Stage 2: titles and redirects of the whole dump.

    def name(self) -> None:
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

    def drop_duplicates(self) -> None:
        """Of several articles with one title only the first stays. Dropping is done in the shards, once."""
        stay = first_of_each(self.whole("shard", "title_keys"))
        if stay.all():
            return
        at = 0
        for number, keys in enumerate(list(self.column("shard", "title_keys"))):
            here = stay[at : at + len(keys)]
            at += len(keys)
            if not here.all():
                path = path_of(self.folder, "shard", number)
                save(path, drop_articles(load(path), here))
        dropped = int((~stay).sum())
        self.ledger.pages["kept"] -= dropped
        self.ledger.pages["duplicate title"] += dropped

    def each(self, name: str, stage: str, function: Callable[..., None], *arguments: Any) -> None:
        """Run one stage over all shards that have not been through it."""
        ready = finished(self.folder, stage)
        with self.progress.stage(name, self.shards, "shards") as shown:
            shown.update(len(ready))
            tasks = ((function, (self.folder, n, *arguments)) for n in range(self.shards) if n not in ready)
            self.pool.run(tasks, shown.advance)

    # Stage 3: the statistics the entity linker goes by.

    def pair(self) -> None:
        rows = sum(len(keys) for keys in self.column("links", "pair_surface"))
        runs = self.runs("links")
        if self.other is not None:
            foreign = _foreign_pairs(self.other, Names(self.folder))
            runs.append(foreign.__getitem__)
            rows += len(foreign["pair_surface"])
        merge_pairs(self.folder, runs, rows)
        anchors = Anchors.open(self.folder)
        np.save(self.folder / "surface-slots.npy", hash_table(anchors.keys))
        np.save(self.folder / "ambiguous.npy", anchors.ambiguous())
        self.linkless = bool(anchors.links.sum() == 0)
        self.relate()

    def relate(self) -> None:
        """The graph of articles, for relatedness: what shares rare neighbours belongs together."""
        articles = int(map_array(self.folder / "article-base.npy")[-1])
        source, target = self.whole("links", "hop_from"), self.whole("links", "hop_to")
        other = source != target
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(source[other], minlength=articles))))
        outgoing = Csr(indptr.astype(np.int64), target[other])
        incoming = transpose(outgoing)
        both = union(outgoing, incoming)
        fame = np.bincount(both.indices, minlength=articles)
        weight = np.log(articles / np.maximum(fame, 1)) ** 2
        for name, array in (
            ("outgoing-indptr", outgoing.indptr),
            ("outgoing", outgoing.indices),
            ("neighbour-indptr", both.indptr),
            ("neighbours", both.indices),
            ("neighbour-weight", weight),
            ("neighbour-norm", neighbourhood_norms(both.indptr, both.indices, weight)),
        ):
            np.save(self.folder / f"{name}.npy", array)

    def weigh(self) -> None:
        """Link probabilities, the surfaces worth looking for, and the words beside ambiguous ones."""
        anchors = Anchors.open(self.folder)
        seen, small = np.zeros(len(anchors.keys), np.int64), np.zeros(len(anchors.keys), np.int64)
        for number in range(self.shards):
            counts = load(path_of(self.folder, "counts", number))
            seen[counts["surface"]] += counts["seen"]
            if self.linkless:
                small[counts["surface"]] += counts["small"]
        if self.other is not None:
            _add_foreign_seen(self.other, anchors.keys, seen)
        np.save(self.folder / "surface-seen.npy", np.minimum(seen, 2**32 - 1).astype(np.uint32))
        probability, admitted = admit(anchors, seen, small)
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
        return [functools.partial(load_column, path_of(self.folder, stage, number)) for number in range(self.shards)]

    # Stage 4: everything together, in order.

    def write(self, plan: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        folder = self.folder / "graph"
        shutil.rmtree(folder, ignore_errors=True)
        names = Names(self.folder)
        article_base = map_array(self.folder / "article-base.npy")
        article_node = map_array(self.folder / "article-node.npy")
        with self.progress.stage("write", self.shards, "shards") as shown, GraphWriter(folder) as writer:
            writer.add_sections([""])
            sections = 1
            for number in range(self.shards):
                shard, edges = load(path_of(self.folder, "shard", number)), load(path_of(self.folder, "edges", number))
                first = int(article_base[number])
                titles = shard_strings(shard, "titles")
                writer.add_articles(titles, article_node[first : first + len(titles)])
                writer.add_sections(shard_strings(shard, "sections"))
                section = shard["block_section"]
                writer.add_blocks(
                    text=shard["text"].data,
                    text_lengths=shard["text_lengths"],
                    article=block_articles(shard, first),
                    block=shard["block_number"],
                    section=np.where(section > 0, section + sections - 1, 0),
                    sentence_counts=shard["sentence_counts"],
                    sentence_ends=shard["sentence_ends"],
                )
                sections += len(shard["sections_lengths"])
                writer.add_edges(**{name: edges[name] for name in ("degrees", "targets", "kinds", "spans")})
                shown.advance()
            for shard in (load(path_of(self.folder, "shard", number)) for number in range(self.shards)):
                articles, _ = names.look_up(shard["redirect_from"])
                redirects = shard_strings(shard, "redirects")
                kept = [(title, a) for title, a in zip(redirects, articles.tolist(), strict=True) if a >= 0]
                writer.add_redirects([title for title, _ in kept], np.array([a for _, a in kept], np.int32))
            if self.config.entity_links:
                for source, name in ANCHOR_FILES.items():
                    shutil.copyfile(self.folder / f"{source}.npy", folder / f"{name}.npy")
            ledger = self.close_books()
            write_json(folder / "ledger.json", ledger)
            site = self.dumps[0].site
            snapshot = {"name": site.name or site.dbname, "language": site.language, "date": self.ledger.newest[:10]}
            manifest = writer.finish({**plan, "snapshot": snapshot})
        return manifest, ledger

    def close_books(self) -> dict[str, Any]:
        for report in self.reports("links"):
            self.ledger.unresolved.update(report["unresolved"])
            self.ledger.sections.update(report["sections"])
            self.ledger.redirects["links that go through one"] += report["redirected"]
        for report in self.reports("edges"):
            self.ledger.resolved.update(report["links"])
            self.ledger.entities.update(report["entities"])
        return self.ledger.to_json()


def _shifted(columns: Iterator[NDArray[Any]], base: NDArray[np.int64]) -> NDArray[np.int32]:
    """Shard-local numbers made global."""
    return np.concatenate([column + start for column, start in zip(columns, base, strict=False)]).astype(np.int32)


def _foreign_pairs(other: Graph, names: Names) -> Arrays:
    """Anchor statistics of another wiki, its articles found here by title; those that are not here fall out."""
    keys = np.array([name_key(title) for title in other.titles.slice(0, other.articles)], np.uint64)
    local, _ = names.look_up(keys)
    surface, indptr, shape = (map_array(other.folder / f"anchors_{n}.npy") for n in ("surfaces", "indptr", "shapes"))
    degree = np.diff(indptr)
    article = local[map_array(other.folder / "anchors_articles.npy")]
    here = article >= 0
    return {
        "pair_surface": np.repeat(surface, degree)[here],
        "pair_article": article[here],
        "pair_links": map_array(other.folder / "anchors_candidate_links.npy")[here],
        "pair_origin": np.zeros(int(here.sum()), np.uint8),
        "pair_shape": np.repeat(shape, degree)[here],
    }


def _add_foreign_seen(other: Graph, keys: NDArray[np.uint64], seen: NDArray[np.int64]) -> None:
    """Add how often the other wiki's text has each surface, so that its link probabilities carry over."""
    at, found = find_keys(map_array(other.folder / "anchors_surfaces.npy"), keys)
    seen[found] += map_array(other.folder / "anchors_seen.npy")[at[found]]

