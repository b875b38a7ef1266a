"""A world of a few dozen pages with made-up embeddings: quick to make, and some pages lead nowhere."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwalk.build.build import BuildConfig, build
from linkwalk.embed import EmbedConfig, embed
from linkwalk.envs.world import World, fixed
from linkwalk.graph.csr import Csr
from tests.conftest import Once, world, write_dump


@pytest.fixture(scope="session")
def random_world(once: Once, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with random features; only to be read."""

    def make(folder: Path) -> None:
        build([write_dump(tmp_path_factory.mktemp("dump") / "dump.xml", world(12))], folder, BuildConfig())
        embed(folder, EmbedConfig(encoder="random", width=12), device="cpu")

    return once("random-world", make)


@pytest.fixture(scope="session")
def dead_ends(random_world: Path) -> World:
    """The same world, in which every sixth page has lost its links."""
    whole = World.open(random_world)
    degrees = whole.forward.degrees()
    kept = np.repeat(np.arange(whole.graph.nodes) % 6 > 0, degrees)
    degrees[::6] = 0
    indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(degrees)))
    return replace(whole, forward=fixed(Csr(indptr, whole.forward.indices[kept])), kinds=whole.kinds[kept])
