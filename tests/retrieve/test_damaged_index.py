"""An index that is damaged, of the version before, killed while it is made, or made by two at once."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from linkwalk.artifact import faults, locked, read_manifest, seal
from linkwalk.artifact.notes import note, states
from linkwalk.errors import DamagedError, LinkwalkError
from linkwalk.graph.store import Graph
from linkwalk.retrieve import Bm25, index
from tests.conftest import shown
from tests.retrieve.test_bm25 import answers, contents, pages, unseal, write

KILLS = 10


def flip(path: Path) -> None:
    """Turn one bit over, in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.unlink()  # an index that is still open goes on with the file it has mapped
    path.write_bytes(data)


def files(workspace: Path) -> list[Path]:
    folder = workspace / "index"
    return [folder / name for name in read_manifest(folder, "index", "")["files"]]


def the_file(workspace: Path, pattern: str) -> Path:
    (path,) = (workspace / "index").glob(f"bm25/{pattern}" if "*" in pattern else pattern)
    return path


def refused(workspace: Path, graph: Graph) -> DamagedError:
    """What is said of the damage, when the index is opened or first asked."""
    with pytest.raises(DamagedError, match=rf"run `linkwalk index {workspace} --force`") as error:
        Bm25.open(workspace, graph).search("stone river", 5)
    assert len(str(error.value).splitlines()) == 1
    return error.value


def test_a_flipped_bit_is_refused_and_mended(tmp_path: Path) -> None:
    graph = write(tmp_path, pages(1))
    index(tmp_path, graph, threads=1)
    before = answers(Bm25.open(tmp_path, graph), graph, 9)
    names = [path.relative_to(tmp_path / "index").as_posix() for path in files(tmp_path)]
    assert {"keys.npy", "nodes.npy", "bm25/meta.json", "bm25/.managed.json"} < set(names)
    for number in range(len(names)):
        path = files(tmp_path)[number]
        flip(path)
        assert refused(tmp_path, graph).path == path
        assert index(tmp_path, graph).whole, "what is damaged is made anew"
        assert not list(faults(tmp_path / "index", "index"))
        assert answers(Bm25.open(tmp_path, graph), graph, 9) == before
        assert not index(tmp_path, graph).changed


