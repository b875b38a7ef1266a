"""``linkwalk train-encoder``: an encoder is made once, and embeds."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran
from tests.embed.conftest import tiny_bert

Run = Callable[..., Ran]
QUICK = ("--set", "updates=2", "--set", "batch=8", "--set", "max_tokens=32", "--set", "steps=3", "-q")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return tiny_bert(tmp_path / "tiny")


def test_an_encoder_is_trained_once_and_embeds(run: Run, wiki: Path, tiny: Path) -> None:
    train = ("train-encoder", wiki, "--encoder", tiny, "--name", "mine", "--device", "cpu")
    made = run(*train, *QUICK, "--json").json()
    folder = wiki / "encoders" / "mine"
    assert made["encoder"] == str(folder)
    assert made["last"]["update"] == 2
    before = (folder / "model.safetensors").stat().st_mtime_ns
    assert run(*train, *QUICK).status == 0
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
    assert run("embed", wiki, "--encoder", folder, "--tanh", "--name", "mine", "-q").status == 0

    other = run(*train, *QUICK, "--set", "updates=3")
    assert other.status == 2
    assert "another training (config.updates was 2, is 3)" in other.err
    assert "no recipe named 'x'" in run(*train, "--recipe", "x").err
    assert "head.head=residual" in run(*train, "--set", "head.head=residual", "--force").err
