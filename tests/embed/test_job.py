"""Embedding a graph: whole, in parts, stopped and gone on, and when the graph has changed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from linkwalk.artifact import faults, locked, notes
from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.embed.job import default_name, random_features
from linkwalk.embed.text import node_texts
from linkwalk.embed.transformer import TransformerEncoder
from linkwalk.errors import ArtifactError, DamagedError, InputError, LinkwalkError
from linkwalk.graph.store import Graph
from tests.embed.conftest import pages
from tests.graph.conftest import write_graph

RANDOM = EmbedConfig(encoder="random", seed=3, width=16, shard_blocks=3)


def files(workspace: Path, name: str = "random") -> dict[str, bytes]:
    """Every file of the artefact."""
    return {path.name: path.read_bytes() for path in sorted((workspace / "embeddings" / name).iterdir())}


@pytest.fixture
def same_minilm(minilm: TransformerEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder that is loaded already, instead of loading it for each run."""
    monkeypatch.setattr("linkwalk.embed.job.open_encoder", lambda *_, **__: minilm)


@pytest.mark.usefixtures("same_minilm")
def test_minilm_of_every_block(graph: Graph, minilm: TransformerEncoder, tmp_path: Path) -> None:
    result = embed(tmp_path / "wiki", EmbedConfig(shard_blocks=8), device="cpu")
    assert (result.shards, result.made, result.missing, result.name) == (3, 3, 0, "minilm-walks")
    found = Embeddings.open(tmp_path / "wiki", graph=graph)
    assert (found.vectors.dtype, found.width, found.name) == (np.float16, 384, "minilm-walks")
    assert not found.vectors.flags.writeable
    expected = minilm.encode(node_texts(graph, 0, graph.nodes))
    assert np.abs(found.vectors - expected).max() < 1e-3
    assert found.manifest == result.manifest
    assert found.manifest["graph"] == graph.fingerprint
    assert found.manifest["encoder"] == "minilm-walks"
    assert list(files(tmp_path / "wiki", "minilm-walks")) == ["manifest.json", "vectors.npy"]
    # Where opening came late, that it was looked at is noted beside it.
    there = {path.name for path in (tmp_path / "wiki" / "embeddings").iterdir()}
    assert there - {notes.NOTE} == {"minilm-walks"}


@pytest.mark.usefixtures("same_minilm")
def test_going_on_gives_the_same_bytes(graph: Graph, tmp_path: Path) -> None:
    config = EmbedConfig(shard_blocks=4)
    embed(tmp_path / "wiki", config, name="whole", device="cpu")
    part = embed(tmp_path / "wiki", config, name="parts", only=(0, 4), device="cpu")
    assert (part.made, part.missing, part.manifest) == (4, 1, None)
    for shard in sorted(part.partial.glob("shard-*"))[::2]:
        shard.unlink()
    (part.partial / "shard-000001.npy").write_bytes(b"half a sha")
    rest = embed(tmp_path / "wiki", config, name="parts", device="cpu")
    assert (rest.made, rest.missing) == (4, 0)
    assert files(tmp_path / "wiki", "whole") == files(tmp_path / "wiki", "parts")


def test_killed_between_shards(graph: Graph, tmp_path: Path) -> None:
    script = f"""
import os
from linkwalk.embed import EmbedConfig, embed
from linkwalk.embed.shards import Shards
write = Shards.write
def dying(self, number, vectors):
    if number == 3:
        self.path(number).with_suffix(".1.partial").write_bytes(b"half")
        os._exit(9)
    write(self, number, vectors)
Shards.write = dying
embed({str(tmp_path / "wiki")!r}, EmbedConfig(encoder="random", seed=3, width=16, shard_blocks=3))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    folder = tmp_path / "wiki" / "embeddings" / "random.partial"
    assert len(list(folder.glob("shard-*.npy"))) == 3
    with pytest.raises(ArtifactError, match="linkwalk embed"):
        Embeddings.open(tmp_path / "wiki", "random")
    result = embed(tmp_path / "wiki", RANDOM)
    assert (result.made, result.shards) == (4, 7)
    embed(tmp_path / "wiki", RANDOM, name="straight")
    assert files(tmp_path / "wiki") == files(tmp_path / "wiki", "straight")
    assert not folder.exists()


def test_random_needs_no_torch(graph: Graph, tmp_path: Path) -> None:
    script = f"""
import sys
for name in ("torch", "transformers", "rapidfuzz", "zstandard", "tantivy", "rich", "typer"):
    sys.modules[name] = None
from linkwalk.embed import EmbedConfig, embed
embed({str(tmp_path / "wiki")!r}, EmbedConfig(encoder="random", seed=3, width=16))
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    vectors = Embeddings.open(tmp_path / "wiki", "random").vectors
    assert np.array_equal(vectors, random_features(0, graph.nodes, seed=3, width=16).astype(np.float16))


