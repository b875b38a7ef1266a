"""Embeddings of a half, taken from the whole's."""

from pathlib import Path

import numpy as np
import pytest

from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.embed.store import carry
from linkwalk.embed.transformer import TransformerEncoder
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.split import nodes_of_half, split
from linkwalk.graph.store import Graph


@pytest.mark.usefixtures("graph")
def test_a_half_has_what_embedding_it_would_give(
    minilm: TransformerEncoder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("linkwalk.embed.job.open_encoder", lambda *_, **__: minilm)
    graph = Graph.open(tmp_path / "wiki")
    embed(tmp_path / "wiki", device="cpu")
    whole = Embeddings.open(tmp_path / "wiki", graph=graph)
    for half in split(graph, tmp_path / "halves"):
        part = Graph.open(half.workspace)
        carry(whole, half.workspace, part, nodes_of_half(graph, part))
        carried = Embeddings.open(half.workspace, graph=part)
        embed(half.workspace, name="anew", device="cpu")
        anew = Embeddings.open(half.workspace, "anew", part)
        sums = {"files", "checksum"}  # of numbers that batches of other sizes round otherwise
        assert {**carried.manifest, **dict.fromkeys(sums)} == {**anew.manifest, **dict.fromkeys(sums)}
        assert np.abs(carried.vectors.astype(np.float32) - anew.vectors).max() < 1e-3
        names = [path.name for path in sorted((half.workspace / "embeddings").iterdir())]
        assert names == ["anew", "minilm-walks"]


def test_what_cannot_be_carried(graph: Graph, tmp_path: Path) -> None:
    embed(tmp_path / "wiki", EmbedConfig(encoder="random", width=16))
    table = Embeddings.open(tmp_path / "wiki", "random", graph)
    with pytest.raises(InputError, match="drawn for each graph"):
        carry(table, tmp_path / "other", graph, np.arange(graph.nodes))
    table.manifest["encoder"] = "minilm"
    with pytest.raises(InputError, match="3 rows do not fit"):
        carry(table, tmp_path / "other", graph, np.arange(3))
    with pytest.raises(ArtifactError):
        Embeddings.open(tmp_path / "other", "random", graph)
