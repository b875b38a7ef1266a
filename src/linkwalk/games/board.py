"""What games are played on: articles and the links between them, a graph whose nodes are whole articles.

It has what agents ask of a wiki's graph, so that whoever walks from block to block walks here, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np

from linkwalk.arrays import Bytes, Int64s
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, transpose
from linkwalk.graph.store import LINK


def plain_name(name: str) -> str:
    """An article's name as one writes it: blanks for underscores, one at a time."""
    return " ".join(name.replace("_", " ").split())


@dataclass(frozen=True)
class Board:
    """Articles by number, and who links to whom."""

    names: tuple[str, ...]
    forward: Csr
    snapshot: str
    """What it is called."""

    @classmethod
    def of(cls, names: Sequence[str], links: Sequence[tuple[int, int]], snapshot: str) -> "Board":
        """A board of articles and of links between their numbers, each counted once."""
        pairs: Int64s = np.unique(np.array(links, np.int64).reshape(-1, 2), axis=0)
        indptr = np.zeros(len(names) + 1, np.int64)
        np.cumsum(np.bincount(pairs[:, 0], minlength=len(names)), out=indptr[1:])
        return cls(tuple(names), Csr(indptr, pairs[:, 1].astype(np.int32)), snapshot)

    @cached_property
    def reverse(self) -> Csr:
        """In-links."""
        return transpose(self.forward)

    @property
    def nodes(self) -> int:
        """How many articles there are."""
        return len(self.names)

    @property
    def article_length(self) -> float:
        """An article is one node here."""
        return 1.0

    @cached_property
    def out_kinds(self) -> Bytes:
        """Every edge is a link."""
        return np.full(len(self.forward.indices), LINK, np.uint8)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with any article or link."""
        found = blake2b("\n".join(self.names).encode(), digest_size=16)
        found.update(self.forward.indptr.tobytes())
        found.update(self.forward.indices.tobytes())
        return found.hexdigest()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def find(self, name: str) -> int:
        """The number of an article."""
        number = self._numbers.get(plain_name(name))
        if number is None:
            raise InputError(f"no article named {name!r} in {self.snapshot}")
        return number

    def name(self, node: int) -> str:
        """An article's name."""
        return self.names[node]
