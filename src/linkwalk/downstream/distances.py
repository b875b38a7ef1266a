"""How far a walk would have to go: links from where BM25 begins to the evidence (sec. 4.3, app. C).

The paper counts from BM25's first block and gives means of 4.3 links (FEVER) and 5.1 (NQ). Walks begin at more blocks
than one, so the least distance from any of the first five and ten is counted, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwalk.arrays import Float64s, Int32s
from linkwalk.downstream.dataset import AlignedQuestion
from linkwalk.errors import InputError
from linkwalk.graph.paths import UNREACHABLE, ShortestPaths
from linkwalk.graph.store import Graph
from linkwalk.graph.sweeps import PathLengths

TOPS = (1, 5, 10)
"""From how many of BM25's blocks on: the appendix's figures, its walks, those of section 4.3."""
NOT_MEASURED = -2
ALL = "all"


@dataclass(frozen=True)
class EvidenceLengths(PathLengths):
    """Distances of some claims or questions, each from its start to its evidence."""

    @classmethod
    def of(cls, distances: Int32s) -> "EvidenceLengths":
        """From distances [B], -1 where no path leads, -2 where nothing was measured."""
        unreachable = int((distances == UNREACHABLE).sum())
        counts = np.bincount(distances[distances >= 0], minlength=1).astype(np.int64)
        return cls(int(counts.sum()) + unreachable, counts, unreachable)

    @property
    def shares(self) -> Float64s:
        """The share at each distance, of all that were measured: what is unreachable is missing from their sum."""
        return self.counts / max(self.sources, 1)

    def to_json(self) -> dict[str, Any]:
        """Counts, shares and what sums them up."""
        return {
            "measured": self.sources,
            "mean": self.mean,
            "median": self.median,
            "share_at_0": float(self.shares[0]),
            "unreachable": self.unreachable,
            "counts": self.counts.tolist(),
            "shares": self.shares.tolist(),
            "cumulative": np.cumsum(self.shares).tolist(),
        }


class Distances(NamedTuple):
    """From the starts to the evidence, for all that was asked and for each group of it."""

    groups: dict[str, dict[int, EvidenceLengths]]
    """Group, ``all`` first, then how many starts count; where there is but one group, ``all`` alone."""
    each: dict[int, Int32s]
    """Each one's distance, in the order asked: -1 where no path leads, -2 where nothing was measured."""
    no_gold: int
    """Asked, but without a known block to find: not measured."""
    no_start: int
    """Asked, but BM25 knows none of the words: not measured."""

    def to_json(self) -> dict[str, Any]:
        """Everything but the single distances."""
        return {
            "no_gold": self.no_gold,
            "no_start": self.no_start,
            "groups": {
                name: {f"top_{top}": spread.to_json() for top, spread in spreads.items()}
                for name, spreads in self.groups.items()
            },
        }


def start_distances(
    graph: Graph,
    starts: Sequence[Int32s | Sequence[int]],
    asked: Sequence[AlignedQuestion],
    *,
    tops: Sequence[int] = TOPS,
) -> Distances:
    """Links to follow, as agents do, from the best ``tops`` starts of each (ranked) to its evidence.

    To an alternative of several blocks it is the distance of the farthest: only with that one is it complete. Each of
    its blocks is reached from the start that is best for it. Of several alternatives the nearest counts.
    """
    if len(starts) != len(asked):
        raise InputError(f"{len(starts)} lists of starts do not pair with {len(asked)} that are asked")
    if not tops or min(tops) < 1:
        raise InputError(f"tops={tuple(tops)}: choose 1 or more starts")
    paths = ShortestPaths(graph.forward, graph.reverse)
    each = {top: np.full(len(asked), NOT_MEASURED, np.int32) for top in sorted(set(tops))}
    no_gold = no_start = 0
    for i, (one, ranked) in enumerate(zip(asked, starts, strict=True)):
        nodes, gold = np.asarray(ranked, np.int64)[: max(tops)], sorted(one.blocks)
        if not gold or not len(nodes):
            no_gold += not gold
            no_start += bool(gold)
            continue
        pairs = paths.distances(np.repeat(nodes, len(gold)), np.tile(gold, len(nodes)))
        links = np.where(pairs == UNREACHABLE, np.inf, pairs).reshape(len(nodes), len(gold))
        for top, found in each.items():
            nearest = dict(zip(gold, links[:top].min(0).tolist(), strict=True))
            least = min(max(nearest[node] for node in blocks) for blocks in one.gold if blocks)
            found[i] = UNREACHABLE if np.isinf(least) else int(least)
    names = np.array([one.group for one in asked], dtype=object)
    groups = {ALL: {top: EvidenceLengths.of(found) for top, found in each.items()}}
    if len(set(names)) > 1:
        for name in sorted(set(names) - {ALL}):
            groups[name] = {top: EvidenceLengths.of(found[names == name]) for top, found in each.items()}
    return Distances(groups, each, no_gold, no_start)


def plot_distances(distances: Distances, path: Path, title: str, paper_mean: float | None = None) -> Path:
    """Draw the appendix's figure: for each group the share at each distance, and the share within it."""
    from linkwalk.graph.plots import FILL, INK, MARK, blank_figure, require, save_figure

    require(path.parent)
    figure, panels = blank_figure(title, columns=2, rows=len(distances.groups))
    for row, (name, lengths) in enumerate(distances.groups.items()):
        density, cumulative = panels[2 * row : 2 * row + 2]
        top, first = next(iter(lengths.items()))
        # Chains of blocks make a long, thin tail; the picture ends where all but a twentieth has arrived.
        last = int(np.searchsorted(np.cumsum(first.counts) / max(first.reachable, 1), 0.95)) + 1
        last = max(last, int(np.ceil(paper_mean or 0)) + 1)
        bars = first.shares[: last + 1]
        density.bar(np.arange(len(bars)), bars, color=FILL, width=0.85)
        for shade, (count, found) in zip(np.linspace(1, 0.35, len(lengths)), lengths.items(), strict=True):
            within = np.cumsum(found.shares)[np.minimum(np.arange(last + 1), len(found.shares) - 1)]
            label = f"from the best of {count}" if count > 1 else "from the first"
            cumulative.step(
                np.arange(last + 1), within, where="mid", color=INK, alpha=shade, linewidth=1.8, label=label
            )
        if first.mean is not None:
            density.axvline(
                first.mean, color=INK, linewidth=1.1, linestyle=":", label=f"mean {first.mean:.1f}"
            )
        for axis in (density, cumulative):
            if paper_mean is not None:
                label = f"the paper's mean {paper_mean:g}"
                axis.axvline(paper_mean, color=MARK, linewidth=1.4, linestyle="--", label=label)
            axis.set(xlabel="Links from start to evidence", xlim=(-0.6, last + 0.6))
            if axis.get_legend_handles_labels()[0]:  # where nothing was measured there may be none
                axis.legend(frameon=False, fontsize=9)
        beyond = int(first.counts[last + 1 :].sum())
        missing = f", {beyond:,} beyond {last}" if beyond else ""
        missing += f", {first.unreachable:,} unreachable" if first.unreachable else ""
        density.set_ylabel(f"Share, from the {'first' if top == 1 else f'best of {top}'}")
        density.set_title(f"{name}: {first.sources:,} measured{missing}", loc="left")
        cumulative.set(ylabel="Share within this distance", ylim=(0, 1.02))
        cumulative.set_title("Cumulative", loc="left")
    return save_figure(figure, path)
