"""Which model a name stands for, and that it is the one it should be."""

import importlib.util
import sys
from pathlib import Path

import pytest

from linkwalk.embed import model
from linkwalk.embed.model import find_model
from linkwalk.errors import InputError


def test_minilm_is_the_pinned_one_by_either_way() -> None:
    by_name = find_model("minilm")
    assert find_model(str(by_name.path)) == by_name


def test_other_weights_under_its_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MINILM_SHA256", "0" * 64)
    with pytest.raises(InputError, match="SHA-256"):
        find_model("minilm")


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'linkwalk\[find\]'"):
        find_model("minilm")


def test_a_name_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def refuse(*_: object, **__: object) -> str:
        raise ConnectionError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(
        InputError, match=r"neither minilm-walks, minilm, words, random nor a folder here.*ConnectionError"
    ):
        find_model("nobody/nothing")


def test_without_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r"pip install 'linkwalk\[train\]'"):
        find_model("nobody/nothing")


def test_folders_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a Hugging Face model"):
        find_model(str(tmp_path))
    file = tmp_path / "weights.safetensors"
    file.write_bytes(b"")
    with pytest.raises(InputError, match="is a file"):
        find_model(str(file))


def test_a_model_is_its_weights_and_vocabulary(tmp_path: Path) -> None:
    for name, text in {"config.json": "{}", "model.safetensors": "w", "tokenizer.json": "t"}.items():
        (tmp_path / name).write_text(text)
    first = find_model(str(tmp_path)).fingerprint
    (tmp_path / "README.md").write_text("words")
    assert find_model(str(tmp_path)).fingerprint == first
    (tmp_path / "tokenizer.json").write_text("other")
    assert find_model(str(tmp_path)).fingerprint != first
