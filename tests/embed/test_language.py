"""Which encoder is taken where nobody names one."""

import json
from pathlib import Path

import pytest

from linkwalk.artifact import seal
from linkwalk.embed import EmbedConfig, embed
from linkwalk.embed.text import choose_encoder, english_share, is_english
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress
from tests.graph.conftest import Page, write_graph

ENGLISH = (
    "The river rises in the hills of the north, and by the time it has reached the sea it is a mile wide."
)
TEXTS = {
    "Latgalian": "Latgale ir vīns nu Latvejis kulturviesturiskūs nūvodu, kas atsarūn Latvejis pušdīnvokoru daļā.",
    "German": "Der Fluss entspringt in den Bergen des Nordens und ist an der Mündung in das Meer eine Meile breit.",
    "Dutch": "De rivier ontspringt in de heuvels van het noorden en is bij de monding in zee een mijl breed of meer.",
    "Danish": "Floden har sit udspring i bakkerne mod nord og er en mil bred, for så vidt den når ud i havet.",
    "Chinese": "這條河發源於北部的山丘，流到海邊時已有一英里寬。",
    "Russian": "Река берёт начало в северных холмах и у самого моря достигает мили в ширину.",
}


def written(workspace: Path, text: str, language: str | None = None) -> Graph:
    graph = write_graph(workspace, {f"Page {i}": [Page(text)] for i in range(3)})
    if language is None:
        return graph
    manifest = json.loads((graph.folder / "manifest.json").read_bytes())
    manifest["snapshot"]["language"] = language
    seal(graph.folder, manifest)
    return Graph.open(workspace)


@pytest.mark.parametrize("name", TEXTS)
def test_other_languages_are_read_by_words(name: str, tmp_path: Path) -> None:
    encoder, why = choose_encoder(written(tmp_path, TEXTS[name]))
    assert encoder == "words"
    assert "not English" in why


def test_english_is_read_by_minilm(tmp_path: Path) -> None:
    graph = written(tmp_path, ENGLISH)
    encoder, why = choose_encoder(graph)
    assert (encoder, why.partition(", ")[2]) == ("minilm-walks", "so it is English, which minilm-walks reads")
    assert english_share(graph) > 0.15


def test_what_the_wiki_says_counts_more_than_what_it_looks_like(tmp_path: Path) -> None:
    encoder, why = choose_encoder(written(tmp_path / "a", ENGLISH, "ltg"))
    assert (encoder, why) == ("words", "the wiki's language is ltg, and minilm reads English alone")
    assert choose_encoder(written(tmp_path / "b", TEXTS["German"], "en-GB"))[0] == "minilm-walks"


@pytest.mark.parametrize(
    ("language", "english"),
    [("en", True), ("en_US", True), ("English", True), ("simple", True), ("enm", False), ("ltg", False)],
)
def test_names_of_english(language: str, english: bool) -> None:
    assert is_english(language) == english


def test_without_its_package_minilm_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwalk.embed.model.MINILM_PACKAGE", "no_such_package")
    encoder, why = choose_encoder(written(tmp_path, ENGLISH))
    assert encoder == "words"
    assert why.endswith("but minilm is not installed")


def test_embed_says_which_was_taken_and_why(tmp_path: Path) -> None:
    written(tmp_path, TEXTS["Latgalian"], "ltg")
    result = embed(tmp_path, EmbedConfig(width=8))
    assert result.name == "words"
    assert result.why.startswith("the wiki's language is ltg")
    assert embed(tmp_path, EmbedConfig(encoder="words", width=8)).why == ""


@pytest.mark.parametrize("name", ["minilm", "minilm-walks"])
def test_minilm_by_name_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("linkwalk.embed.job._source", lambda *_: 1 / 0)  # what comes next takes long
    written(tmp_path, TEXTS["Latgalian"], "ltg")
    with pytest.raises(ZeroDivisionError):
        embed(tmp_path, EmbedConfig(encoder=name), progress=Progress(quiet=True))
    said = capsys.readouterr().err
    assert said == (
        f"warning: the wiki's language is ltg, but {name} reads English alone: `words` reads any language\n"
    )
