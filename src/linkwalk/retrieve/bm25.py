"""BM25 over all blocks, on disk: where a walk begins (sec. 4.3).

tantivy's index: a block's title and its text are fields of their own. A title counts twice, since the block's text
often does not repeat it. k1 = 1.2 and b = 0.75 are the engine's constants; how rare a word is, is counted over the
whole wiki.

The index knows blocks by what they say (``keys``), so after a wiki has been built from a newer dump only changed blocks
are indexed anew. Blocks that went still count in how rare words are until the engine merges their segment, so scores
after an update differ a little from those of a whole index; beyond ``MOST_STALE`` of them the index is made whole.

Equal scores are ranked by block number, so a ranking depends on neither threads nor segments.
"""

import os
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwalk.artifact import FORMAT, finish, read_manifest, write_json
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.csr import Int32s
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress
from linkwalk.retrieve.keys import NO_KEYS, Keys, UInt64s, block_keys
from linkwalk.retrieve.words import ENGLISH, analyser, check_stem, engine

KIND = "index"
Bools = NDArray[np.bool_]
LAYOUT = 2
"""Of the folder; an older one is made anew."""
K1, B = 1.2, 0.75
TITLE_WEIGHT = 2.0
MOST_STALE = 0.25
"""Share of blocks that came or went since the index was whole; more, and it is made whole again."""
_HEAP = 128 << 20
_BLOCKS = 4096
_WORD = re.compile(r"\w")
_WORDS = "words"  # the analyser's name in the schema
_EXTRA = 8
_DIGITS = 4
"""Scores are rounded to so many decimals: what differs by less is a tie."""


@dataclass(frozen=True, kw_only=True)
class Indexed:
    """What making an index came to."""

    folder: Path
    blocks: int
    added: int
    """Texts that were read into the index."""
    removed: int
    whole: bool
    """Made from nothing, not brought up to date."""

    @property
    def changed(self) -> bool:
        """Whether there was anything to do."""
        return self.whole or bool(self.added or self.removed)


def _schema() -> Any:
    builder = engine().SchemaBuilder()
    for field in ("title", "text"):
        builder.add_text_field(field, stored=False, tokenizer_name=_WORDS, index_option="freq")
    builder.add_integer_field("key", stored=False, indexed=True, fast=True)
    return builder.build()


def index(
    workspace: Path,
    graph: Graph,
    *,
    threads: int = 2,
    progress: Progress | None = None,
    stem: str | None = None,
    force: bool = False,
) -> Path:
    """Make the index of a workspace, or bring it up to date; its folder."""
    return update(workspace, graph, threads=threads, progress=progress, stem=stem, force=force).folder


def update(
    workspace: Path,
    graph: Graph,
    *,
    threads: int = 2,
    progress: Progress | None = None,
    stem: str | None = None,
    force: bool = False,
) -> Indexed:
    """Index what is not indexed yet, and only that; memory is 8 bytes a block and the writer's 128 MB.

    ``stem`` is a language, ``cjk`` or ``none`` (see ``words``); None: the index's own, English for a new one. ``force``
    makes the index from nothing. Killed at any time, the index stays what it was.
    """
    progress, name = progress or Progress(quiet=True), _engine_name()
    partial, final = workspace / f"{KIND}.partial", workspace / KIND
    was = _updatable(final)
    stem = check_stem(stem or (was or {}).get("bm25", {}).get("stem", ENGLISH))
    if force or was is None or was["bm25"] != _options(stem) or was["engine"] != name:
        was = None
    if was and was["graph"] == graph.fingerprint:
        return Indexed(folder=final, blocks=graph.nodes, added=0, removed=0, whole=False)
    shutil.rmtree(partial, ignore_errors=True)
    (partial / "bm25").mkdir(parents=True)
    of_node = block_keys(graph, progress)
    keys = Keys.write(partial, of_node)
    came, gone = _changes(keys, Keys.open(final) if was else NO_KEYS)
    added = np.count_nonzero(came)
    stale = added + len(gone) + (was["stale"] if was else 0)
    if was and stale > MOST_STALE * graph.nodes:
        was, (came, gone) = None, _changes(keys, NO_KEYS)
        added = np.count_nonzero(came)
    if was:
        _link(final / "bm25", partial / "bm25")
    if added or len(gone) or not was:
        _write(partial / "bm25", graph, analyser(stem), of_node, came, gone, threads, progress)
    manifest = {
        "artifact": KIND,
        "format": FORMAT,
        "layout": LAYOUT,
        "graph": graph.fingerprint,
        "nodes": graph.nodes,
        "stale": int(stale) if was else 0,
        "engine": name,
        "bm25": _options(stem),
    }
    write_json(partial / "manifest.json", manifest)
    _keep_dense(final, partial, graph)
    finish(partial, final)
    return Indexed(folder=final, blocks=graph.nodes, added=int(added), removed=len(gone), whole=not was)


