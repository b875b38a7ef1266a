from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk.build.names import OUTCOMES, Names, first_of_each, follow_redirects, write_names

_NAMES = st.integers(1, 12)


def keys(values: list[int]) -> np.ndarray:
    return np.array(values, np.uint64)


@settings(max_examples=300, deadline=None)
@given(
    titles=st.lists(_NAMES, max_size=5, unique=True),
    redirects=st.lists(st.tuples(_NAMES, _NAMES, st.integers(0, 2)), max_size=12),
    skipped=st.lists(_NAMES, max_size=4),
)
def test_chains_end_where_one_gets_by_walking(
    titles: list[int], redirects: list[tuple[int, int, int]], skipped: list[int]
) -> None:
    source, target, fragment = ([row[i] for row in redirects] for i in range(3))
    articles, _ = follow_redirects(keys(titles), keys(source), keys(target), keys(fragment), keys(skipped))
    for i in range(len(redirects)):
        at, seen = target[i], {i}
        expected = ""
        while at not in titles and at in source and not expected:
            step = source.index(at)
            expected = "redirect loop" if step in seen else ""
            seen.add(step)
            at = target[step]
        if not expected and at in titles:
            assert articles[i] == titles.index(at)
            continue
        expected = expected or (
            "redirect to a page left out" if at in skipped else "redirect to a missing page"
        )
        assert OUTCOMES[-1 - articles[i]] == expected


def test_sections_named_along_a_chain() -> None:
    # 1 is an article; 2 -> 1#7, 3 -> 2, 4 -> 2#8
    articles, fragments = follow_redirects(
        keys([1]), keys([2, 3, 4]), keys([1, 2, 2]), keys([7, 0, 8]), keys([])
    )
    assert articles.tolist() == [0, 0, 0]
    assert fragments.tolist() == [7, 7, 8]


def test_a_chain_of_many_redirects() -> None:
    count = 5000
    source, target = np.arange(1, count + 1), np.arange(count)
    order = np.random.default_rng(3).permutation(count)
    source, target = source[order].astype(np.uint64), target[order].astype(np.uint64)
    articles, _ = follow_redirects(keys([0]), source, target, np.zeros(count, np.uint64), keys([]))
    assert (articles == 0).all()


def test_first_of_each() -> None:
    assert first_of_each(keys([5, 3, 5, 5, 2, 3])).tolist() == [True, True, False, False, True, False]
    assert first_of_each(keys([])).tolist() == []


def test_tables_on_disk(tmp_path: Path) -> None:
    write_names(
        tmp_path,
        {
            "article_key": keys([10, 20]),
            "article_address_key": keys([0, 70]),
            "redirect_from": keys([30, 40, 20, 80]),
            "redirect_to": keys([20, 99, 10, 70]),
            "redirect_fragment": keys([7, 0, 0, 0]),
            "skipped_key": keys([50, 10]),
            "skipped_reason": np.array([6, 7], np.uint8),
            "anchor_article": np.array([1, 1, 0], np.int32),
            "anchor_key": keys([7, 7, 7]),
            "anchor_block": np.array([5, 6, 2], np.int32),
        },
    )
    names = Names.open(tmp_path)
    articles, fragments = names.look_up(keys([10, 20, 30, 40, 50, 60]))
    assert articles[:3].tolist() == [0, 1, 1]
    assert [OUTCOMES[-1 - code] for code in articles[3:]] == [
        "redirect to a missing page",
        "list",
        "missing page",
    ]
    assert fragments.tolist() == [0, 0, 7, 0, 0, 0]
    by_address, _ = names.look_up(keys([70, 80]))  # the address itself, and a redirect to it
    assert by_address.tolist() == [1, 1]
    assert names.is_own(by_address, keys([70, 80])).tolist() == [True, False]
    found = names.look_up_sections(np.array([1, 0, 0], np.int32), keys([7, 7, 8]))
    assert found.tolist() == [5, 2, -1]


def test_nothing_is_found_in_nothing(tmp_path: Path) -> None:
    nothing = keys([])
    write_names(
        tmp_path,
        {
            "article_key": nothing,
            "article_address_key": nothing,
            "redirect_from": nothing,
            "redirect_to": nothing,
            "redirect_fragment": nothing,
            "skipped_key": nothing,
            "skipped_reason": np.zeros(0, np.uint8),
            "anchor_article": np.zeros(0, np.int32),
            "anchor_key": nothing,
            "anchor_block": np.zeros(0, np.int32),
        },
    )
    names = Names.open(tmp_path)
    assert OUTCOMES[-1 - names.look_up(keys([1]))[0][0]] == "missing page"
    assert names.look_up_sections(np.array([0], np.int32), keys([1])).tolist() == [-1]
