"""Evidence with a reader of blocks: chances, waves, who reads queries for search, and where it is used."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwalk import Wiki
from linkwalk.embed import Embeddings, embed
from linkwalk.graph.store import Graph
from linkwalk.retrieve import Cascade, FindConfig, index
from linkwalk.retrieve.block_reader import BlockReader
from linkwalk.wiki.rerankers import usual_reranker
from tests.graph.conftest import Page, write_graph
from tests.retrieve.stand_in import by_hand, older, stand_in


@pytest.fixture(scope="module")
def folder(world: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    table = Embeddings.open(world, "minilm-walks")
    place = tmp_path_factory.mktemp("judged") / "blocks"
    return str(stand_in(place, ranking=by_hand(nothing=0.01), search=table.fingerprint))


@pytest.fixture(scope="module")
def query(walked: Wiki) -> str:
    return " ".join(walked.graph.texts[3].split()[:8])


def test_chances(walked: Wiki, folder: str, query: str) -> None:
    answer = walked.find(query, 1000, rerank=folder, candidates=9)
    assert (answer.rerank, answer.agent, answer.start, answer.blocks) == (folder, "compass", "hybrid", 9)
    assert answer.confidence is not None
    assert 0 < answer.confidence < 1
    assert answer.answered
    best: dict[int, float] = {}
    for one in answer.evidence:
        best.setdefault(one.place.node, one.score)
        at = one.start
        for click in one.path:
            assert click.to.node in walked.graph.forward.row(at.node)
            at = click.to
        assert at == one.place
    assert sum(best.values()) == pytest.approx(answer.confidence, abs=1e-4)
    assert list(answer.milliseconds) == ["meaning", "search", "links", "desk", "reading", "ranking"]


@pytest.mark.parametrize("options", [{}, {"navigation": "none", "start": "bm25"}, {"rerank": "tfidf"}])
def test_the_last_wave_is_the_answer(walked: Wiki, folder: str, query: str, options: dict[str, Any]) -> None:
    asked = {"rerank": folder, "candidates": 12} | options
    waves = list(walked.find_waves(query, 5, **asked))
    assert [wave.stage for wave in waves][:: len(waves) - 1] == ["search", "final"]
    assert waves[-1] == walked.find(query, 5, **asked)
    assert all(wave.query == query for wave in waves)
    assert len(waves[0].evidence) == 5
    assert waves[0].blocks == 0


def test_others_are_answered_between_two_waves(walked: Wiki, folder: str, query: str) -> None:
    waves = walked.find_waves(query, 5, rerank=folder)
    next(waves)
    other = walked.find(query, 5, rerank=folder)
    assert next(waves).stage == "reading"
    assert walked.find(query, 5, rerank=folder) == other == list(waves)[-1]


def test_many_at_once(walked: Wiki, folder: str, query: str) -> None:
    queries = [query, "river of stone", "zzzzqqq"]
    many = walked.find_many(queries, 3, rerank=folder)
    for one, text in zip(many, queries, strict=True):
        alone = walked.find(text, 3, rerank=folder)
        assert [e.sentence for e in one.evidence] == [e.sentence for e in alone.evidence]
        assert one.confidence == pytest.approx(alone.confidence, abs=1e-4)


def test_who_reads_queries_for_search(walked: Wiki, folder: str, query: str) -> None:
    opened = walked.finder(FindConfig(rerank=folder))
    goals, sought = opened.reader.meant([query])
    assert goals is not None
    assert sought is not None
    assert goals.shape == sought.shape == (1, 384)
    assert np.linalg.norm(sought) == pytest.approx(1, abs=1e-5)
    assert 0.5 < float(goals[0] @ sought[0]) < 0.999
    near = opened.finder.hits([query], goals, sought)[0].near
    assert near.tolist() == opened.finder.hits([query], sought)[0].near.tolist()
    blind = walked.finder(FindConfig(rerank=folder, navigation="none"))
    assert (blind.reader.searcher, *blind.reader.meant([query])) == (None, None, None), (
        "no embeddings are looked at"
    )


def test_without_a_ranking_it_ranks_sentences(walked: Wiki, query: str, tmp_path: Path) -> None:
    plain = str(stand_in(tmp_path / "plain"))
    opened = walked.finder(FindConfig(rerank=plain))
    assert opened.finder.judge is None
    assert isinstance(opened.finder.rerank, BlockReader)
    answer = walked.find(query, 1000, rerank=plain, navigation="none")
    assert answer.confidence is None
    assert [one.score for one in answer.evidence] == sorted(
        (one.score for one in answer.evidence), reverse=True
    )
    assert max(one.score for one in answer.evidence) > 1


def test_one_of_single_sentences_is_used_as_before(walked: Wiki, query: str, tmp_path: Path) -> None:
    opened = walked.finder(FindConfig(rerank=str(older(tmp_path / "older")), top=3))
    assert isinstance(opened.finder.rerank, Cascade)
    assert (opened.finder.judge, opened.finder.rerank.top) == (None, 3)
    assert opened.find([query], 5)[0].sure is None


def test_embeddings_that_minilm_does_not_read(tmp_path: Path, folder: str) -> None:
    pages = {f"Page {i}": [Page(f"Miners dig number {i} out of the ground.")] for i in range(9)}
    graph = write_graph(tmp_path, pages)
    index(tmp_path, graph)
    embed(tmp_path, encoder="random", name="mine")
    embed(tmp_path, encoder="words", name="own")
    wiki = Wiki.open(tmp_path, embeddings="own")
    assert usual_reranker(wiki.table()) == "tfidf"
    opened = wiki.finder(FindConfig(rerank=folder, embeddings="own"))
    assert opened.finder.judge is None
    assert isinstance(opened.finder.rerank, BlockReader)
    by_words = wiki.find("What do miners dig?", rerank=folder, navigation="none")
    assert by_words.confidence is not None, "no embeddings are looked at"
    assert Graph.open(tmp_path).nodes == 9