def test_done_is_done(graph: Graph, tmp_path: Path) -> None:
    first = embed(tmp_path / "wiki", RANDOM)
    before = (tmp_path / "wiki/embeddings/random/vectors.npy").stat().st_ino
    again = embed(tmp_path / "wiki", RANDOM)
    assert (again.made, again.manifest) == (0, first.manifest)
    assert (tmp_path / "wiki/embeddings/random/vectors.npy").stat().st_ino == before
    assert embed(tmp_path / "wiki", RANDOM, force=True).made == 7


def test_shards_of_two_machines_meet(graph: Graph, tmp_path: Path) -> None:
    here, there = tmp_path / "wiki", tmp_path / "there"
    write_graph(there, pages())
    embed(here, RANDOM, name="alone")
    embed(here, RANDOM, only=(0, 2))
    away = embed(there, RANDOM, only=(1, 7), name="other-name")
    brought = embed(here, RANDOM, imports=[away.partial])
    assert (brought.made, brought.imported, brought.missing) == (0, 5, 0)
    assert files(here) == files(here, "alone")


def test_shards_that_do_not_fit(graph: Graph, tmp_path: Path) -> None:
    here, there = tmp_path / "wiki", tmp_path / "there"
    write_graph(there, pages(9))
    away = embed(there, RANDOM, only=(0, 1))
    with pytest.raises(InputError, match="another graph"):
        embed(here, RANDOM, imports=[away.partial])
    away = embed(here, EmbedConfig(encoder="random", width=8, shard_blocks=3), name="b", only=(0, 1))
    with pytest.raises(InputError, match="another encoder or other options"):
        embed(here, RANDOM, imports=[away.partial])
    with pytest.raises(InputError, match="holds no shards"):
        embed(here, RANDOM, imports=[tmp_path])
    away = embed(here, RANDOM, name="c", only=(0, 2))
    (away.partial / "shard-000001.npy").write_bytes(b"x")
    with pytest.raises(InputError, match=r"shard-000001.npy is damaged"):
        embed(here, RANDOM, imports=[away.partial])


def test_other_options_need_a_word(graph: Graph, tmp_path: Path) -> None:
    other = EmbedConfig(encoder="random", seed=4, width=16, shard_blocks=3)
    embed(tmp_path / "wiki", RANDOM, only=(0, 2))
    with pytest.raises(InputError, match=r"another name, or .* by force"):
        embed(tmp_path / "wiki", other)
    embed(tmp_path / "wiki", RANDOM)
    with pytest.raises(InputError, match=r"another name, or .* by force"):
        embed(tmp_path / "wiki", other)
    embed(tmp_path / "wiki", other, force=True)
    vectors = Embeddings.open(tmp_path / "wiki", "random").vectors
    assert np.array_equal(vectors, random_features(0, graph.nodes, seed=4, width=16).astype(np.float16))


def test_a_run_that_failed_at_once_is_in_nobodys_way(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="max_tokens=600: this encoder reads 3 to"):
        embed(tmp_path / "wiki", EmbedConfig(max_tokens=600), name="a", device="cpu")
    assert embed(tmp_path / "wiki", RANDOM, name="a").missing == 0


def test_a_changed_graph(graph: Graph, tmp_path: Path) -> None:
    embed(tmp_path / "wiki", RANDOM)
    embed(tmp_path / "wiki", RANDOM, name="begun", only=(0, 2))
    changed = write_graph(tmp_path / "wiki", pages(12))
    with pytest.raises(ArtifactError, match=r"another graph: run `linkwalk embed .* --encoder random` again"):
        Embeddings.open(tmp_path / "wiki", "random")
    assert embed(tmp_path / "wiki", RANDOM).made == 8
    assert len(Embeddings.open(tmp_path / "wiki", "random", changed).vectors) == changed.nodes == 24
    assert embed(tmp_path / "wiki", RANDOM, name="begun").made == 8


def test_names(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"no embeddings in .*wiki: run `linkwalk embed .*wiki` first"):
        Embeddings.open(tmp_path / "wiki")
    embed(tmp_path / "wiki", RANDOM)
    shutil.copytree(tmp_path / "wiki/embeddings/random", tmp_path / "wiki/embeddings/random (copy)")
    assert Embeddings.open(tmp_path / "wiki").name == "random"
    with pytest.raises(ArtifactError, match=r"no embeddings named 'minilm' .*\(there are: random\)"):
        Embeddings.open(tmp_path / "wiki", "minilm")
    for name in ("", "../graph", "a/b", ".hidden", "x.partial", "x.old", "two words"):
        with pytest.raises(InputError, match="cannot name embeddings"):
            Embeddings.open(tmp_path / "wiki", name)
    assert default_name(EmbedConfig(encoder="FacebookAI/roberta-base")) == "roberta-base"
    (tmp_path / "my-model").mkdir()
    assert default_name(EmbedConfig(encoder=f"{tmp_path}/my-model/")) == "my-model"


