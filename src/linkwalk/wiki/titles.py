"""Titles as one types them: what begins with these letters, among millions, in milliseconds.

All titles and redirects are folded (case, accents, dashes, quotes) into one text, a line each. Two tables hold where
names begin and where their other words begin, sorted by what follows there; all that begins with some letters is then
one stretch of a table, found by bisection. Beside each entry stands how many links lead to its article, so that the
best of a stretch are picked by numpy, whatever its length. Nothing but looking for slips of the pen loops over titles,
and that only over some.

Made in a second for 300,000 names. Beyond half a million the tables are kept in the workspace, where all processes of a
server share them through the memory map.
"""

import contextlib
import re
import unicodedata
from bisect import bisect_left, bisect_right
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from linkwalk.arrays import Int32s, Int64s
from linkwalk.artifact import clear, locked, look_at, publish, read_manifest, seal, steady
from linkwalk.compiled import kernel
from linkwalk.errors import ArtifactError, DamagedError, LinkwalkError
from linkwalk.graph.columns import Strings, map_array
from linkwalk.graph.store import Graph

KIND = "titles"
_TABLES = ("firsts", "others")
_TYPES: dict[str, DTypeLike] = {"text": np.uint8, "bounds": np.int64}
for _table in _TABLES:
    _TYPES |= {f"{_table}_starts": np.int64, f"{_table}_names": np.int32, f"{_table}_weights": np.uint32}
"""The columns of the index, each a file where it is kept."""
_WORTH_KEEPING = 500_000
_CHUNK = 1 << 17
_SORTED = 32  # bytes that the tables are sorted by; what is typed beyond these is compared one by one
_END = b"\n"
_MARKS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("‘’ʼʻ´`", "'"),
        **dict.fromkeys("“”„«»", '"'),
        "_": " ",
        "ø": "o",
        "đ": "d",
        "ł": "l",
        "ı": "i",
        "æ": "ae",
        "œ": "oe",
    }
)
_NUMBERED = re.compile(r"(.*\S)\s*\(\d*\)?")
# Slips of the pen: of each word typed, the longest beginning that titles have; of these titles, the most linked-to.
_LOOKED_AT, _WORDS, _LETTERS = 2000, 8, 200
_SMALL = 20_000
_LIKE, _LIKE_A_PART, _SHORT = 70, 85, 3


def fold(text: str) -> str:
    """Without case, accents and kinds of dashes and quotes; blanks as one."""
    if not text.isascii():
        text = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    text = text.casefold().translate(_SIGNS)
    return re.sub(r" ?\n ?", "\n", re.sub(r"[^\S\n]+", " ", text)).strip(" ")


class SortedNames(NamedTuple):
    """Places in the folded text, sorted by what follows."""

    starts: Int64s
    names: Int32s
    """Which name each stands in."""
    weights: NDArray[np.uint32]
    """How many links lead to its article; a redirect counts half."""


