"""Sentences to blocks and back, alternatives, and splits that share no page."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from linkwalk.downstream.align_sentences import (
    combine,
    comparable,
    group_of,
    match_blocks,
    nearest_sentences,
    smallest,
)
from linkwalk.downstream.benchmark import as_pages, page_disjoint
from linkwalk.downstream.dataset import AlignedQuestion
from linkwalk.embed.text import goal_sentences
from linkwalk.graph.store import Graph


@pytest.fixture(scope="module")
def graph(encyclopedia: Path) -> Graph:
    return Graph.open(encyclopedia)


def test_both_spellings_of_a_sentence_compare_alike() -> None:
    ours = 'José (or "Pepe") said: "it\'s 5–6 km away", [sic].'
    fevers = "José -LRB- or `` Pepe '' -RRB- said : `` it 's 5 -- 6 km away '' , -LSB- sic -RSB- ."
    assert comparable(fevers).split() == comparable(ours).split()
    assert comparable("Ångström 東京 x² -LCB-").split() == ["angstrom", "東京", "x2"]


def test_blocks_are_those_of_a_plain_search(graph: Graph) -> None:
    rng = np.random.default_rng(0)
    wanted = []
    for node in rng.choice(graph.nodes, 40, replace=False).tolist():
        sentence = goal_sentences(graph, node)[-1]
        article = int(graph.node_article[node])
        wanted += [(article, sentence), (article, "Water and copper and the Sun are known to people .")]
    matches = match_blocks(graph, wanted, floor=40)
    assert set(matches) == set(wanted)
    for (article, sentence), match in matches.items():
        scores = {
            node: fuzz.token_set_ratio(comparable(sentence), comparable(graph.texts[node]))
            for node in graph.article_blocks(article).tolist()
        }
        assert match.best == pytest.approx(max(scores.values()), abs=1e-3)
        assert {node for node, _ in match.blocks} == {node for node, score in scores.items() if score >= 40}
        assert [score for _, score in match.blocks] == sorted((s for _, s in match.blocks), reverse=True)
        for threshold in (40, 60, 80, 100):
            assert set(match.above(threshold)) == {n for n, score in scores.items() if score >= threshold}


def test_every_sentence_is_found_in_its_own_block(graph: Graph) -> None:
    wanted = {
        (int(graph.node_article[node]), sentence): node
        for node in range(0, graph.nodes, 9)
        for sentence in goal_sentences(graph, node)
    }
    matches = match_blocks(graph, wanted, floor=80)
    assert all(wanted[key] in match.above(99.9) for key, match in matches.items())


def test_one_shared_word_makes_no_sentence_the_same() -> None:
    """WRatio gives 85.5 to any pair of unequal length with a word in common, far above what its name suggests."""
    pages = ["Octopus blood is blue , as its oxygen carrier holds copper .", "It swims ."]
    found = ["Octopus blood is blue, as its oxygen carrier holds copper.", "It is late."]
    other = "The minister opened the new railway line, which is of great importance to the whole region."
    assert nearest_sentences([*found, other], pages, 86) == [0, None, None]
    assert nearest_sentences([other], pages, 85)[0] is not None
    assert nearest_sentences(found, [], 86) == [None, None]
    assert nearest_sentences([], pages, 86) == []


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=9, unique=True), min_size=1, max_size=9))
def test_combinations_are_all_or_the_best(sentences: list[list[int]]) -> None:
    ways, cut = combine(sentences, 20)
    everything = {frozenset(way) for way in itertools.islice(itertools.product(*sentences), 21)}
    assert 1 <= len(ways) <= 20
    assert frozenset(blocks[0] for blocks in sentences) in ways
    assert all(any(block in way for block in blocks) for way in ways for blocks in sentences)
    if not cut:
        assert set(ways) == everything
    assert cut == (np.prod([float(len(blocks)) for blocks in sentences]) > 20)


@given(st.lists(st.frozensets(st.integers(0, 6), max_size=4)))
def test_only_the_smallest_alternatives_count(sets: list[frozenset[int]]) -> None:
    kept = smallest(sets)
    assert not any(a < b for a in kept for b in kept)
    assert len(set(kept)) == len(kept)
    assert all(any(small <= nodes for small in kept) for nodes in sets if nodes)
    assert set(kept) <= set(sets) - {frozenset()}


def test_groups(graph: Graph) -> None:
    octopus, shark = (graph.article_blocks(graph.article(t)).tolist() for t in ("Octopus", "Shark"))  # type: ignore[arg-type]
    assert group_of(graph, [frozenset({octopus[0]})]) == "lead"
    assert group_of(graph, [frozenset({octopus[1]}), frozenset({shark[0]})]) == "lead"
    assert group_of(graph, [frozenset({octopus[1]}), frozenset({octopus[0], shark[0]})]) == "other"
    assert group_of(graph, [frozenset({octopus[0], octopus[2]})]) == "other"
    assert group_of(graph, [frozenset({octopus[0], shark[0]})]) == "two articles"
    assert as_pages(graph, [octopus[2], shark[0], octopus[0]]) == [octopus[0], shark[0], octopus[0]]


def articles_of(graph: Graph, asked: list[AlignedQuestion]) -> set[int]:
    return {int(graph.node_article[node]) for one in asked for nodes in one.gold for node in nodes}


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_no_page_is_on_both_sides(graph: Graph, parts: int) -> None:
    rng = np.random.default_rng(3)
    asked = [
        AlignedQuestion(
            id=str(i),
            text=f"claim {i - i % 7 if i % 5 == 0 else i}.",  # some texts are asked more than once
            gold=tuple(
                frozenset(rng.choice(graph.nodes, int(rng.integers(1, 3)), replace=False).tolist())
                for _ in range(1 + int(rng.random() < 0.2))
            ),
        )
        for i in range(40)
    ]
    tune, kept = page_disjoint(asked, graph, parts=parts)
    assert not articles_of(graph, tune) & articles_of(graph, kept)
    assert not {one.text for one in tune} & {one.text for one in kept}
    assert sorted(tune + kept, key=lambda one: int(one.id)) == asked
    assert bool(tune) == (parts > 1)
    assert kept
    shuffled = [asked[i] for i in rng.permutation(len(asked))]
    again, _ = page_disjoint(shuffled, graph, parts=parts)
    assert {one.id for one in again} == {one.id for one in tune}


def test_claims_on_one_page_each_split_evenly(graph: Graph) -> None:
    asked = [
        AlignedQuestion(id=str(node), text=f"claim {node}", gold=(frozenset({node}),))
        for node in range(graph.nodes)
    ]
    tune, _ = page_disjoint(asked, graph)
    assert 0.4 < len(tune) / len(asked) < 0.6


def test_unaligned_texts_can_be_split_too(graph: Graph) -> None:
    asked = [AlignedQuestion(id=str(i), text=f"? {i}" if i % 2 else "?!" * (i + 1)) for i in range(10)]
    tune, kept = page_disjoint(asked, graph)
    assert len(tune) + len(kept) == 10
    assert tune
    assert kept
