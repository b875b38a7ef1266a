"""``linkwalk index``: BM25 over all blocks and, where asked for, an index of their embeddings."""

import contextlib
import os
import time
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from linkwalk.cli.options import BuiltWiki, EmbeddingsName, Json, Quiet, option
from linkwalk.cli.output import print_json, print_next, print_table
from linkwalk.errors import InputError
from linkwalk.progress import Progress


def index(
    wiki: BuiltWiki,
    stem: Annotated[
        str | None,
        option(
            "LANGUAGE",
            "Language of the wiki, whose words are cut to their stems; cjk: every Chinese or Japanese "
            "character is a word; none. [default: what the index has, or what the wiki's language asks for]",
        ),
    ] = None,
    dense: Annotated[
        bool,
        Option("--dense", help="Index the embeddings, too: dense starts in a wiki of millions of blocks."),
    ] = False,
    embeddings: EmbeddingsName = None,
    force: Annotated[bool, Option("--force", help="Make everything anew.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Index a wiki's blocks for `linkwalk find`: BM25 on disk, title and text as fields of their own.

    After the wiki was built from a newer dump, only changed blocks are indexed.

    Example: linkwalk index encyclopedia
    """
    from linkwalk.graph.store import Graph
    from linkwalk.retrieve.bm25 import index as make_index

    if embeddings and not dense:
        raise InputError("--embeddings says which embeddings --dense indexes: give both or neither")
    graph, began, progress = Graph.open(wiki), time.monotonic(), Progress(quiet=quiet)
    threads = min(8, os.cpu_count() or 1)
    table = None
    if dense:
        from linkwalk.embed.store import Embeddings
        from linkwalk.retrieve.dense import WORTH_IT, index_dense, usearch

        usearch()
        table = Embeddings.open(wiki, embeddings, graph)
        if graph.nodes < WORTH_IT:
            progress.warn(f"below {WORTH_IT:,} blocks it is as quick, and exact, to look at all embeddings")
    made = make_index(wiki, graph, threads=threads, progress=progress, stem=stem, force=force)
    facts: dict[str, Any] = {
        "index": str(made.folder),
        "blocks": made.blocks,
        "added": made.added,
        "removed": made.removed,
        "whole": made.whole,
        "language": graph.language,
        "stem": made.stem,
        "bytes": _size(made.folder / "bm25") + _size(made.folder, "*.npy"),
        "seconds": round(time.monotonic() - began, 2),
    }
    if table is not None:
        began = time.monotonic()
        folder, added = index_dense(wiki, table, threads=threads, progress=progress, force=force)
        facts["dense"] = {
            "index": str(folder),
            "embeddings": table.name,
            "added": added,
            "bytes": _size(folder),
            "seconds": round(time.monotonic() - began, 2),
        }
    if json:
        print_json(facts)
        return
    if made.whole:
        done = f"{made.blocks:,} blocks in {facts['seconds']} s"
    elif made.changed:
        done = f"{made.added:,} blocks added, {made.removed:,} removed in {facts['seconds']} s"
    else:
        done = f"nothing to do: {made.blocks:,} blocks are indexed as they are"
    language = f"; the wiki says that it is in {graph.language!r}" if graph.language else ""
    kind = {"cjk": "every character of Chinese or Japanese", "none": "as they are"}
    words = kind.get(made.stem, f"cut to stems of {made.stem.capitalize()}") + language
    rows = [("indexed", done), ("words", words), ("size", f"{facts['bytes'] / 1e6:.1f} MB, in {made.folder}")]
    if table is not None:
        near = facts["dense"]
        rows.append(
            ("dense", f"{near['added']:,} embeddings in {near['seconds']} s, {near['bytes'] / 1e6:.1f} MB")
        )
    print_table(rows)
    print_next(f'linkwalk find {wiki} "a claim or a question"')


def _size(folder: Path, pattern: str = "*") -> int:
    size = 0
    for file in folder.glob(pattern):
        with contextlib.suppress(OSError):  # another index may be taking the place of this one
            size += file.stat().st_size
    return size
