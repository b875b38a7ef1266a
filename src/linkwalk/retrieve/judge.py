"""Reads for queries, weighs what to open next, ranks what was read, and says how sure one may be (sec. 4.3, ours).

Blocks are opened in waves. A small network says of every block heard of how likely it is evidence, given all that was
read so far (``worth``); the best are read, sentence by sentence, by the reader of blocks; their links are heard of,
each with what the sentence around it is worth; and so on, until ``candidates`` blocks are read, or reading on would
hardly change what comes first (``enough``). Within a wave, too, a block is worth what it is once those before it were
read: ten blocks of one article are not ten chances. A share of every wave is search's own list, so that what is learned
adds to it and takes nothing away. A second network ranks what was read (``rank``), a third says how likely anything of
it settles the query (``sure``), a fourth how likely reading on brings up evidence that is not among the first five yet
(``further``). A block's share of being sure is its share of the ranking's softmax, a sentence's goes by the reader's
scores within the block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Float32s
from linkwalk.embed.text import MIN_WORDS
from linkwalk.graph.store import Graph
from linkwalk.retrieve.block_reader import BlockReader
from linkwalk.retrieve.desk import ASKED, HEARD, READ, TRIED, Desk
from linkwalk.retrieve.scorer import Scorer
from linkwalk.scripts import words_in

HEARD_OF = 50
"""Search results of either list that are heard of before anything is read."""
WAVES = (8, 4)
"""Blocks that are opened together: the first time, and from then on."""
BY_SEARCH = (0.5, 0.25)
"""Of the first wave and of later ones, the share that are the next of both lists, fused."""
WORTH = (*HEARD, *ASKED, *TRIED)
RANK = (*HEARD, *READ, *ASKED)
MARGINS = ("ahead", "ahead_of_five", "share")
"""How far the best block is ahead of the second and of the mean of the next four, and its share of all."""
SURE = (*RANK, *MARGINS)
LEFT = ("left", "next", *(f"next_{name}" for name in ("via", "linked", "lacks", "search")))
"""What the next few blocks and the next one are worth, as logits, and what is known of the next one."""
AHEAD = ("share", "share_of_two", "share_of_five", "ahead", "ahead_of_fifth", "fifth_ahead", "fifth")
"""The shares of the best blocks read; how far the first is ahead of the second and of the fifth, and the fifth of the
sixth; the fifth's score, which is what another block would have to beat."""
BEST = ("covered", "best", "search", "named", "title", "linked", "near_rank", "words_rank")
"""What is known of the best block read."""
FURTHER = (*LEFT, *AHEAD, *BEST, *ASKED)
_NAMES = {"worth": WORTH, "rank": RANK, "sure": SURE, "further": FURTHER}
_CACHED = 1 << 16
_TRIED = WORTH.index("tried")
_LIKELY = 4  # unread blocks that are looked at to decide whether to go on


class BlockSentences(NamedTuple):
    """What can be shown of a block, and of each of its own sentences which one of these it is, or -1."""

    texts: tuple[str, ...]
    numbers: NDArray[np.int64]


def sentences_of(graph: Graph, node: int) -> BlockSentences:
    """Those of at least four words; a block that has none is shown whole."""
    block = graph.block(node)
    kept = np.array([words_in(text) >= MIN_WORDS for text in block.sentences], np.bool_)
    if not kept.any():
        return BlockSentences((block.text,), np.zeros(len(block.sentences), np.int64))
    texts = tuple(text for text, keep in zip(block.sentences, kept, strict=True) if keep)
    return BlockSentences(texts, np.where(kept, np.cumsum(kept) - 1, -1))


class Verdict(NamedTuple):
    """What is thought of the blocks read."""

    order: list[int]
    """Places in the order of reading, the best first."""
    chances: Float32s
    """That each block is what settles the query, in the order of reading."""
    sure: float
    """That anything of it does."""


@dataclass(frozen=True, kw_only=True)
class JudgeWeights:
    """The judge's small networks, and the two levels it decides by."""

    worth: Scorer
    rank: Scorer
    sure: Scorer
    further: Scorer | None = None
    """None: reading ends where the next blocks together are less likely to be evidence than ``enough``."""
    enough: float = 0.0
    """Reading ends where going on is less likely to bring up more evidence."""
    nothing: float = 0.0
    """Below this chance of having an answer there is said to be none."""

    def to_json(self) -> dict[str, Any]:
        """What ``ranking.json`` holds."""
        own = {name: getattr(self, name) for name in _NAMES}
        networks = {name: network.to_json() for name, network in own.items() if network is not None}
        return {**networks, "enough": self.enough, "nothing": self.nothing}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "JudgeWeights":
        """Of a file; one that was made before there was a fourth network has three."""
        there = {name: inputs for name, inputs in _NAMES.items() if name != "further" or name in found}
        networks = {name: Scorer.from_json(found[name], inputs) for name, inputs in there.items()}
        enough, nothing = float(found["enough"]), float(found["nothing"])
        if not np.isfinite([enough, nothing]).all():
            raise ValueError("it holds what is not a number")
        return cls(**networks, enough=enough, nothing=nothing)


