"""A model's folder from a stranger: none of its code is run, whatever it says and whatever is answered."""

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from linkwalk.graph.store import Graph
from tests.cli.conftest import Ran
from tests.embed.conftest import tiny_bert

Run = Callable[..., Ran]
CODE = """
from pathlib import Path

from transformers import BertConfig, BertModel

Path({marker!r}).write_text("run")


class Config(BertConfig):
    model_type = "strange"


class Model(BertModel):
    config_class = Config
"""


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the stranger's code would write; whoever asks is answered yes."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 20))
    return tmp_path / "marker"


def poison(folder: Path, marker: Path, *, kind: str, tokenizer: bool = False) -> Path:
    """Give a model code of its own."""
    (folder / "strange.py").write_text(CODE.format(marker=str(marker)))
    config = json.loads((folder / "config.json").read_bytes()) | {"model_type": kind}
    names = {"AutoConfig": "Config", "AutoModel": "Model", "AutoModelForSequenceClassification": "Model"}
    if tokenizer:
        path, code = folder / "tokenizer_config.json", {"AutoTokenizer": ["strange.Model", None]}
        path.write_text(json.dumps(json.loads(path.read_bytes()) | {"auto_map": code}))
    else:
        config["auto_map"] = {name: f"strange.{what}" for name, what in names.items()}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def assert_refused(ran: Ran, folder: Path, marker: Path) -> None:
    assert not marker.exists()
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1), ran
    assert f"the model in {folder} brings code of its own (auto_map in " in ran.err
    assert "which is never run: choose another" in ran.err


@pytest.mark.parametrize(("kind", "tokenizer"), [("strange", False), ("bert", False), ("bert", True)])
def test_its_code_is_not_run(
    run: Run, wiki: Path, tmp_path: Path, marker: Path, kind: str, tokenizer: bool
) -> None:
    folder = poison(tiny_bert(tmp_path / "model"), marker, kind=kind, tokenizer=tokenizer)
    ran = run("embed", wiki, "--encoder", folder, "--name", "x", "--device", "cpu", "-q")
    assert_refused(ran, folder, marker)


def test_as_a_reranker(run: Run, embedded_world: Path, tmp_path: Path, marker: Path) -> None:
    wiki = shutil.copytree(embedded_world, tmp_path / "wiki")
    assert run("index", wiki, "-q").status == 0
    folder = tiny_bert(tmp_path / "model", "BertForSequenceClassification", num_labels=1)
    poison(folder, marker, kind="strange")
    ran = run("find", wiki, "stone", "--rerank", folder, "--navigation", "none")
    assert_refused(ran, folder, marker)


def test_of_a_workspace_whose_embeddings_name_it(run: Run, wiki: Path, tmp_path: Path, marker: Path) -> None:
    """Its weights are as they were, so it is the model that made them."""
    folder = tiny_bert(tmp_path / "model")
    made = run("embed", wiki, "--encoder", folder, "--name", "x", "--device", "cpu", "-q")
    assert made.status == 0, made.err
    poison(folder, marker, kind="strange")
    options = ("--sentence", "some words", "--embeddings", "x", "--agent", "greedy")
    assert_refused(run("walk", wiki, "--from", Graph.open(wiki).name(0), *options), folder, marker)
