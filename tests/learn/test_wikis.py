"""An encoder and its compass trained on two wikis: they learn, go on where they stopped, and walk a third."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.encoders.joint import Joint, JointConfig
from linkwalk.learn.encoders.lessons import LessonConfig
from linkwalk.learn.encoders.wikis import save_joint, train_on_wikis
from linkwalk.learn.metrics import read_rows
from linkwalk.learn.state import read_state
from linkwalk.policy.checkpoint import open_policy
from linkwalk.policy.target import load_target
from tests.embed.conftest import tiny_bert

QUICK = JointConfig(
    updates=12,
    warmup=1,
    learning_rate=3e-3,
    head_rate=1.0,
    lessons=2,
    lesson=LessonConfig(goals=8, steps=6, links=4),
    refresh_every=5,
    ahead=0,
    kept_rank=4,
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("model") / "tiny"))


@pytest.fixture(scope="module")
def graphs(embedded_world: Path) -> list[Graph]:
    return [Graph.open(embedded_world)] * 2


@pytest.fixture(scope="module")
def trained(graphs: list[Graph], tiny: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Joint, Path]:
    folder = tmp_path_factory.mktemp("training") / "joint"
    return train_on_wikis(graphs, tiny, QUICK, folder=folder), folder


def test_the_loss_falls(trained: tuple[Joint, Path]) -> None:
    rows = read_rows(trained[1])
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert {"step", "wiki", "sentence", "search", "accuracy"} <= rows[-1].keys()


def test_walkers_see_what_the_encoder_sees(trained: tuple[Joint, Path]) -> None:
    joint = trained[0]
    joint.refresh()
    np.testing.assert_allclose(joint.grounds[1].table, joint.phi.table(1), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(joint.grounds[0].table, axis=1), 1, atol=1e-5)


def test_a_stopped_training_goes_on(
    graphs: list[Graph], tiny: str, trained: tuple[Joint, Path], tmp_path: Path
) -> None:
    # Without a table that is read now and then, all that the next update depends on is saved.
    config = replace(QUICK, refresh_every=1)
    whole = train_on_wikis(graphs, tiny, config)
    half = tmp_path / "half"
    train_on_wikis(
        graphs, tiny, replace(config, updates=6, schedule="constant"), folder=half, checkpoint_every=6
    )
    saved = read_state(half)
    assert saved is not None
    assert saved.update == 6
    on = train_on_wikis(graphs, tiny, replace(config, schedule="constant"), folder=half, resume=saved)
    assert {name: value.shape for name, value in on.weights().items()} == {
        n: v.shape for n, v in whole.weights().items()
    }


def test_it_becomes_a_policy_that_brings_its_encoder(
    trained: tuple[Joint, Path], tiny: str, embedded_world: Path, tmp_path: Path
) -> None:
    wiki = Path(shutil.copytree(embedded_world, tmp_path / "wiki"))
    folder = wiki / "policies" / "mine"
    manifest = save_joint(folder, trained[0], tiny, {"trained_on": {}})
    done = embed(wiki, EmbedConfig(encoder=str(folder)))
    assert done.manifest is not None
    assert done.manifest["encoder_fingerprint"] == manifest["encoder"]
    table = Embeddings.open(wiki, "mine")
    directions = open_policy(folder, table.fingerprint).directions(table.vectors[:3].astype(np.float32))  # type: ignore[union-attr,operator]
    assert directions.shape == (3, trained[0].phi.width)
    reader = load_target(folder, table)
    assert reader is not None
    assert np.isfinite(reader.encode(["A sentence."])).all()


def test_trust_says_how_far_from_the_first_weights(
    trained: tuple[Joint, Path], tiny: str, tmp_path: Path
) -> None:
    joint = trained[0]
    joint.config, settings = replace(joint.config, trust=0.0), joint.config
    save_joint(tmp_path / "none", joint, tiny, {})
    joint.config = settings
    from linkwalk.embed import open_encoder

    texts = ["Rivers and bridges.", "Copper conducts heat."]
    plain = open_encoder(tiny, device="cpu").encode(texts)
    np.testing.assert_allclose(
        open_encoder(str(tmp_path / "none"), device="cpu").encode(texts), plain, atol=1e-6
    )
    save_joint(tmp_path / "some", joint, tiny, {})
    assert np.abs(open_encoder(str(tmp_path / "some"), device="cpu").encode(texts) - plain).max() > 1e-3


def test_what_was_trained_is_not_trained_again(
    trained: tuple[Joint, Path], graphs: list[Graph], tiny: str, tmp_path: Path
) -> None:
    save_joint(tmp_path / "once", trained[0], tiny, {})
    with pytest.raises(InputError, match="trained already"):
        train_on_wikis(graphs, str(tmp_path / "once"), QUICK)
