"""Search for one query, or with all that it takes at once."""

from collections.abc import Sequence

from linkwalk.arrays import Float32s, Int32s
from linkwalk.navigate.cosine import Units
from linkwalk.retrieve.starts import (
    DEPTH,
    Near,
    Search,
    Starts,
    begin_at,
    blocks_by_meaning,
    blocks_by_words,
    nearest_many,
)


def nearest(vectors: Units, meaning: Float32s, count: int) -> Int32s:
    """The blocks [count] closest to a vector of unit length, the closest first."""
    found: Int32s = nearest_many(vectors, meaning[None], count)[0]
    return found


def find_starts(
    how: str,
    count: int,
    search: Search,
    queries: Sequence[str],
    vectors: Units | Near | None,
    meanings: Float32s | None,
) -> list[Starts]:
    """Blocks to begin at for each query, as a finder begins."""
    depth = max(DEPTH, count) if how == "hybrid" else count
    hits = blocks_by_meaning(how, depth, blocks_by_words(how, depth, search, queries), vectors, meanings)
    return [begin_at(how, count, own) for own in hits]