@pytest.mark.parametrize("file", ["bm25/meta.json", "keys.npy", "nodes.npy", "*.idx", "*.fast", "*.term"])
@pytest.mark.parametrize("how", ["lost", "cut", "noise", "a folder"])
@pytest.mark.parametrize("sealed", [True, False])
def test_a_damaged_index_is_one_line(tmp_path: Path, file: str, how: str, sealed: bool) -> None:
    graph = write(tmp_path, pages(9))
    index(tmp_path, graph, threads=1)
    if not sealed:
        unseal(tmp_path / "index")
    path = the_file(tmp_path, file)
    data = path.read_bytes()
    path.unlink()
    if how == "a folder":
        path.mkdir()
    elif how != "lost":
        path.write_bytes(data[: len(data) // 2] if how == "cut" else b"\xa5" * len(data))
    error = refused(tmp_path, graph)
    assert error.path == path or not sealed
    assert index(tmp_path, graph, force=not sealed).whole
    assert len(Bm25.open(tmp_path, graph).search("stone river", 5)[0]) == 5


def spoil_nodes(folder: Path) -> None:
    nodes = np.load(folder / "nodes.npy")
    nodes[3] = len(nodes)
    np.save(folder / "nodes.npy", nodes)


@pytest.mark.parametrize(
    ("file", "spoil", "what"),
    [
        ("nodes.npy", spoil_nodes, "a block beyond"),
        (
            "nodes.npy",
            lambda folder: np.save(folder / "nodes.npy", np.zeros(3, np.int64)),
            "int64, not int32",
        ),
        ("nodes.npy", lambda folder: np.save(folder / "nodes.npy", np.zeros(3, np.int32)), "3 entries"),
        ("nodes.npy", lambda folder: np.save(folder / "nodes.npy", np.zeros((3, 2), np.int32)), "shape"),
        (
            "keys.npy",
            lambda folder: np.save(folder / "keys.npy", np.load(folder / "keys.npy")[::-1].copy()),
            "do not ascend",
        ),
    ],
)
@pytest.mark.parametrize("sealed", [True, False])
def test_keys_that_cannot_be_right(
    tmp_path: Path, file: str, spoil: Callable[[Path], None], what: str, sealed: bool
) -> None:
    graph, folder = write(tmp_path, pages(2)), tmp_path / "index"
    index(tmp_path, graph)
    spoil(folder)
    if sealed:  # as if a fault of ours had written them
        seal(folder, read_manifest(folder, "index", ""))
    else:
        unseal(folder)
    error = refused(tmp_path, graph)
    assert (error.path, what in error.what) == (folder / file, True), str(error)
    assert index(tmp_path, graph).whole


def test_damage_that_no_time_tells_of_is_not_taken_over(tmp_path: Path) -> None:
    wiki = pages(3)
    graph = write(tmp_path, wiki)
    index(tmp_path, graph, threads=1)
    flip(the_file(tmp_path, "*.idx"))
    time.sleep(0.2)  # a note of files that have just changed is not taken
    note(tmp_path, "index", states(files(tmp_path)), "sound")
    assert not index(tmp_path, graph).changed, "nothing tells of the damage"
    wiki["Number 1"] = ["zeppelin"]
    newer = write(tmp_path, wiki, name="newer")
    assert index(tmp_path, newer).whole, "every byte is read before it is taken over"
    index(tmp_path / "whole", write(tmp_path / "whole", wiki, name="newer"))
    whole = Bm25.open(tmp_path / "whole", newer)
    assert answers(Bm25.open(tmp_path, newer), newer, 9) == answers(whole, newer, 9)


def test_a_damaged_index_keeps_its_language(tmp_path: Path) -> None:
    graph = write(tmp_path, {"Москва": ["Москва окружена городами"], "A": ["iron"]})
    index(tmp_path, graph, stem="russian")
    flip(the_file(tmp_path, "nodes.npy"))
    assert index(tmp_path, graph).whole
    assert len(Bm25.open(tmp_path, graph).search("город", 5)[0]) == 1


def test_an_index_of_the_version_before(tmp_path: Path) -> None:
    wiki = pages(4)
    graph, folder = write(tmp_path, wiki), tmp_path / "index"
    index(tmp_path, graph)
    before = answers(Bm25.open(tmp_path, graph), graph, 9)
    unseal(folder)
    assert answers(Bm25.open(tmp_path, graph), graph, 9) == before
    assert not index(tmp_path, graph).changed
    assert "files" not in read_manifest(folder, "index", "")
    wiki["Number 1"] = ["zeppelin"]
    newer = write(tmp_path, wiki, name="newer")
    made = index(tmp_path, newer)
    assert (made.whole, made.added) == (False, 1)
    assert set(read_manifest(folder, "index", "")["files"]) > {"keys.npy", "bm25/meta.json"}
    assert not list(faults(folder, "index"))
    assert len(Bm25.open(tmp_path, newer).search("zeppelin", 5)[0]) == 1


@pytest.mark.parametrize("pattern", ["*.idx", "*.term", "*.fast", "*.fieldnorm", "*.store", "keys.npy"])
def test_damage_in_an_index_of_the_version_before_is_not_taken_over(tmp_path: Path, pattern: str) -> None:
    wiki = pages(4)
    index(tmp_path, write(tmp_path, wiki), threads=1)
    unseal(tmp_path / "index")
    flip(the_file(tmp_path, pattern))
    wiki["Number 1"] = ["zeppelin"]
    newer = write(tmp_path, wiki, name="newer")
    assert index(tmp_path, newer).whole
    assert len(Bm25.open(tmp_path, newer).search("zeppelin", 5)[0]) == 1


def test_keys_of_another_index_are_not_taken_over(tmp_path: Path) -> None:
    wiki = pages(5)
    graph, other = write(tmp_path, wiki), write(tmp_path / "other", {"A": ["x"]})
    index(tmp_path, graph)
    index(tmp_path / "other", other)
    for name in ("keys.npy", "nodes.npy"):
        (tmp_path / "index" / name).write_bytes((tmp_path / "other" / "index" / name).read_bytes())
    unseal(tmp_path / "index", nodes=1)
    wiki["Number 1"] = ["zeppelin"]
    assert index(tmp_path, write(tmp_path, wiki, name="newer")).whole


def test_one_at_a_time(tmp_path: Path) -> None:
    graph = write(tmp_path, pages(6))
    with (
        locked(tmp_path / "index"),
        pytest.raises(LinkwalkError, match=f"another process is writing {tmp_path / 'index'} at this moment"),
    ):
        index(tmp_path, graph)
    assert shown(tmp_path) == ["graph"]
    assert index(tmp_path, graph).whole
    with locked(tmp_path / "index"):
        assert not index(tmp_path, graph).changed, "who has nothing to do is in nobody's way"


def test_what_a_killed_indexer_left_is_removed(tmp_path: Path) -> None:
    graph = write(tmp_path, pages(6))
    index(tmp_path, graph)
    (tmp_path / "index.partial" / "bm25").mkdir(parents=True)  # as it does when the new one is in its place
    with locked(tmp_path / "index"):
        assert not index(tmp_path, graph).changed
        assert (tmp_path / "index.partial").exists(), "not from under one that is at work"
    assert not index(tmp_path, graph).changed
    assert shown(tmp_path) == ["graph", "index"]


def test_what_lies_in_the_way_is_cleared(tmp_path: Path) -> None:
    graph = write(tmp_path, pages(7))
    index(tmp_path / "elsewhere", graph)
    before = contents(tmp_path / "elsewhere" / "index")
    (tmp_path / "index").symlink_to(tmp_path / "elsewhere" / "index")
    for _ in range(3):
        assert index(tmp_path, graph, force=True).whole
    assert not (tmp_path / "index").is_symlink()
    assert contents(tmp_path / "elsewhere" / "index") == before, "what is another's stays as it was"


@pytest.mark.slow
def test_opened_while_another_takes_its_place(tmp_path: Path) -> None:
    graph = write(tmp_path, pages(8))
    index(tmp_path, graph)
    before, done = answers(Bm25.open(tmp_path, graph), graph, 5), threading.Event()

    def replace() -> None:
        for _ in range(20):
            index(tmp_path, graph, force=True)
        done.set()

    replacing = threading.Thread(target=replace)
    replacing.start()
    while not done.is_set():
        assert answers(Bm25.open(tmp_path, graph), graph, 5) == before
    replacing.join()


def run_until(ready: str, delay: float, code: str, *args: object) -> None:
    """Run a program, and kill it some time after it has said that it is ready."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)], stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline().strip() == ready
        time.sleep(delay)
        program.send_signal(signal.SIGKILL)


KILLED = """
import sys
from pathlib import Path
from linkwalk.graph.store import Graph
from linkwalk.retrieve.bm25 import index

here, other = Path(sys.argv[1]), Path(sys.argv[2])
graphs = Graph.open(here), Graph.open(other)
print("ready", flush=True)
while True:
    for graph in graphs:
        index(here, graph)
    index(here, graphs[1], force=True)
"""


@pytest.mark.slow
def test_killed_at_any_time_an_index_is_the_old_or_the_new(tmp_path: Path) -> None:
    wiki = pages(9)
    graphs = [write(tmp_path / "a", wiki), write(tmp_path / "b", wiki | {"Number 1": ["zeppelin"]}, name="b")]
    index(tmp_path / "a", graphs[0])
    rng = np.random.default_rng()
    for _ in range(KILLS):
        run_until("ready", rng.random() / 2, KILLED, tmp_path / "a", tmp_path / "b")
        folder = tmp_path / "a" / "index"
        assert not list(faults(folder, "index"))
        manifest = read_manifest(folder, "index", "")
        (graph,) = [graph for graph in graphs if graph.fingerprint == manifest["graph"]]
        found = len(Bm25.open(tmp_path / "a", graph).search("zeppelin", 5)[0])
        assert found == (graph is graphs[1])
        assert not index(tmp_path / "a", graph).changed


FULL = """
import resource, sys
from pathlib import Path
from linkwalk.embed.store import Embeddings
from linkwalk.errors import LinkwalkError
from linkwalk.graph.store import Graph
from linkwalk.retrieve.bm25 import index
from linkwalk.retrieve.dense import index_dense

here, bytes, what = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
work, of = (index, Graph.open(here)) if what == "bm25" else (index_dense, Embeddings.open(here))
work(here, of)  # whatever else is written is written now
resource.setrlimit(resource.RLIMIT_FSIZE, (bytes, bytes))
try:
    work(here, of, force=True)
except LinkwalkError as error:
    print(error)
"""


def said_when_full(workspace: Path, what: str, size: int) -> str:
    """What is said on a disk that takes files of some bytes only."""
    command = [sys.executable, "-c", FULL, str(workspace), str(size), what]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr, len(ran.stdout.splitlines())) == (0, "", 1)
    return ran.stdout


def test_a_disk_that_takes_no_more(tmp_path: Path) -> None:
    graph = write(tmp_path, pages(10, 20))
    index(tmp_path, graph)
    before = contents(tmp_path / "index" / "bm25")
    said = said_when_full(tmp_path, "bm25", 500)
    assert f"{tmp_path}/index.partial/bm25 cannot be written (" in said
    assert contents(tmp_path / "index" / "bm25") == before
    assert not index(tmp_path, graph).changed
