"""Evidence by parts of one's own: objects that rank, walk, or say where to look."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwalk import Wiki
from linkwalk.arrays import Float32s
from linkwalk.errors import InputError
from linkwalk.navigate import MoveConfig, open_baseline
from linkwalk.navigate.journeys import Episodes, Journeys
from linkwalk.wiki.workspace import Workspace


class Backwards:
    """Ranks what was read last first, by its place among the sentences."""

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> list[float]:
        return list(map(float, range(len(sentences))))


class Away:
    """Says to look the other way."""

    name = "away"

    def directions(self, goals: Float32s) -> Float32s:
        return -goals


@pytest.fixture(scope="module")
def query(walked: Wiki) -> str:
    return " ".join(walked.graph.texts[3].split()[:8])


def test_a_reranker_of_ones_own(walked: Wiki, query: str) -> None:
    read = walked.find(query, 1000, navigation="none", rerank="none")
    ranked = walked.find(query, 1000, navigation="none", rerank=Backwards())
    assert [one.sentence for one in ranked.evidence] == [one.sentence for one in reversed(read.evidence)]
    assert (ranked.rerank, ranked.blocks) == ("Backwards", read.blocks)
    with pytest.raises(InputError, match=r"^int is no reranker: it is to be called with a query, titles and"):
        walked.find(query, rerank=3)


def test_an_agent_of_ones_own_walks(walked: Wiki, query: str) -> None:
    """An object finds what the agent of that name finds."""
    workspace = Workspace(walked.folder, walked.graph, "minilm-walks")
    vectors = workspace.units(workspace.table())
    greedy = open_baseline("greedy-unvisited", walked.graph.forward, vectors, MoveConfig())
    options: dict[str, Any] = {"navigation": "walks", "rerank": "tfidf", "starts": 2, "steps": 4}
    assert walked.find(query, 50, agent=greedy, **options) == walked.find(
        query, 50, agent="greedy-unvisited", **options
    )
    with pytest.raises(
        InputError, match=r"^away does not walk: let it say where to look, with tabs or order"
    ):
        walked.find(query, agent=Away(), **options)


@pytest.mark.parametrize("way", ["tabs", "order"])
def test_who_says_where_to_look(way: str, walked: Wiki, query: str) -> None:
    away = walked.find(query, 1000, agent=Away(), navigation=way, rerank="none", candidates=6)
    straight = walked.find(query, 1000, agent="greedy", navigation=way, rerank="none", candidates=6)
    assert (away.agent, straight.agent) == ("away", "greedy")
    assert [one.place for one in away.evidence] != [one.place for one in straight.evidence]

    class Straight(Away):
        name = "greedy"

        def directions(self, goals: Float32s) -> Float32s:
            return goals

    again = walked.find(query, 1000, agent=Straight(), navigation=way, rerank="none", candidates=6)
    assert again == straight


def test_one_by_its_name(walked: Wiki, query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "looks_away.py").write_text(
        "class Away:\n"
        "    def __init__(self, graph, vectors):\n        assert len(vectors) == graph.nodes\n"
        "    def directions(self, goals):\n        return -goals\n"
    )
    monkeypatch.chdir(tmp_path)
    options: dict[str, Any] = {"navigation": "tabs", "rerank": "none", "candidates": 6}
    named = walked.find(query, 1000, agent="looks_away:Away", **options)
    assert named.agent == "looks_away:Away"
    assert named.evidence == walked.find(query, 1000, agent=Away(), **options).evidence
    with pytest.raises(InputError, match="is no agent"):
        walked.find(query, agent="looks_away:Away", **options | {"navigation": "walks"})


def test_an_agent_that_says_nothing_of_where_to_look(walked: Wiki, query: str) -> None:
    class Silent:
        name = "silent"

        def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
            journeys = Journeys.blank(episodes.size, budget)
            journeys.nodes[:, 0] = episodes.starts
            return journeys

    with pytest.raises(InputError, match=r"^silent walks, but does not say where to look: let it walk"):
        walked.find(query, agent=Silent(), rerank="tfidf")
    stayed = walked.find(query, 50, agent=Silent(), navigation="walks", rerank="tfidf", starts=2)
    assert (stayed.agent, stayed.blocks) == ("silent", 2)
    assert all(one.path == () for one in stayed.evidence)
    assert np.isfinite([one.score for one in stayed.evidence]).all()