class Judge:
    """Reads and ranks, for one wiki."""

    def __init__(self, graph: Graph, reader: BlockReader, weights: JudgeWeights) -> None:
        self.graph, self.reader, self.weights = graph, reader, weights
        self.sentences = lru_cache(_CACHED)(lambda node: sentences_of(graph, node))

    def read_on(
        self, desks: Sequence[Desk], candidates: int, *, enough: float | None = None
    ) -> Iterator[None]:
        """Open blocks for all desks, up to so many each; hands over after every wave."""
        enough = self.weights.enough if enough is None else enough
        going = list(desks)
        while going:
            chosen = []
            for desk in going:
                size = min(WAVES[bool(desk.opened)], candidates - len(desk.opened))
                chosen.append(self.next(desk, size, enough))
            going = [desk for desk, rows in zip(going, chosen, strict=True) if rows]
            if not going:
                return
            self.open(going, [rows for rows in chosen if rows])
            yield

    def next(self, desk: Desk, size: int, enough: float) -> list[int]:
        """The rows to open next; none where nothing is left, or nothing that is worth it."""
        rows = desk.unread()
        if size <= 0 or not len(rows):
            return []
        figures = desk.weighed(rows)
        worth = self.weights.worth.of(figures, WORTH)
        if desk.opened and enough > 0 and self.more(desk, figures, worth) < enough:
            return []
        # What search itself puts first is read in any case: links and learning add to it, and take nothing away.
        share = int(size * BY_SEARCH[bool(desk.opened)])
        place = {row: at for at, row in enumerate(rows.tolist())}
        listed = [at for node in desk.listed if (at := place.get(desk.row.get(node, -1), -1)) >= 0][:share]
        articles = desk.articles(rows)
        chosen: list[int] = []
        while len(chosen) < min(size, len(rows)):
            best = listed.pop(0) if listed else int(worth.argmax())
            chosen.append(int(rows[best]))
            same = articles == articles[best]
            tried(figures, same)
            worth[same] = self.weights.worth.of(figures[same], WORTH)
            worth[[place[row] for row in chosen]] = -np.inf
        return chosen

    def more(self, desk: Desk, waiting: Float32s, worth: Float32s) -> float:
        """How likely reading on brings up more, given what unread blocks look like and are worth."""
        if self.weights.further is None:
            return float(_chance(np.sort(worth)[::-1][:_LIKELY]).sum())
        figures = self.judged(desk)
        known = further_of(figures, self.weights.rank.of(figures, RANK), waiting, worth)
        return float(_chance(self.weights.further.of(known[None], FURTHER))[0])

    def open(self, desks: Sequence[Desk], chosen: Sequence[Sequence[int]]) -> None:
        """Read some rows of each desk."""
        passages = []
        for desk, rows in zip(desks, chosen, strict=True):
            passages.append([desk.passage(row, self.sentences) for row in rows])
        read = self.reader.read([desk.query for desk in desks], passages)
        for desk, rows, blocks in zip(desks, chosen, read, strict=True):
            desk.open(rows, blocks, [self.sentences(desk.nodes[row]).numbers for row in rows])

    def judged(self, desk: Desk) -> Float32s:
        """The figures of ``RANK`` for all blocks read."""
        return desk.judged(lambda node: self.sentences(node).texts)

    def verdict(self, desk: Desk) -> Verdict:
        """What is thought of what was read so far."""
        if not desk.opened:
            return Verdict([], np.zeros(0, np.float32), 0.0)
        figures = self.judged(desk)
        scores = self.weights.rank.of(figures, RANK)
        share = _shares(scores)
        sure = float(_chance(self.weights.sure.of(sure_of(figures, scores)[None], SURE))[0])
        return Verdict(np.argsort(-scores, kind="stable").tolist(), sure * share, sure)


def tried(figures: Float32s, same: NDArray[np.bool_]) -> None:
    """Take down that one more block of the article of some rows of ``WORTH`` is going to be read."""
    figures[same, _TRIED] = np.log1p(np.expm1(figures[same, _TRIED]) + 1)


def sure_of(figures: Float32s, scores: Float32s) -> Float32s:
    """The figures of ``SURE``: those of the best block, and how far it is ahead."""
    order = np.argsort(-scores, kind="stable")
    best, rest = scores[order[0]], scores[order[1:5]]
    ahead = (best - rest[0], best - rest.mean()) if len(rest) else (0.0, 0.0)
    margins = np.array([*ahead, _shares(scores)[order[0]]], np.float32)
    return np.concatenate((figures[order[0]], margins))


def further_of(figures: Float32s, scores: Float32s, waiting: Float32s, worth: Float32s) -> Float32s:
    """The figures of ``FURTHER``, of what was read (``RANK``) and its scores, what waits (``WORTH``) and its worth."""
    order = np.argsort(-worth, kind="stable")
    left = np.clip(_chance(worth[order[:_LIKELY]]).sum() / _LIKELY, 1e-6, 1 - 1e-6)
    next_one = dict(zip(WORTH, waiting[order[0]], strict=True))
    ranked = np.sort(scores)[::-1]
    shares = np.cumsum(_shares(ranked))
    ranked = np.append(ranked, np.full(6, ranked[-1] - 2))  # where fewer were read
    best = dict(zip(RANK, figures[int(scores.argmax())], strict=True))
    found = (
        *(np.log(left / (1 - left)), worth[order[0]]),
        *(next_one[name.removeprefix("next_")] for name in LEFT[2:]),
        *(shares[min(count, len(shares)) - 1] for count in (1, 2, 5)),
        *(ranked[0] - ranked[1], ranked[0] - ranked[4], ranked[4] - ranked[5], ranked[4]),
        *(best[name] for name in (*BEST, *ASKED)),
    )
    return np.array(found, np.float32)


def _chance(logit: Float32s) -> Float32s:
    found: Float32s = np.asarray(1 / (1 + np.exp(-np.clip(logit, -30, 30))), np.float32)
    return found


def _shares(scores: Float32s) -> Float32s:
    likely = np.exp(scores - scores.max(initial=-np.inf))
    found: Float32s = likely / likely.sum()
    return found
