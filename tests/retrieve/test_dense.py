"""The index of embeddings beside the exact search, after a kill, and where it cannot be used."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from linkwalk.artifact import digest, seal
from linkwalk.embed.store import Embeddings, folder_of
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.store import Graph
from linkwalk.navigate.cosine import unit_rows
from linkwalk.navigate.journeys import Float32s
from linkwalk.progress import Progress, Stage
from linkwalk.retrieve.bm25 import update
from linkwalk.retrieve.dense import Dense, index_dense
from linkwalk.retrieve.starts import Near, nearest_many
from tests.graph.conftest import Page, write_graph
from tests.retrieve.test_bm25 import Stop

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
        assert dense.nearest(meaning, 10).tolist() == rows.tolist()
        scores = unit_rows(table.vectors[rows]) @ meaning
        assert (np.diff(scores) <= 1e-6).all(), "the closest come first"
    return float(
        np.mean([len(set(a) & set(b.tolist())) / 10 for a, b in zip(exact.tolist(), found, strict=True)])
    )


def test_nearly_all_of_the_nearest_are_found(made: Path) -> None:
    assert recall(made) > 0.97
    dense = Dense.open(made, Embeddings.open(made))
    assert dense.nearest(topics(1, 2)[0], 0).tolist() == []
    assert len(set(dense.nearest(unit_rows(topics(1, 2))[0], 500).tolist())) == 500
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


def test_bm25_and_embeddings_share_the_folder(made: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "wiki"
    shutil.copytree(made, workspace)
    graph = Graph.open(workspace)
    assert update(workspace, graph).whole
    assert recall(workspace) > 0.97, "an index of this graph is taken along"
    newer = write_graph(workspace, {"A": [Page("x"), Page("y")]}, name="newer")
    update(workspace, newer)
    assert not (workspace / "index" / "dense").exists(), "one of another graph is not"


def test_an_index_of_embeddings_that_cannot_be_used(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / "wiki"
    shutil.copytree(made, workspace)
    table = Embeddings.open(workspace)
    other = Embeddings("minilm", table.manifest | {"encoder_fingerprint": "other"}, table.vectors)
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
