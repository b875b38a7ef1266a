"""A build tells what its parts cost; what it writes does not."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from linkwalk.build.build import build
from linkwalk.build.costs import Costs
from tests.conftest import P, graph_files, world, write_dump


@pytest.fixture(scope="module")
def pages() -> list[P]:
    return world(articles=60)


@pytest.mark.parametrize("workers", [1, 2])
def test_every_part_is_told_in_order_and_nothing_of_it_is_written(
    pages: list[P], tmp_path: Path, workers: int
) -> None:
    dump = write_dump(tmp_path / "x.xml", pages)
    costs = build([dump], tmp_path / "wiki", workers=workers).costs
    assert list(costs) == (
        [
            "read",
            "name articles",
            "resolve",
            "pair surfaces",
            "count",
            "weigh surfaces",
            "link",
            "write",
            "finish",
        ]
    )
    assert all(cost["seconds"] > 0 for cost in costs.values())
    worked = {part for part, cost in costs.items() if cost["cpu_of_workers"]}
    assert worked <= {"read", "resolve", "count", "link"}
    assert ("read" in worked) is (workers > 1 and sys.platform == "linux")
    assert b"cpu_of_workers" not in b"".join(graph_files(tmp_path / "wiki").values())
    assert build([dump], tmp_path / "wiki").costs == {}
    assert json.loads(json.dumps(costs.rounded()))["read"]["seconds"] == round(costs["read"]["seconds"], 2)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how much memory a process held at most")
def test_the_most_memory_is_that_of_the_part() -> None:
    costs = Costs()
    with costs.part("large"):
        np.ones(40 << 20, np.uint8).sum()
    with costs.part("small"):
        pass
    assert costs["large"]["peak_mb"] - costs["small"]["peak_mb"] > 30
    with costs.part("small"):
        np.ones(40 << 20, np.uint8).sum()
    assert costs["small"]["peak_mb"] > costs["large"]["peak_mb"] - 10