class Titles:
    """The index of one graph."""

    def __init__(self, graph: Graph, columns: dict[str, NDArray[Any]]) -> None:
        """``text`` has all names, ``bounds`` [n + 1] where each begins; the titles come first, then redirects."""
        self.graph, self.columns = graph, columns
        self.text, self.bounds = columns["text"], columns["bounds"]
        self.tables = tuple(
            SortedNames(*(columns[f"{table}_{part}"] for part in SortedNames._fields)) for table in _TABLES
        )
        self.find = lru_cache(1 << 12)(self._find)

    @classmethod
    def open(cls, workspace: Path, graph: Graph) -> "Titles":
        """The index kept in the workspace, or a new one, kept there if that is worth it and allowed."""
        folder = workspace / KIND
        if len(graph.titles) + len(graph.redirects) < _WORTH_KEEPING:
            return cls.of(graph)
        with contextlib.suppress(ArtifactError, OSError):
            return steady(folder, lambda: cls._kept(folder, graph))
        made = cls.of(graph)
        # A disk that is full or not ours to write, another process that keeps it: this one has the index all the same.
        with contextlib.suppress(LinkwalkError, OSError):
            with locked(folder):
                made._keep(folder)
            return steady(folder, lambda: cls._kept(folder, graph))
        return made

    @classmethod
    def of(cls, graph: Graph) -> "Titles":
        """Make the index."""
        lines = [*_folded(graph.titles), *_folded(graph.redirects)]
        text = np.frombuffer(b"".join(lines), np.uint8)
        ends = np.flatnonzero(text == _END[0])
        bounds = np.concatenate([[0], ends + 1])
        articles = np.concatenate([np.arange(graph.articles), graph.redirect_articles])
        leads = graph.article_node[articles]
        weights = graph.in_indptr[leads + 1] - graph.in_indptr[leads] + 1
        weights[graph.articles :] //= 2
        # A name begins where its line does, with whatever sign; its other words where a letter follows a sign.
        begin, words = bounds[:-1], np.flatnonzero(_words(text))
        columns = {"text": text, "bounds": bounds}
        for table, starts in zip(_TABLES, (begin, words[~np.isin(words, begin)]), strict=True):
            for part, values in _sort(text, bounds, starts, weights)._asdict().items():
                columns[f"{table}_{part}"] = values
        return cls(graph, columns)

    def _keep(self, folder: Path) -> None:
        new = folder.with_name(f"{folder.name}.partial")
        clear(new)
        try:
            new.mkdir()
            for name, values in self.columns.items():
                np.save(new / f"{name}.npy", values)
            seal(new, {"artifact": KIND, "graph": self.graph.fingerprint})
            publish(new, folder)
        finally:
            clear(new)

    @classmethod
    def _kept(cls, folder: Path, graph: Graph) -> "Titles":
        manifest = read_manifest(folder, KIND, "linkwalk serve WIKI", {"graph": str})
        if manifest["graph"] != graph.fingerprint:
            raise ArtifactError(f"{folder} is of another graph")
        look_at(folder, manifest, _remedy(folder), whole=True, structure=partial(check, folder))
        columns = _map(folder)
        names = len(columns["bounds"]) - 1
        if names != len(graph.titles) + len(graph.redirects):
            raise _damaged(folder, "bounds", f"{names:,} names")
        return cls(graph, columns)

    def _find(self, words: str, count: int, alike: bool = True) -> tuple[int, ...]:
        """Articles: exact names, beginnings of names, beginnings of words, each by weight; or else what looks alike."""
        typed = fold(words.replace("\n", " "))
        if not typed:
            return ()
        found = self._beginning(typed, count)
        if not found and (numbered := _NUMBERED.fullmatch(typed)):
            found = self._beginning(numbered[1], count)  # "Coral reef (2)": a block's name
        return tuple(found or (self._alike(typed, count) if alike else ()))

    def _beginning(self, typed: str, count: int) -> list[int]:
        raw = typed.encode(errors="replace")
        found: dict[int, None] = {}
        firsts, others = self.tables
        for table, prefix in ((firsts, raw + _END), (firsts, raw), (others, raw)):
            rows = self._stretch(table, prefix)
            wanted = 4 * count
            while True:
                best = self._best(table, rows, wanted)
                found |= dict.fromkeys(self._article(name) for name in table.names[best].tolist())
                if len(found) >= count or wanted >= len(rows):
                    break
                wanted *= 4  # redirects to the same few articles filled the list
            if len(found) >= count:
                break
        return list(found)[:count]

    def _stretch(self, table: SortedNames, prefix: bytes) -> NDArray[np.int64]:
        """The rows of a table that begin with some bytes."""
        head = prefix[:_SORTED]
        size = len(head)

        def begins(row: int) -> bytes:
            start = table.starts[row]
            return self.text[start : start + size].tobytes()

        rows = range(len(table.starts))
        low = bisect_left(rows, head, key=begins)
        high = bisect_right(rows, head, lo=low, key=begins)
        found = np.arange(low, high)
        if len(prefix) > _SORTED and len(found):
            size = len(prefix)
            found = found[[begins(row) == prefix for row in found.tolist()]]
        return found

    def _best(self, table: SortedNames, rows: Int64s, count: int) -> Int64s:
        """The rows of the highest weight, highest first; of equals the first in the alphabet."""
        weights = table.weights[rows[0] : rows[-1] + 1] if len(rows) else table.weights[:0]
        if len(weights) != len(rows):  # not all of them are next to each other
            weights = table.weights[rows]
        if len(rows) > count:
            least = np.partition(weights, len(weights) - count)[len(weights) - count]
            above = np.flatnonzero(weights > least)
            equal = np.flatnonzero(weights == least)[: count - len(above)]
            chosen = np.sort(np.concatenate([above, equal]))
            rows, weights = rows[chosen], weights[chosen]
        order = np.argsort(-weights.astype(np.int64), kind="stable")
        return rows[order]

    def _article(self, name: int) -> int:
        return (
            name
            if name < self.graph.articles
            else int(self.graph.redirect_articles[name - self.graph.articles])
        )

    def _name(self, name: int) -> str:
        return self.text[self.bounds[name] : self.bounds[name + 1] - 1].tobytes().decode(errors="replace")

    def _alike(self, typed: str, count: int) -> list[int]:
        """What one may have meant, among all names of a small wiki, or those that share a word's beginning."""
        from rapidfuzz import fuzz, process

        typed = typed[:_LETTERS]
        total = len(self.bounds) - 1
        names = range(total) if total <= _SMALL else self._near(typed)
        folded = {name: self._name(name) for name in names}
        best: list[tuple[str, float, int]] = []
        for scorer, least in ((fuzz.ratio, _LIKE), (fuzz.WRatio, _LIKE_A_PART)):
            if not best and len(typed) >= _SHORT:
                best = process.extract(typed, folded, scorer=scorer, limit=4 * count, score_cutoff=least)
        best.sort(key=lambda one: (-one[1], one[2]))
        return list(dict.fromkeys(self._article(name) for _, _, name in best))[:count]

    def _near(self, typed: str) -> list[int]:
        found: dict[int, None] = {}
        for word in typed.split()[:_WORDS]:
            raw = word.encode(errors="replace")
            for size in range(min(len(raw), _SORTED), 0, -1):
                rows = [self._stretch(table, raw[:size]) for table in self.tables]
                if any(map(len, rows)):
                    for table, own in zip(self.tables, rows, strict=True):
                        found |= dict.fromkeys(table.names[self._best(table, own, _LOOKED_AT)].tolist())
                    break
        return list(found)