def _changes(keys: Keys, old: Keys) -> tuple[Bools, UInt64s]:
    """Which blocks [N] are to be indexed, one for each key that is new, and the keys that went."""
    came = np.zeros(len(keys.nodes), np.bool_)
    for _, nodes in keys.missing_from(old):
        came[nodes] = True
    gone = [found for found, _ in old.missing_from(keys)]
    return came, np.concatenate([np.zeros(0, np.uint64), *gone])


def _options(stem: str) -> dict[str, Any]:
    return {"k1": K1, "b": B, "title_weight": TITLE_WEIGHT, "stem": stem}


def _engine_name() -> str:
    engine()
    return f"tantivy {version('tantivy')}"


def _updatable(folder: Path) -> dict[str, Any] | None:
    """The manifest of an index that can be brought up to date, None if there is no such index."""
    try:
        manifest = read_manifest(folder, KIND, "")
        if manifest.get("layout") != LAYOUT:
            return None
        Keys.open(folder)
        engine().Index.open(str(folder / "bm25"))
        return manifest if {"graph", "stale", "engine", "bm25"} <= set(manifest) else None
    except (ArtifactError, OSError, ValueError, EOFError):
        return None


def _link(old: Path, new: Path) -> None:
    """The index again, under another name: the engine never changes a segment's file, so links to them do."""
    for file in old.iterdir():
        if file.name.endswith(".lock"):
            continue
        try:
            if file.suffix == ".json":  # what the segments are, written anew with each commit
                raise OSError
            os.link(file, new / file.name)
        except OSError:  # nor can every file system link
            shutil.copy2(file, new / file.name)


def _keep_dense(final: Path, partial: Path, graph: Graph) -> None:
    """Take the index of embeddings along while it is of this graph."""
    try:
        manifest = read_manifest(final / "dense", "dense", "")
    except ArtifactError:
        return
    if manifest.get("graph") == graph.fingerprint:
        (partial / "dense").mkdir()
        _link(final / "dense", partial / "dense")


def _write(
    folder: Path,
    graph: Graph,
    words: Any,
    keys: UInt64s,
    came: Bools,
    gone: UInt64s,
    threads: int,
    progress: Progress,
) -> None:
    """Take texts out of and into the engine's index, blocks in their order."""
    tantivy = engine()
    made = tantivy.Index(_schema(), path=str(folder))
    made.register_tokenizer(_WORDS, words)
    writer = made.writer(heap_size=_HEAP, num_threads=max(1, threads))
    for key in gone.view(np.int64).tolist():  # the engine's integers have a sign
        writer.delete_documents_by_term("key", key)
    with progress.stage("index", int(np.count_nonzero(came)), "blocks") as stage:
        for at in range(0, len(came), _BLOCKS):
            nodes = at + np.flatnonzero(came[at : at + _BLOCKS])
            if not len(nodes):
                continue
            titles, texts = graph.titles.take(graph.node_article[nodes]), graph.texts.take(nodes)
            for key, title, text in zip(keys.view(np.int64)[nodes].tolist(), titles, texts, strict=True):
                writer.add_document(tantivy.Document(title=title, text=text, key=key))
            stage.advance(len(nodes))
        writer.commit()
        writer.wait_merging_threads()


