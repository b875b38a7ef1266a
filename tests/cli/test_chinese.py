"""A small wiki in Chinese from its dump to an answer: nothing is said but what the dump says."""

from collections.abc import Callable
from pathlib import Path

import pytest

from linkwalk.graph.store import Graph
from tests.cli.conftest import Ran
from tests.conftest import Once

DUMP = Path(__file__).parents[1] / "data" / "zh-pages-articles.xml"
Run = Callable[..., Ran]


@pytest.fixture
def chinese(once: Once, run: Run) -> Path:
    def make(folder: Path) -> None:
        assert run("build", DUMP, "-o", folder / "wiki", "-q").status == 0
        embedded = run("embed", folder / "wiki", "-q")
        assert "words: the wiki's language is zh" in embedded.out
        assert "every character of Chinese or Japanese" in run("index", folder / "wiki", "-q").out

    return once("chinese", make) / "wiki"


def test_no_article_is_lost_and_sentences_end_at_their_own_marks(chinese: Path) -> None:
    graph = Graph.open(chinese)
    assert (graph.articles, graph.language) == (49, "zh")
    beijing = graph.block(graph.find("北京"))
    assert [sentence[-1] for sentence in beijing.sentences] == ["。"] * 3
    assert beijing.sentences[0] == "北京是中国的首都，有三千多年的历史。"
    assert graph.title(graph.find("扬子江")) == "长江", "a redirect"


def test_one_finds_the_way(chinese: Path, run: Run) -> None:
    walk = run("walk", chinese, "--from", "企鹅", "--to", "金字塔", "--json").json()
    assert (walk["agent"], walk["success"]) == ("greedy-map", True)
    towards = run(
        "walk", chinese, "--from", "河流", "--sentence", "古代埃及国王的坟墓用石块砌成", "--json"
    ).json()
    assert towards["closest"]["place"]["title"] == "金字塔"


def test_a_question_is_answered(chinese: Path, run: Run) -> None:
    asked = run("find", chinese, "中国的首都是哪个城市？", "--json").json()
    assert {"北京是中国的首都，有三千多年的历史。"} <= {found["sentence"] for found in asked["evidence"][:2]}
