import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk.sources.mentions import (
    BARRIER,
    CLASSES,
    SENTENCE,
    count_surfaces,
    find_mentions,
    hash_strings,
    hash_table,
    words,
)


def as_bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode() + b"\0", np.uint8)[:-1]


def split(text: str) -> list[str]:
    raw = as_bytes(text)
    starts, ends = np.empty(len(raw) + 1, np.int32), np.empty(len(raw) + 1, np.int32)
    count = words(raw, 0, len(raw), CLASSES, starts, ends)
    return [raw[a:b].tobytes().decode() for a, b in zip(starts[:count], ends[:count], strict=True)]


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
    found = [np.empty(len(raw) + 1, np.int32) for _ in range(4)]
    bounds = np.array([0, len(raw)], np.int64)
    count = find_mentions(raw, bounds, marks, CLASSES, keys[order], hash_table(keys[order]), *found)
    _, starts, ends, which = (column[:count].tolist() for column in found)
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
    count_surfaces(raw, bounds, CLASSES, keys[order], hash_table(keys[order]), seen)
    for surface, count in zip([surfaces[i] for i in order], seen.tolist(), strict=True):
        parts = surface.split()
        assert count == sum(tokens[i : i + len(parts)] == parts for i in range(len(tokens)))