class Bm25:
    """The index of a workspace, ready for queries."""

    def __init__(self, folder: Path) -> None:
        self._folder, tantivy = folder, engine()
        manifest = read_manifest(folder, KIND, f"linkwalk index {folder.parent}")
        if manifest.get("layout") != LAYOUT:
            raise ArtifactError(
                f"{folder} is of an older version: run `linkwalk index {folder.parent}` again"
            )
        try:
            self._index = tantivy.Index.open(str(folder / "bm25"))
            self._index.config_reader("manual")  # nothing is written into a finished index
            self._keys = Keys.open(folder)
            self._searcher = self._index.searcher()
            self._words = analyser(manifest["bm25"]["stem"])
        except (OSError, ValueError, EOFError, KeyError) as error:
            raise self._damaged(error) from None

    @classmethod
    def open(cls, workspace: Path, graph: Graph) -> "Bm25":
        """The index, if it is of this graph."""
        command = f"linkwalk index {workspace}"
        manifest = read_manifest(workspace / KIND, KIND, command)
        if manifest.get("graph") != graph.fingerprint:
            raise ArtifactError(f"the index is older than the graph: run `{command}` again")
        return cls(workspace / KIND)

    def search(self, query: str, count: int) -> tuple[Int32s, list[float]]:
        """The best blocks for some words, the best first, and their scores; none where no word is known."""
        if not _WORD.search(query):
            raise InputError("the query has no words: give a claim or a question")
        return self._search(query, count)

    def search_many(
        self, queries: Sequence[str], count: int, *, threads: int | None = None
    ) -> list[tuple[Int32s, list[float]]]:
        """What ``search`` finds for each of many queries; the engine searches on several threads at once.

        One without words finds nothing: a benchmark does not end at a line of question marks.
        """
        threads = threads or min(8, os.cpu_count() or 1)
        with ThreadPoolExecutor(max(1, threads)) as pool:
            return list(pool.map(lambda query: self._search(query, count), queries))

    def _search(self, query: str, count: int) -> tuple[Int32s, list[float]]:
        # The words go to the engine one by one: nothing of what was asked is taken for a query language.
        words = Counter(self._words.analyze(query))
        if not words or count < 1:
            return np.zeros(0, np.int32), []
        try:
            hits = self._hits(self._query(words), count)
            keys = self._searcher.fast_field_values("key", [address for _, address in hits])
        except (OSError, ValueError) as error:
            raise self._damaged(error) from None
        nodes, which = self._keys.blocks(np.array(keys, np.int64).view(np.uint64))
        if len(nodes) < len(hits):
            raise self._damaged(ValueError("a block's key is missing"))
        scores = np.round(np.array([score for score, _ in hits], np.float64), _DIGITS)[which]
        best = np.lexsort((nodes, -scores))[:count]
        return nodes[best], scores[best].tolist()

    def _query(self, words: Counter[str]) -> Any:
        """Any of the words in either field, one flat list of terms: the engine can pass over most blocks then."""
        query, schema, terms = engine().Query, self._index.schema, []
        for word, times in sorted(words.items()):
            for field, weight in (("title", TITLE_WEIGHT), ("text", 1.0)):
                term = query.term_query(schema, field, word, "freq")
                terms.append((engine().Occur.Should, query.boost_query(term, weight * times)))
        return query.boolean_query(terms)

    def _hits(self, query: Any, count: int) -> list[tuple[float, Any]]:
        """The best texts, and all that tie with the last of them."""
        limit = count + _EXTRA
        while True:
            hits: list[tuple[float, Any]] = self._searcher.search(query, limit, count=False).hits
            if len(hits) < limit or hits[-1][0] < hits[count - 1][0] - 2 * 10**-_DIGITS:
                return hits
            limit *= 4

    def _damaged(self, error: Exception) -> ArtifactError:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        return ArtifactError(
            f"{self._folder} is damaged ({first}): run `linkwalk index {self._folder.parent} --force`"
        )
