import json
import random
import re
from collections import Counter
from pathlib import Path
from string import ascii_uppercase as LETTERS

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk.build.build import BuildConfig, build
from linkwalk.build.entities.mentions import (
    BARRIER,
    SENTENCE,
    count_surfaces,
    find_mentions,
    hash_strings,
    hash_table,
    words,
)
from linkwalk.build.read import ExtractConfig
from linkwalk.graph.columns import map_array
from linkwalk.graph.store import Graph
from tests.conftest import assert_same_files, graph_files


def as_bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode() + b"\0", np.uint8)[:-1]


def split(text: str) -> list[str]:
    raw = as_bytes(text)
    return [raw[a:b].tobytes().decode() for a, b in zip(*words(raw), strict=True)]


def find(
    text: str, surfaces: list[str], *, barriers: list[tuple[int, int]] | None = None
) -> list[tuple[str, str]]:
    """Mentions as (text, surface), the first byte being a sentence's beginning."""
    raw = as_bytes(text)
    keys = hash_strings(surfaces)[0]
    order = np.argsort(keys)
    marks = np.zeros(len(raw) + 2, np.uint8)
    marks[0] = SENTENCE
    for a, b in barriers or []:
        marks[a:b] |= BARRIER
    bounds = np.array([0, len(raw)], np.int64)
    found = find_mentions(raw, bounds, marks, keys[order], hash_table(keys[order]))
    _, starts, ends, which = found.tolist()
    return [
        (raw[a:b].tobytes().decode(), surfaces[order[s]]) for a, b, s in zip(starts, ends, which, strict=True)
    ]


def test_words() -> None:
    assert split("It's 3.5 km, naïve—Été; 東京 x😀y e\u0301t!") == [
        *("It", "s", "3", "5", "km", "naïve", "Été", "東", "京", "x😀y", "e\u0301t"),
    ]
    assert split("") == []


def test_the_longest_mention_wins_and_none_overlap() -> None:
    surfaces = ["asteroid", "belt", "asteroid belt", "main asteroid", "Ceres"]
    text = "the main asteroid belt and an asteroid, Ceres (Ceres)"
    assert [hit for hit, _ in find(text, surfaces)] == ["main asteroid", "belt", "asteroid", "Ceres", "Ceres"]


def test_a_sentence_may_begin_with_a_small_surface() -> None:
    assert find("Comet tails and Comet", ["comet"]) == [("Comet", "comet")]


def test_links_lines_and_hyphens_are_in_the_way() -> None:
    assert find("one two three", ["one two", "two"], barriers=[(0, 3)]) == [("two", "two")]
    assert find("one\ntwo", ["one\ntwo", "one"]) == [("one", "one")]
    assert find("cat-like like", ["like", "cat"]) == [("like", "like")]
    assert find("x-ray source", ["x-ray"]) == [("x-ray", "x-ray")]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", "é"]), max_size=20), st.sets(st.integers(1, 15)))
def test_counts_equal_a_search_by_hand(tokens: list[str], chosen: set[int]) -> None:
    surfaces = [" ".join(["a", "b", "c", "é"][i] for i in range(4) if n >> i & 1) for n in sorted(chosen)]
    text = " ".join(tokens)
    raw = as_bytes(text)
    keys = hash_strings(surfaces)[0]
    order = np.argsort(keys)
    seen = np.zeros(len(keys), np.int32)
    bounds = np.array([0, len(raw)], np.int64)
    count_surfaces(raw, bounds, keys[order], hash_table(keys[order]), seen)
    for surface, count in zip([surfaces[i] for i in order], seen.tolist(), strict=True):
        parts = surface.split()
        assert count == sum(tokens[i : i + len(parts)] == parts for i in range(len(tokens)))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text("abcxyz .", max_size=3000), max_size=4), st.sets(st.sampled_from("abc"), min_size=1))
def test_every_word_may_be_a_mention(texts: list[str], letters: set[str]) -> None:
    surfaces = sorted(letters)
    keys = hash_strings(surfaces)[0]
    order = np.argsort(keys)
    bounds = np.cumsum([0, *map(len, texts)])
    marks = np.zeros(bounds[-1] + 2, np.uint8)
    tables = keys[order], hash_table(keys[order])
    found = find_mentions(as_bytes("".join(texts)), bounds, marks, *tables).T.tolist()
    assert [(block, start, end, surfaces[order[surface]]) for block, start, end, surface in found] == [
        (block, *word.span(), word[0])
        for block, text in enumerate(texts)
        for word in re.finditer(r"\w+", text)
        if word[0] in letters
    ]


def test_a_wiki_of_single_letters(tmp_path: Path) -> None:
    """Mentions as dense as they get: there are more of them than a third of the bytes."""
    rng = random.Random(0)
    pages = {title: " ".join(rng.choices(LETTERS, k=3000)) for title in LETTERS}
    dump = tmp_path / "pages.jsonl"
    dump.write_text("\n".join(json.dumps({"title": title, "text": text}) for title, text in pages.items()))
    config = BuildConfig(extract=ExtractConfig(min_chars=0))
    for workers in (1, 2):
        build([dump], tmp_path / f"wiki{workers}", config, workers=workers)
    assert_same_files(graph_files(tmp_path / "wiki1"), graph_files(tmp_path / "wiki2"))

    graph = Graph.open(tmp_path / "wiki1")
    written = Counter(word for text in pages.values() for word in text.split())
    assert Counter(" ".join(graph.texts.slice(0, graph.nodes)).split()) == written
    keys, seen = (map_array(graph.folder / f"anchors_{name}.npy") for name in ("surfaces", "seen"))
    times = dict(zip(keys.tolist(), seen.tolist(), strict=True))
    assert [times[key] for key in hash_strings(list(LETTERS))[0].tolist()] == [written[c] for c in LETTERS]
