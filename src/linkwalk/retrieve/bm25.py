"""BM25 over all blocks, on disk: where a walk begins (sec. 4.3).

tantivy's index: a block's title and its text are fields of their own. A title counts twice, since the block's text
often does not repeat it. k1 = 1.2 and b = 0.75 are the engine's constants; how rare a word is, is counted over the
whole wiki.

The index knows blocks by what they say (``keys``), so after a wiki has been built from a newer dump only changed blocks
are indexed anew. Blocks that went still count in how rare words are until the engine merges their segment, so scores
after an update differ a little from those of a whole index; beyond ``MOST_STALE`` of them the index is made whole.

Equal scores are ranked by block number, so a ranking depends on neither threads nor segments; where more than
``MOST_TIED`` blocks tie with the last one asked for, those of them that the engine has first.
"""

import os
import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.arrays import Bools, Int32s, UInt64s
from linkwalk.artifact import (
    Json,
    clear,
    faults,
    locked,
    parsing,
    publish,
    read_manifest,
    seal,
    steady,
    tidy_up,
)
from linkwalk.errors import ArtifactError, DamagedError, InputError, LinkwalkError
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress
from linkwalk.retrieve.bm25_files import (
    FIELDS,
    KIND,
    LAYOUT,
    check,
    check_segments,
    link_files,
    look,
    remedy,
    searcher,
    write_texts,
)
from linkwalk.retrieve.keys import NO_KEYS, Keys, block_keys
from linkwalk.retrieve.stems import analyser, check_stem, engine, stem_for

K1, B = 1.2, 0.75
TITLE_WEIGHT = 2.0
MOST_STALE = 0.25
"""Share of blocks that came or went since the index was whole; more, and it is made whole again."""
MOST_TIED = 4096
"""Blocks that are looked at beyond those asked for, to rank what ties by number."""
_UNFINISHED = f"{KIND}.partial"
_WORD = re.compile(r"\w")
_EXTRA = 8
_DIGITS = 4
"""Scores are rounded to so many decimals: what differs by less is a tie."""


@dataclass(frozen=True, kw_only=True)
class IndexReport:
    """What making an index came to."""

    folder: Path
    blocks: int
    stem: str
    """What its words were cut to: the stems of a language, ``cjk`` or ``none``."""
    added: int = 0
    """Texts that were read into the index."""
    removed: int = 0
    whole: bool = False
    """Made from nothing, not brought up to date."""

    @property
    def changed(self) -> bool:
        """Whether there was anything to do."""
        return self.whole or bool(self.added or self.removed)


def index(
    workspace: Path,
    graph: Graph,
    *,
    threads: int = 2,
    progress: Progress | None = None,
    stem: str | None = None,
    force: bool = False,
) -> IndexReport:
    """Index what is not indexed yet, and only that; memory is 8 bytes a block and the writer's 128 MB.

    ``stem`` is a language, ``cjk`` or ``none`` (see ``stems``); None: the index's own, and for a new one that of the
    wiki's language. ``force`` makes the index from nothing, as does one that is damaged. Killed at any
    time, the index stays what it was.
    """
    progress, final = progress or Progress(quiet=True), workspace / KIND
    recipe = _recipe(final, stem, graph)
    there = IndexReport(folder=final, blocks=graph.nodes, stem=recipe["bm25"]["stem"])
    if not force and _is_of(graph, _updatable(final, recipe)):
        tidy_up(final, final.with_name(_UNFINISHED))
        return there
    with locked(final):
        was = None if force else _updatable(final, recipe)
        if _is_of(graph, was):  # another process has made it by now
            return there
        if was and not _is_sound(final):
            was = None
        return _make(there, graph, recipe, was, threads, progress)


def _make(
    report: IndexReport,
    graph: Graph,
    recipe: Json,
    was: Json | None,
    threads: int,
    progress: Progress,
) -> IndexReport:
    """Make the index beside its place and put it there; what ``was`` there is taken over as far as it holds."""
    final, new = report.folder, report.folder.with_name(_UNFINISHED)
    clear(new)
    (new / "bm25").mkdir(parents=True)
    of_node = block_keys(graph, progress)
    keys = Keys.write(new, of_node)
    came, gone = _changes(keys, Keys.open(final, was["nodes"]) if was else NO_KEYS)
    added = np.count_nonzero(came)
    stale = added + len(gone) + (was["stale"] if was else 0)
    if was and stale > MOST_STALE * graph.nodes:
        was, (came, gone) = None, _changes(keys, NO_KEYS)
        added = np.count_nonzero(came)
    if was:
        link_files(final / "bm25", new / "bm25")
    if added or len(gone) or not was:
        words = analyser(recipe["bm25"]["stem"])
        write_texts(new / "bm25", graph, words, of_node, came, gone, threads, progress)
    # Where its keys were not those of its texts.
    if was and searcher(new)[1].num_docs != np.count_nonzero(_changes(keys, NO_KEYS)[0]):
        return _make(report, graph, recipe, None, threads, progress)
    _keep_dense(final, new, graph, progress)
    manifest = {
        "artifact": KIND,
        "layout": LAYOUT,
        "graph": graph.fingerprint,
        "nodes": graph.nodes,
        "stale": int(stale) if was else 0,
        **recipe,
    }
    seal(new, manifest)
    publish(new, final)
    return replace(report, added=int(added), removed=len(gone), whole=not was)


