import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from linkwalk.build.entities import anchors as module
from linkwalk.build.entities.anchors import MAX_CANDIDATES, Anchors, gather_pairs, merge_pairs, title_forms
from linkwalk.build.entities.mentions import hash_strings


@pytest.mark.parametrize(
    ("title", "forms"),
    [
        ("Comet", ["Comet", "comet"]),
        ("Mercury (planet)", ["Mercury (planet)", "mercury (planet)", "Mercury", "mercury"]),
        ("NASA", ["NASA"]),
        ("iPod", ["iPod"]),
        ("École", ["École", "école"]),
    ],
)
def test_how_a_title_may_stand_in_a_text(title: str, forms: list[str]) -> None:
    assert [form for form, _ in title_forms(title)] == forms


def gather(links: list[tuple[str, int]]) -> dict[str, np.ndarray]:
    encoded = [surface.encode() for surface, _ in links]
    ends = np.cumsum([len(e) for e in encoded], dtype=np.int64) if encoded else np.zeros(0, np.int64)
    starts = ends - np.array([len(e) for e in encoded], np.int64)
    text = np.frombuffer(b"".join(encoded) + b"\0", np.uint8)
    articles = np.array([article for _, article in links], np.int32)
    return {"pairs": gather_pairs(text, starts, ends, articles, [], [])}


@pytest.mark.parametrize("merge_rows", [20_000_000, 50])
def test_counts_equal_those_made_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, merge_rows: int
) -> None:
    monkeypatch.setattr(module, "_MERGE_ROWS", merge_rows)
    rng = random.Random(4)
    surfaces = [f"surface {i}" for i in range(60)] + ["ämter", "東京"]
    shards = [
        [(rng.choice(surfaces), int(40 * rng.random() ** 2)) for _ in range(n)] for n in (300, 0, 900, 1, 400)
    ]
    runs = [gather(shard).__getitem__ for shard in shards]
    merge_pairs(tmp_path, runs)
    table = Anchors.open(tmp_path)

    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for shard in shards:
        for surface, article in shard:
            counts[surface][article] += 1
    assert len(table.surfaces) == len(counts)
    assert (np.diff(table.surfaces.astype(object)) > 0).all()
    for surface, expected in counts.items():
        row = int(np.searchsorted(table.surfaces, hash_strings([surface])[0][0]))
        span = slice(int(table.surface_indptr[row]), int(table.surface_indptr[row + 1]))
        found = list(
            zip(table.candidate_articles[span].tolist(), table.candidate_links[span].tolist(), strict=True)
        )
        by_count = sorted(expected.items(), key=lambda item: (-item[1], item[0]))
        assert found == by_count[:MAX_CANDIDATES]
        assert table.surface_links[row] == expected.total()
        assert table.ambiguous[row] == (by_count[0][1] < 0.98 * expected.total())


def test_no_links_at_all(tmp_path: Path) -> None:
    merge_pairs(tmp_path, [gather([]).__getitem__])
    table = Anchors.open(tmp_path)
    assert len(table.surfaces) == len(table.ambiguous) == 0
    assert table.surface_indptr.tolist() == [0]
