"""The folder of the BM25 index: looked at before the engine, which trusts its files, opens them; and written by it."""

import json
import mmap
import os
import shutil
import struct
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.arrays import Bools, UInt64s
from linkwalk.artifact import Json, look_at, parsing, read_manifest, sync, writing
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress
from linkwalk.retrieve.keys import Keys
from linkwalk.retrieve.stems import engine

KIND = "index"
LAYOUT = 2
"""Of the folder; an older one is made anew."""
FIELDS = {"graph": str, "nodes": int, "stale": int, "engine": str, "bm25": dict}
"""What its manifest must have."""
_HEAP = 128 << 20
_BLOCKS = 4096
_ENDING = struct.Struct("<II")  # bytes of the note before, and a number that is the same in all files
_SAME = 1337
_PIECE = 1 << 20
_WORDS = "words"  # the analyser's name in the schema


def remedy(folder: Path) -> str:
    """What mends a damaged index."""
    return f"run `linkwalk index {folder.parent} --force`"


def look(folder: Path, manifest: Json) -> None:
    """See whether an index is whole before the engine, which trusts its files, opens them."""
    look_at(folder, manifest, remedy(folder), whole=True, structure=partial(check, folder))


def check(folder: Path) -> None:
    """Look at what the keys hold, of the index that is there now."""
    nodes = read_manifest(folder, KIND, "linkwalk index", FIELDS)["nodes"]
    Keys.open(folder, nodes, remedy(folder)).check(folder, remedy(folder))


def searcher(folder: Path) -> tuple[Any, Any]:
    """The engine's index and what searches it."""
    with parsing(folder / "bm25", remedy(folder)):
        index = engine().Index.open(str(folder / "bm25"))
        index.config_reader("manual")  # nothing is written into a finished index
        return index, index.searcher()


def _schema() -> Any:
    builder = engine().SchemaBuilder()
    for field in ("title", "text"):
        builder.add_text_field(field, stored=False, tokenizer_name=_WORDS, index_option="freq")
    builder.add_integer_field("key", stored=False, indexed=True, fast=True)
    return builder.build()


def write_texts(
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
    with writing(folder):
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
            with writing(folder):
                for key, title, text in zip(keys.view(np.int64)[nodes].tolist(), titles, texts, strict=True):
                    writer.add_document(tantivy.Document(title=title, text=text, key=key))
            stage.advance(len(nodes))
        with writing(folder):
            writer.commit()
            writer.wait_merging_threads()


def link_files(old: Path, new: Path) -> None:
    """A folder again, under another name: its large files are never changed, so links to them do."""
    for file in old.iterdir():
        if file.name.endswith(".lock"):
            continue
        try:
            if file.suffix == ".json":  # what the segments are, written anew with each commit
                raise OSError
            os.link(file, new / file.name)
        except OSError:  # nor can every file system link
            shutil.copy2(file, new / file.name)
            sync(new / file.name)
    sync(new)


def check_segments(folder: Path, remedy: str) -> None:
    """A file of the engine's that is not as it was written is an error: it ends in a checksum, and all are read.

    They tell of damage in an index that has no checksums of ours.
    """
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".json", ".lock"):
            with parsing(path, remedy):
                _compare(path)


def _compare(path: Path) -> None:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        size, same = _ENDING.unpack(data[-_ENDING.size :])
        end = len(data) - _ENDING.size - size
        if same != _SAME or end < 0:
            raise ValueError("it does not end as the engine's files do")
        found = 0
        for at in range(0, end, _PIECE):
            found = zlib.crc32(data[at : min(at + _PIECE, end)], found)
        if found != json.loads(data[end : -_ENDING.size])["crc"]:
            raise ValueError("its checksum is not the one it was written with")
