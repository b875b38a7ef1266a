"""Wikis opened: the bundled encyclopedia, a tiny one that is embedded and indexed, and one that means harm."""

from pathlib import Path

import pytest

from linkwalk import Wiki
from linkwalk.graph.store import ENTITY, LINK
from tests.graph.conftest import Page, write_graph

HOSTILE = [
    "<script>alert('1')</script>",
    "../../etc/passwd",
    'a" onclick="x()',
    "{{7*7}} ${x} %s \\u0000",
    "\u202egnp.exe",
    "👩‍🚀 Ⅷ ﬁre",
    "'; DROP TABLE titles; --",
    "line\nbreak",
    "(3)",
]


@pytest.fixture(scope="session")
def known(encyclopedia: Path) -> Wiki:
    """The encyclopedia, opened."""
    return Wiki.open(encyclopedia)


@pytest.fixture(scope="session")
def world(indexed_world: Path) -> Path:
    """Twenty blocks, embedded and indexed; only to be read."""
    return indexed_world


@pytest.fixture(scope="session")
def walked(world: Path) -> Wiki:
    """The same, opened."""
    return Wiki.open(world)


@pytest.fixture
def hostile(tmp_path: Path) -> Wiki:
    """Titles, sections and texts that do harm where anything but text is made of them; each links to the next."""
    pages = {
        title: [Page(f"{title} and more {title}", [(after, 0, LINK), (HOSTILE[0], 0, ENTITY)], title)]
        for title, after in zip(HOSTILE, [*HOSTILE[1:], HOSTILE[0]], strict=True)
    }
    write_graph(tmp_path / "hostile", pages)
    return Wiki.open(tmp_path / "hostile")
