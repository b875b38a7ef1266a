"""A reader of sections that reads no pair twice while the same questions are at hand."""

from collections.abc import Hashable, Sequence
from copy import copy

import numpy as np

from linkwalk.arrays import Bools, Float32s
from linkwalk.embed.sections import Choose, Means, SectionReader, Sections
from linkwalk.retrieve.judge import Judge

_Both = tuple[Float32s, Float32s]
"""The means of one pair: of its query [D] and of its sections [S, D]."""


class RememberedSections:
    """What came of a pair is what came of it before; which pairs are read to the end is decided anew each time."""

    def __init__(self, reader: SectionReader, *, whole: bool = False) -> None:
        """A reader that reads everything to the end in any case (``whole``) need not be asked again for the rest."""
        self.reader, self.whole = reader, whole
        self._early: dict[Hashable, _Both] = {}
        self._late: dict[Hashable, _Both] = {}

    def read(self, pairs: Sequence[Sections], exit: int, choose: Choose) -> tuple[Means, Means, Bools]:
        """The means after ``exit`` layers and after the last, and which pairs [P] were read to the end."""
        keys: list[Hashable] = [(*pair.tokens, *pair.bounds) for pair in pairs]
        new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in self._early}
        chosen: list[Bools] = []

        def going(early: Means) -> Bools:
            self._early.update(zip(new, _each(early), strict=True))
            chosen.append(choose(_joined([self._early[key] for key in keys])))
            deep = {key for key, going in zip(keys, chosen[0].tolist(), strict=True) if going}
            return np.array([self.whole or key in deep for key in new], np.bool_)

        if new:
            _, late, went = self.reader.read(list(new.values()), exit, going)
            each = zip(new, _each(late), went.tolist(), strict=True)
            self._late.update((key, both) for key, both, deep in each if deep)
        early = _joined([self._early[key] for key in keys])
        deep = chosen[0] if chosen else choose(early)
        lacking = {key: pairs[i] for i, key in enumerate(keys) if deep[i] and key not in self._late}
        if lacking:
            _, late, _ = self.reader.read(list(lacking.values()), exit, _all)
            self._late.update(zip(lacking, _each(late), strict=True))
        return early, _joined([self._late.get(key) or self._early[key] for key in keys]), deep

    def clear(self) -> None:
        """Other questions follow."""
        self._early.clear()
        self._late.clear()


def remembering(judge: Judge) -> tuple[Judge, RememberedSections]:
    """The same judge with a memory for what was read, and that memory."""
    memory = RememberedSections(judge.reader.reader)
    other, reader = copy(judge), copy(judge.reader)
    reader.reader, other.reader = memory, reader
    return other, memory


def _all(early: Means) -> Bools:
    return np.ones(len(early.query), np.bool_)


def _each(means: Means) -> list[_Both]:
    """Pair by pair."""
    cuts = np.searchsorted(means.owner, np.arange(1, len(means.query)))
    return list(zip(means.query, np.split(means.sections, cuts), strict=True))


def _joined(each: Sequence[_Both]) -> Means:
    """Of all pairs."""
    owner = np.repeat(np.arange(len(each)), [len(sections) for _, sections in each])
    return Means(np.stack([one[0] for one in each]), np.concatenate([one[1] for one in each]), owner)
