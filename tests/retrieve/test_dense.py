"""The index of embeddings beside the exact search, after a kill, and where it cannot be used."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from linkwalk.arrays import Float32s
from linkwalk.artifact import checksum, digest, faults, locked, read_json, read_manifest, seal, write_json
from linkwalk.embed.store import Embeddings, folder_of
from linkwalk.errors import ArtifactError, DamagedError, InputError, LinkwalkError
from linkwalk.graph.store import Graph
from linkwalk.navigate.cosine import unit_rows
from linkwalk.progress import Progress, Stage
from linkwalk.retrieve.bm25 import index
from linkwalk.retrieve.dense import Dense, _job, index_dense
from linkwalk.retrieve.starts import Near, nearest_many
from tests.graph.conftest import Page, write_graph
from tests.retrieve.test_bm25 import Stop, unseal
from tests.retrieve.test_damaged_index import KILLS, flip, run_until, said_when_full

ROWS, WIDTH = 9000, 24


def topics(rows: int, seed: int) -> Float32s:
    """Vectors that lie in clusters, as texts' do."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).standard_normal((40, WIDTH))
    return (centres[rng.integers(40, size=rows)] + 0.7 * rng.standard_normal((rows, WIDTH))).astype(
        np.float32
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with embeddings that are no unit vectors, and their index."""
    workspace = tmp_path_factory.mktemp("dense")
    graph = write_graph(workspace, {"A": [Page("x") for _ in range(ROWS)]})
    folder = folder_of(workspace, "minilm")
    folder.mkdir(parents=True)
    np.save(folder / "vectors.npy", topics(ROWS, 0).astype(np.float16))
    seal(
        folder,
        {
            "artifact": "embeddings",
            "graph": graph.fingerprint,
            "width": WIDTH,
            "encoder": "test",
            "encoder_fingerprint": digest("test"),
        },
    )
    index_dense(workspace, Embeddings.open(workspace), threads=2)
    return workspace


def recall(workspace: Path) -> float:
    table = Embeddings.open(workspace)
    meanings = unit_rows(topics(100, 1))
    exact = nearest_many(unit_rows(table.vectors), meanings, 10)
    dense = Dense.open(workspace, table)
    found = dense.nearest_many(meanings, 10)
    assert isinstance(dense, Near)
    for meaning, rows in zip(meanings[:9], found[:9], strict=True):
        assert dense.nearest_many(meaning[None], 10, threads=1)[0].tolist() == rows.tolist()
        scores = unit_rows(table.vectors[rows]) @ meaning
        assert (np.diff(scores) <= 1e-6).all(), "the closest come first"
    return float(
        np.mean([len(set(a) & set(b.tolist())) / 10 for a, b in zip(exact.tolist(), found, strict=True)])
    )


def test_nearly_all_of_the_nearest_are_found(made: Path) -> None:
    assert recall(made) > 0.97
    dense = Dense.open(made, Embeddings.open(made))
    assert dense.nearest_many(topics(1, 2), 0)[0].tolist() == []
    assert len(set(dense.nearest_many(unit_rows(topics(1, 2)), 500)[0].tolist())) == 500
    assert index_dense(made, Embeddings.open(made)) == (made / "index" / "dense", 0), "made already"


class StopsLate(Progress):
    """Ends the work when the last piece is in and not yet saved."""

    def __init__(self) -> None:
        super().__init__(quiet=True)

    @contextmanager
    def stage(self, name: str, total: float, unit: str) -> Iterator[Stage]:
        def show(stage: Stage) -> None:
            if stage.done == stage.total:
                raise Stop

        yield Stage(name, total, unit, show)


def test_an_interrupted_index_goes_on(made: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "wiki"
    shutil.copytree(made, workspace)
    shutil.rmtree(workspace / "index")
    table = Embeddings.open(workspace)
    with pytest.raises(Stop):
        index_dense(workspace, table, progress=StopsLate(), save_every_s=0)
    with pytest.raises(ArtifactError, match=r"run `linkwalk index .* --dense` first"):
        Dense.open(workspace, table)
    folder, added = index_dense(workspace, table)
    assert 0 < added < ROWS, "what was saved was not made again"
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "vectors.usearch"]
    assert recall(workspace) > 0.97
    assert not (workspace / "dense.partial").exists()


@pytest.fixture
def begun(made: Path, tmp_path: Path) -> Path:
    """A workspace whose index of embeddings was interrupted when nearly all of it was saved."""
    workspace = Path(shutil.copytree(made, tmp_path / "wiki", ignore=shutil.ignore_patterns("index")))
    with pytest.raises(Stop):
        index_dense(workspace, Embeddings.open(workspace), progress=StopsLate(), save_every_s=0)
    return workspace


def other_rows(partial: Path) -> None:
    note = read_json(partial / "begun.json", "")
    (saved,) = partial.glob("rows-*.usearch")
    saved.rename(partial / "rows-77.usearch")
    write_json(partial / "begun.json", note | {"rows": 77})


def noise(partial: Path) -> None:
    (saved,) = partial.glob("rows-*.usearch")
    saved.write_bytes(b"\xa5" * 5000)
    write_json(partial / "begun.json", read_json(partial / "begun.json", "") | {"sha256": checksum(saved)})


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        lambda partial: flip(*partial.glob("rows-*.usearch")),
        lambda partial: next(partial.glob("rows-*.usearch")).unlink(),
        lambda partial: (partial / "begun.json").write_text("{"),
        lambda partial: (partial / "begun.json").write_text("[]"),
        lambda partial: (partial / "begun.json").unlink(),
        other_rows,
        noise,
    ],
)
def test_what_was_saved_and_cannot_be_read_is_made_again(
    begun: Path, damage: Callable[[Path], object]
) -> None:
    damage(begun / "dense.partial")
    assert index_dense(begun, Embeddings.open(begun))[1] == ROWS
    assert recall(begun) > 0.97
    assert not list(faults(begun / "index" / "dense", "dense"))


def test_an_interrupted_index_outlives_a_new_index_of_words(begun: Path) -> None:
    graph = Graph.open(begun)
    index(begun, graph)
    index(begun, graph, force=True)
    assert 0 < index_dense(begun, Embeddings.open(begun))[1] < ROWS
    assert recall(begun) > 0.97


def test_one_at_a_time(made: Path, begun: Path) -> None:
    table = Embeddings.open(begun)
    with (
        locked(begun / "index"),
        pytest.raises(LinkwalkError, match=r"another process is writing .*index at"),
    ):
        index_dense(begun, table)
    with locked(made / "index"):
        assert index_dense(made, Embeddings.open(made))[1] == 0, "who has nothing to do is in nobody's way"


def test_bm25_and_embeddings_share_the_folder(made: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "wiki"
    shutil.copytree(made, workspace)
    graph = Graph.open(workspace)
    assert index(workspace, graph).whole
    assert recall(workspace) > 0.97, "an index of this graph is taken along"
    assert not list(faults(workspace / "index" / "dense", "dense"))
    assert not any("dense" in name for name in read_manifest(workspace / "index", "index", "")["files"])
    newer = write_graph(workspace, {"A": [Page("x"), Page("y")]}, name="newer")
    index(workspace, newer)
    assert not (workspace / "index" / "dense").exists(), "one of another graph is not"


def test_a_flipped_bit_is_refused_mended_and_not_taken_along(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = Path(shutil.copytree(made, tmp_path / "wiki"))
    table, folder = Embeddings.open(workspace), workspace / "index" / "dense"
    assert sorted(read_manifest(folder, "dense", "")["files"]) == ["vectors.usearch"]
    for again in (f"{workspace} --dense --force`", f"{workspace} --dense` again"):
        path = folder / ("vectors.usearch" if "force" in again else "manifest.json")
        flip(path)
        with pytest.raises(DamagedError, match=f"run `linkwalk index {again}") as error:
            Dense.open(workspace, table)
        assert (error.value.path, len(str(error.value).splitlines())) == (path, 1)
        assert index_dense(workspace, table)[1] == ROWS, "what is damaged is made anew"
        assert recall(workspace) > 0.97
    flip(folder / "vectors.usearch")
    index(workspace, Graph.open(workspace), force=True)
    assert not folder.exists()
    said = capsys.readouterr().err
    assert "vectors.usearch is damaged (its checksum is not the one it was written with)" in said
    assert f"left behind: run `linkwalk index {workspace} --dense`" in said


def test_an_index_of_the_version_before(made: Path, tmp_path: Path) -> None:
    workspace = Path(shutil.copytree(made, tmp_path / "wiki"))
    table = Embeddings.open(workspace)
    unseal(workspace / "index" / "dense")
    assert recall(workspace) > 0.97
    assert index_dense(workspace, table)[1] == 0
    index(workspace, Graph.open(workspace))
    assert recall(workspace) > 0.97, "taken along as it is"
    fewer = Embeddings(table.folder, table.manifest, table.vectors[:-1])
    unseal(workspace / "index" / "dense", job=digest(_job(fewer)))
    with pytest.raises(DamagedError, match="9,000 rows of 8,999"):
        Dense.open(workspace, fewer)


KILLED = """
import sys
from pathlib import Path
from linkwalk.embed.store import Embeddings
from linkwalk.retrieve.dense import index_dense

here = Path(sys.argv[1])
table = Embeddings.open(here)
print("ready", flush=True)
while True:
    index_dense(here, table, force=True, save_every_s=0)
"""


@pytest.mark.slow
def test_killed_at_any_time_an_index_is_the_old_or_the_new(made: Path, tmp_path: Path) -> None:
    workspace = Path(shutil.copytree(made, tmp_path / "wiki"))
    table, rng = Embeddings.open(workspace), np.random.default_rng()
    index(workspace, Graph.open(workspace))
    for _ in range(KILLS):
        run_until("ready", 1.2 * rng.random(), KILLED, workspace)
        assert not list(faults(workspace / "index" / "dense", "dense"))
        assert not list(faults(workspace / "index", "index"))
        assert len(Dense.open(workspace, table).nearest_many(unit_rows(topics(1, 2)), 9)[0]) == 9
        index_dense(workspace, table)
        assert not (workspace / "dense.partial").exists()
    assert recall(workspace) > 0.97


def test_an_index_of_embeddings_that_cannot_be_used(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / "wiki"
    shutil.copytree(made, workspace)
    table = Embeddings.open(workspace)
    other = Embeddings(table.folder, table.manifest | {"encoder_fingerprint": "other"}, table.vectors)
    with pytest.raises(
        ArtifactError, match=r"of others than 'minilm': run `linkwalk index .* --dense` again"
    ):
        Dense.open(workspace, other)
    file = workspace / "index" / "dense" / "vectors.usearch"
    data = file.read_bytes()
    for damage in (b"", data[: len(data) // 2], b"\xa5" * 1000):
        file.write_bytes(damage)
        with pytest.raises(
            ArtifactError, match=r"is damaged \(.*\): run `linkwalk index .* --dense --force`"
        ):
            Dense.open(workspace, table)
    file.unlink()
    with pytest.raises(ArtifactError, match="is damaged"):
        Dense.open(workspace, table)
    assert index_dense(workspace, table)[1] == ROWS
    monkeypatch.setitem(sys.modules, "usearch", None)
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(InputError, match=r"usearch is not installed: pip install 'linkwalk\[find\]'"):
        Dense.open(workspace, table)


def test_a_disk_that_takes_no_more(made: Path, tmp_path: Path) -> None:
    workspace = Path(shutil.copytree(made, tmp_path / "wiki"))
    said = said_when_full(workspace, "dense", 20_000)
    assert f"{workspace}/dense.partial/dense cannot be written (RuntimeError: " in said
    assert recall(workspace) > 0.97