def _remedy(folder: Path) -> str:
    return f"remove {folder}, it is made anew"


def _damaged(folder: Path, column: str, what: str) -> DamagedError:
    return DamagedError(folder / f"{column}.npy", what, _remedy(folder))


def _map(folder: Path) -> dict[str, NDArray[Any]]:
    """The columns that were kept; lengths that do not fit are an error."""
    columns: dict[str, NDArray[Any]] = {
        name: map_array(folder / f"{name}.npy", _remedy(folder), dtype, 0) for name, dtype in _TYPES.items()
    }
    rows = {"firsts": len(columns["bounds"]) - 1, "others": len(columns["others_starts"])}
    for name, values in columns.items():
        expected = rows.get(name.partition("_")[0], len(values))
        if len(values) != expected:
            raise _damaged(folder, name, f"{len(values):,} rows instead of {expected:,}")
    return columns


def check(folder: Path) -> None:
    """Names that overlap, places outside of the text, or names that there are not, are an error."""
    columns = _map(folder)
    text, bounds = columns["text"], columns["bounds"]
    if bounds[0] != 0 or bounds[-1] != len(text) or (bounds[1:] <= bounds[:-1]).any():
        raise _damaged(folder, "bounds", "its names overlap")
    limits = {"starts": len(text), "names": len(bounds) - 1}
    for name, values in columns.items():
        limit = limits.get(name.partition("_")[2])
        if limit is not None and len(values) and not 0 <= values.min() <= values.max() < limit:
            raise _damaged(folder, name, f"it leads beyond the {limit:,} there are")


def _folded(strings: Strings) -> list[bytes]:
    """All strings, folded, a line each; many at once, since folding a long text costs hardly more than a short one."""
    found = []
    for start in range(0, len(strings), _CHUNK):
        names = strings.slice(start, min(start + _CHUNK, len(strings)))
        text = fold("\n".join(names))
        if text.count("\n") != len(names) - 1:  # a name with a line break in it
            text = "\n".join(fold(name.replace("\n", " ")) for name in names)
        found.append(text.encode() + _END)
    return found


def _words(text: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Where words begin: at a letter or digit behind something else. All beyond ASCII count as letters."""
    inside = np.array([sign >= 128 or chr(sign).isalnum() for sign in range(256)])[text]
    begins = inside.copy()
    begins[1:] &= ~inside[:-1]
    return begins


def _sort(text: NDArray[np.uint8], bounds: Int64s, starts: Int64s, weights: Int64s) -> SortedNames:
    """A table of places in the text."""
    keys = np.zeros((_SORTED // 8, len(starts)), np.uint64)
    _fill(text, starts, keys)
    order = np.lexsort(keys[::-1])
    names: Int32s = (np.searchsorted(bounds, starts, side="right") - 1)[order].astype(np.int32)
    return SortedNames(starts[order], names, weights[names].astype(np.uint32))


@kernel
def _fill(text: NDArray[np.uint8], starts: Int64s, keys: NDArray[np.uint64]) -> None:
    """Eight bytes a number, the first byte the highest: numbers are then sorted as the bytes are."""
    for i in range(starts.shape[0]):
        for part in range(keys.shape[0]):
            number = np.uint64(0)
            for byte in range(8):
                at = starts[i] + 8 * part + byte
                number <<= np.uint64(8)
                if at < text.shape[0]:
                    number |= np.uint64(text[at])
            keys[part, i] = number