def _changes(keys: Keys, old: Keys) -> tuple[Bools, UInt64s]:
    """Which blocks [N] are to be indexed, one for each key that is new, and the keys that went."""
    came = np.zeros(len(keys.nodes), np.bool_)
    for _, nodes in keys.missing_from(old):
        came[nodes] = True
    gone = [found for found, _ in old.missing_from(keys)]
    return came, np.concatenate([np.zeros(0, np.uint64), *gone])


def _recipe(folder: Path, stem: str | None, graph: Graph) -> Json:
    """What an index is made with: this engine, and the stems asked for, those that the index has, or the wiki's."""
    engine()
    if stem is None:
        try:
            stem = check_stem(read_manifest(folder, KIND, "")["bm25"]["stem"])
        except (LinkwalkError, KeyError, TypeError):
            stem = stem_for(graph)
    options = {"k1": K1, "b": B, "title_weight": TITLE_WEIGHT, "stem": check_stem(stem)}
    return {"engine": f"tantivy {version('tantivy')}", "bm25": options}


def _is_of(graph: Graph, manifest: Json | None) -> bool:
    return manifest is not None and manifest["graph"] == graph.fingerprint


def _updatable(folder: Path, recipe: Json) -> Json | None:
    """The manifest of an index that can be brought up to date, None if there is no such index."""
    with suppress(ArtifactError):
        manifest = read_manifest(folder, KIND, "", FIELDS)
        if manifest.get("layout") == LAYOUT and manifest | recipe == manifest:
            look(folder, manifest)
            searcher(folder)
            return manifest
    return None


def _is_sound(folder: Path) -> bool:
    """Whether an index may be taken over into another, whose checksums would bless any damage: every byte is read."""
    with suppress(ArtifactError):
        check_segments(folder / "bm25", "")  # all that is known of an index of the version before
        return not any(faults(folder, KIND, structure=partial(check, folder)))
    return False


def _keep_dense(final: Path, new: Path, graph: Graph, progress: Progress) -> None:
    """Take the index of embeddings along while it is of this graph, and whole."""
    dense = final / "dense"
    try:
        if read_manifest(dense, "dense", "").get("graph") != graph.fingerprint:
            return
    except ArtifactError:
        return
    if fault := next(faults(dense, "dense"), None):
        command = f"linkwalk index {final.parent} --dense"
        progress.warn(f"{fault.path} is damaged ({fault.what}) and left behind: run `{command}`")
        return
    (new / "dense").mkdir()
    link_files(dense, new / "dense")


class Bm25:
    """The index of a workspace, ready for queries."""

    def __init__(self, folder: Path, graph: Graph) -> None:
        """Open an index that nobody replaces meanwhile."""
        engine()
        command = f"linkwalk index {folder.parent}"
        manifest = read_manifest(folder, KIND, command)
        if manifest.get("graph") != graph.fingerprint:
            raise ArtifactError(f"the index is older than the graph: run `{command}` again")
        if manifest.get("layout") != LAYOUT:
            raise ArtifactError(f"{folder} is of an older version: run `{command}` again")
        self._folder, self._remedy = folder / "bm25", remedy(folder)
        look(folder, manifest)
        with parsing(folder / "manifest.json", self._remedy):
            self._words = analyser(manifest["bm25"]["stem"])
        self._keys = Keys.open(folder, graph.nodes, self._remedy)
        self._index, self._searcher = searcher(folder)

    @classmethod
    def open(cls, workspace: Path, graph: Graph) -> "Bm25":
        """The index, if it is of this graph."""
        folder = workspace / KIND
        return steady(folder, lambda: cls(folder, graph))

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
        with parsing(self._folder, self._remedy):
            hits = self._hits(self._query(words), count)
            found = self._searcher.fast_field_values("key", [address for _, address in hits])
            keys = np.array(found, np.int64).view(np.uint64)
        nodes, which = self._keys.blocks(keys)
        if len(nodes) < len(hits):
            raise DamagedError(self._folder, "a block's key is missing", self._remedy)
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
        """The best texts, and those that tie with the last of them, up to ``MOST_TIED``."""
        limit, most = count + _EXTRA, count + MOST_TIED
        while True:
            hits: list[tuple[float, Any]] = self._searcher.search(query, limit, count=False).hits
            told_apart = len(hits) < limit or hits[-1][0] < hits[count - 1][0] - 2 * 10**-_DIGITS
            if told_apart or limit == most:
                return hits
            limit = min(4 * limit, most)
