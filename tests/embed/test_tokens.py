"""Batches: every text once, little padding, never over budget."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkwalk.embed.tokens import by_length, pad, shared_out


@given(st.lists(st.integers(0, 200), max_size=80), st.integers(1, 1000))
def test_every_text_once_and_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = list(by_length(lengths, budget))
    assert sorted(i for batch in batches for i in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[i] for i in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget
    order = [lengths[i] for batch in batches for i in batch]
    assert order == sorted(lengths, reverse=True)


def test_sorting_saves_most_of_the_padding() -> None:
    lengths = np.random.default_rng(0).integers(5, 200, 2000).tolist()
    computed = sum(len(batch) * max(lengths[i] for i in batch) for batch in by_length(lengths, 4096))
    assert computed < 1.1 * sum(lengths)


def test_padding_is_masked() -> None:
    ids, mask = pad([[5, 6, 7], [], [8]], 9)
    assert ids.tolist() == [[5, 6, 7], [9, 9, 9], [8, 9, 9]]
    assert mask.tolist() == [[1, 1, 1], [0, 0, 0], [1, 0, 0]]


@given(
    lengths=st.lists(st.integers(1, 300), max_size=60), budget=st.integers(1, 900), among=st.integers(1, 5)
)
def test_work_is_shared_out_evenly(lengths: list[int], budget: int, among: int) -> None:
    batches = shared_out(lengths, budget, among)
    assert sorted(i for batch in batches for i in batch.tolist()) == list(range(len(lengths)))
    assert all(len(batch) for batch in batches)
    loads = [sum(lengths[i] for i in batch) for batch in batches]
    assert max(loads, default=0) - min(loads, default=0) <= max(lengths, default=0)
    wanted = among * -(-sum(lengths) // (budget * among)) if lengths else 0
    assert len(batches) == min(len(lengths), wanted)
    for batch in batches:
        own = [lengths[i] for i in batch]
        assert own == sorted(own, reverse=True), "equal lengths stand together"
