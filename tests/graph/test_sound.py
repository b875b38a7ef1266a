"""Damaged columns: refused when opened, and met by no kernel."""

import os
from pathlib import Path

import numpy as np
import pytest

from linkwalk.artifact import notes
from linkwalk.errors import DamagedError
from linkwalk.graph.store import ARRAYS, NO_DATE, OPTIONAL_ARRAYS, OPTIONAL_STRINGS, STRINGS, Graph
from tests.graph.conftest import Page, write_graph

FILES = [f"{name}.npy" for name in (*ARRAYS, *OPTIONAL_ARRAYS)] + [
    file for name in (*STRINGS, *OPTIONAL_STRINGS) for file in (f"{name}.bin", f"{name}_offsets.npy")
]
#: Columns in which one number out of range leads a kernel astray; each has a value that cannot be right.
WRONG = {
    "out_targets": 900,
    "in_sources": -1,
    "out_kinds": 6,
    "out_indptr": 10**12,
    "in_indptr": -5,
    "sentence_indptr": 10**9,
    "node_article": 77,
    "node_section": 2**31 - 1,
    "node_block": -1,
    "article_node": 900,
    "name_articles": 900,
    "article_parent": -2,
    "article_tags": 3,
    "article_tag_indptr": 77,
    "tags_offsets": 10**6,
    "addresses_offsets": 10**6,
    "text_offsets": 10**15,
    "titles_offsets": -1,
    "sections_offsets": 10**6,
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    pages = {
        title: [Page(f"{title} is here. It is {n}.", [("A", 0, 2)], section="S") for n in range(4)]
        for title in ("A", "B", "C")
    }
    addresses = ["a.md", "", "c.md"]
    write_graph(
        tmp_path / "wiki",
        pages,
        redirects={"D": "A"},
        addresses=addresses,
        parents=[-1, 0, 0],
        dates=[17_000, NO_DATE, -3],
        tags=[["one", "two"], [], ["three"]],
    )
    return tmp_path / "wiki"


def rewrite(path: Path, data: bytes, *, hide: bool = False) -> None:
    """Write a file again; hidden, as a disk that loses a bit does, so that neither date nor note tells."""
    path.write_bytes(data)
    if hide:
        before, notes._TICK_S = notes._TICK_S, 0.0
        graph = Graph.map(path.parents[1])
        states = notes.states(path.parent / name for name in graph.manifest["files"])
        notes.note(path.parents[1], "graph", states, "sound")
        notes._TICK_S = before


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_refused_by_name(workspace: Path, name: str) -> None:
    path = workspace / "graph" / name
    whole = path.read_bytes()
    flipped = bytearray(whole or b"x")
    flipped[len(flipped) // 2] ^= 1
    for data in (
        flipped,
        b"",
        whole[:-1],
        whole + b"x",
        whole[:40],
        b"\x93NUMPY\x01\x00\x76\x00{" + b"(" * 117,
    ):
        if data == whole:
            continue
        path.write_bytes(data)
        with pytest.raises(DamagedError, match=rf"{name} is damaged \(.*\): run `linkwalk build DUMP -o"):
            Graph.open(workspace)
    path.unlink()
    with pytest.raises(DamagedError, match=rf"{name} is damaged \(no such file"):
        Graph.open(workspace)
    path.write_bytes(whole)
    Graph.open(workspace)


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("at", [1, -2])
def test_what_cannot_be_right_is_seen_without_checksums(workspace: Path, name: str, at: int) -> None:
    Graph.map(workspace).check(texts=True)
    path = workspace / "graph" / f"{name}.npy"
    column = np.load(path)
    column[at] = WRONG[name]
    np.save(path, column)
    damaged = Graph.map(workspace)
    with pytest.raises(DamagedError, match=rf"{name}\.npy is damaged"):
        damaged.check()


def test_texts_are_looked_at_when_asked(workspace: Path) -> None:
    graph = Graph.open(workspace)
    graph.check(texts=True)
    path = workspace / "graph" / "text.bin"
    data = bytearray(path.read_bytes())
    data[3] = 0xFF
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=r"text\.bin is damaged \(it is not UTF-8"):
        Graph.map(workspace).check(texts=True)


def test_a_graph_of_another_wiki_is_no_part_of_this_one(workspace: Path, tmp_path: Path) -> None:
    pages = {title: [Page(f"{title} was there."), Page("And so on.")] for title in ("E", "F")}
    write_graph(
        tmp_path / "other", pages, addresses=["e.md", "f.md"], parents=[1, -1], dates=[1, 2], tags=[["x"], []]
    )
    for name in FILES:
        path, foreign = workspace / "graph" / name, tmp_path / "other" / "graph" / name
        whole = path.read_bytes()
        if foreign.read_bytes() == whole:
            continue
        path.write_bytes(foreign.read_bytes())
        with pytest.raises(DamagedError, match=name):
            Graph.open(workspace)
        path.write_bytes(whole)


def test_later_opens_find_it_noted(workspace: Path) -> None:
    os.utime(workspace / "graph" / "text.bin")
    rewrite(workspace / "graph" / "text.bin", (workspace / "graph" / "text.bin").read_bytes(), hide=True)
    note = (workspace / notes.NOTE).read_bytes()
    Graph.open(workspace)
    assert (workspace / notes.NOTE).read_bytes() == note
    path = workspace / "graph" / "out_targets.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    rewrite(path, data, hide=True)
    Graph.open(workspace)  # nothing tells of it here: that is for the kernels, and for `check`
    with pytest.raises(DamagedError, match="out_targets"):
        Graph.map(workspace).check()
