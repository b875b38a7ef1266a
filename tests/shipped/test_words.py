"""The words ``demo`` and ``demo2`` stand for the bundled dumps."""

import json
from pathlib import Path

import pytest

from linkwalk.cli import main
from linkwalk.shipped import EDITIONS, dump_path


@pytest.mark.parametrize("word", EDITIONS)
def test_a_word_in_place_of_a_path(word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["build", word, "-o", str(tmp_path / "wiki"), "--workers", "1", "--json", "-q"])
    assert not stop.value.code
    manifest = json.loads(capsys.readouterr().out)
    assert manifest["inputs"][0]["name"] == EDITIONS[word]
    assert manifest["counts"]["articles"] >= 200


def test_other_words_are_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dump_path("demo3") is None
    with pytest.raises(SystemExit) as stop:
        main(["build", "demo3", "-o", str(tmp_path / "wiki")])
    assert stop.value.code == 2
    assert capsys.readouterr().err == "error: no such file: demo3\n"