def test_a_damaged_table(graph: Graph, tmp_path: Path) -> None:
    embed(tmp_path / "wiki", RANDOM)
    path = tmp_path / "wiki/embeddings/random/vectors.npy"
    whole = path.read_bytes()
    for damaged in (whole[:200], b"", whole[:50]):
        path.write_bytes(damaged)
        with pytest.raises(ArtifactError, match="is damaged"):
            Embeddings.open(tmp_path / "wiki", "random")
    np.save(path, np.zeros((3, 16), np.float16))
    with pytest.raises(ArtifactError, match="is damaged"):
        Embeddings.open(tmp_path / "wiki", "random")
    embed(tmp_path / "wiki", RANDOM)
    assert path.read_bytes() == whole


def test_the_encoder_of_a_table(graph: Graph, tmp_path: Path, minilm: TransformerEncoder) -> None:
    embed(tmp_path / "wiki", RANDOM)
    table = Embeddings.open(tmp_path / "wiki", "random")
    with pytest.raises(InputError, match="cannot read text"):
        table.encoder()
    table.manifest.update(
        encoder="minilm", model_fingerprint="other", config={"max_tokens": 50, "tanh": True}
    )
    with pytest.raises(ArtifactError, match="not the one that made"):
        table.encoder()


def test_too_large_for_half_precision(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "linkwalk.embed.job.random_features", lambda a, b, **_: np.full((b - a, 16), 7e4, np.float32)
    )
    with pytest.raises(InputError, match="half precision"):
        embed(tmp_path / "wiki", RANDOM)


def test_an_empty_graph(tmp_path: Path) -> None:
    write_graph(tmp_path / "wiki", {})
    result = embed(tmp_path / "wiki", RANDOM)
    assert (result.shards, result.missing) == (0, 0)
    assert Embeddings.open(tmp_path / "wiki", "random").vectors.shape == (0, 16)


def test_which_shards(graph: Graph, tmp_path: Path) -> None:
    for only in ((0, 8), (3, 3), (5, 2)):
        with pytest.raises(InputError, match="0 to 6"):
            embed(tmp_path / "wiki", RANDOM, only=only)


def test_the_manifest_knows_no_machine(graph: Graph, tmp_path: Path) -> None:
    embed(tmp_path / "wiki", RANDOM)
    manifest = json.loads(files(tmp_path / "wiki")["manifest.json"])
    assert manifest["config"] == {"seed": 3, "width": 16, "shard_blocks": 3}
    assert str(tmp_path) not in json.dumps(manifest)


def test_a_damaged_shard_is_made_again(graph: Graph, tmp_path: Path) -> None:
    embed(tmp_path / "wiki", RANDOM, name="whole")
    part = embed(tmp_path / "wiki", RANDOM, only=(0, 4))
    for number, place in ((0, -40), (1, 20), (2, -1)):  # a value, the header, the checksum
        path = part.partial / f"shard-{number:06}.npy"
        data = bytearray(path.read_bytes())
        data[place] ^= 1
        path.write_bytes(data)
    rest = embed(tmp_path / "wiki", RANDOM)
    assert rest.made == rest.shards - 1
    assert files(tmp_path / "wiki") == files(tmp_path / "wiki", "whole")


@pytest.mark.slow
@pytest.mark.usefixtures("graph")
def test_two_at_once(tmp_path: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "linkwalk",
        "embed",
        str(tmp_path / "wiki"),
        "--encoder",
        "random",
        "--force",
    ]
    for _ in range(3):
        both = [
            subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in "ab"
        ]
        ended = [(process.communicate(), process.returncode) for process in both]
        assert 0 in {status for _, status in ended}
        for (_, err), status in ended:
            assert "Traceback" not in err
            assert status == 0 or (status == 2 and "another process is writing" in err)
        assert list(faults(tmp_path / "wiki" / "embeddings" / "random", "embeddings")) == []
    with (
        locked(tmp_path / "wiki" / "embeddings" / "random"),
        pytest.raises(LinkwalkError, match="another process"),
    ):
        embed(tmp_path / "wiki", EmbedConfig(encoder="random"), force=True)


def test_a_damaged_table_is_made_again(graph: Graph, tmp_path: Path) -> None:
    embed(tmp_path / "wiki", RANDOM)
    whole = files(tmp_path / "wiki")
    path = tmp_path / "wiki" / "embeddings" / "random" / "vectors.npy"
    data = bytearray(whole["vectors.npy"])
    data[-3] ^= 8
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=r"vectors\.npy is damaged .* --force"):
        Embeddings.open(tmp_path / "wiki", "random", graph)
    assert embed(tmp_path / "wiki", RANDOM).made
    assert files(tmp_path / "wiki") == whole
