"""BM25 over all blocks, on disk: where a walk begins (sec. 4.3).

tantivy's index: a block's title and its text are fields of their own, English stems in both, k1 = 1.2 and b = 0.75. A
title counts twice, since the block's text often does not repeat it.
"""

import re
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.artifact import FORMAT, finish, read_manifest, write_json
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.csr import Int32s
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress

KIND = "index"
FIELDS = ("title", "text")
TITLE_WEIGHT = 2.0
_HEAP = 128 << 20
_BLOCKS = 4096
_WORD = re.compile(r"\w+")


def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    for field in FIELDS:
        builder.add_text_field(field, stored=False, tokenizer_name="en_stem", index_option="freq")
    builder.add_integer_field("node", stored=True, indexed=False)
    return builder.build()


def index(workspace: Path, graph: Graph, *, threads: int = 2, progress: Progress | None = None) -> Path:
    """Make the index of a workspace; memory is bounded by the writer's, whatever the wiki's size."""
    import tantivy

    progress = progress or Progress(quiet=True)
    partial, final = workspace / f"{KIND}.partial", workspace / KIND
    shutil.rmtree(partial, ignore_errors=True)
    (partial / "bm25").mkdir(parents=True)
    made = tantivy.Index(_schema(), path=str(partial / "bm25"))
    writer = made.writer(heap_size=_HEAP, num_threads=max(1, threads))
    with progress.stage("index", graph.nodes, "blocks") as stage:
        for begin in range(0, graph.nodes, _BLOCKS):
            nodes = range(begin, min(begin + _BLOCKS, graph.nodes))
            for node, text in zip(nodes, graph.texts.slice(begin, nodes.stop), strict=True):
                writer.add_document(tantivy.Document(title=graph.title(node), text=text, node=node))
            stage.advance(len(nodes))
        writer.commit()
        writer.wait_merging_threads()
    manifest = {
        "artifact": KIND,
        "format": FORMAT,
        "graph": graph.fingerprint,
        "nodes": graph.nodes,
        "engine": f"tantivy {version('tantivy')}",
        "bm25": {"k1": 1.2, "b": 0.75, "title_weight": TITLE_WEIGHT, "tokenizer": "en_stem"},
    }
    write_json(partial / "manifest.json", manifest)
    finish(partial, final)
    return final


class Bm25:
    """The index of a workspace, ready for queries."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        try:
            self._index = tantivy.Index.open(str(folder / "bm25"))
        except ValueError as error:
            first = str(error).splitlines()[0]
            raise ArtifactError(f"{folder} is damaged ({first}): run `linkwalk index WIKI` again") from None
        self._searcher = self._index.searcher()

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
        # Words alone, in small letters: nothing of what was asked is taken for the query language.
        words = " ".join(_WORD.findall(query.lower()))
        if not words:
            raise InputError("the query has no words: give a claim or a question")
        parsed, _ = self._index.parse_query_lenient(words, list(FIELDS), field_boosts={"title": TITLE_WEIGHT})
        hits = self._searcher.search(parsed, count).hits
        nodes = [self._searcher.doc(address)["node"][0] for _, address in hits]
        return np.array(nodes, np.int32), [score for score, _ in hits]
