"""The paper's figures as PNG files: degrees, path lengths, edge changes (app. A.3); extra ``plots``."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwalk.arrays import Float64s, Int64s
from linkwalk.errors import InputError
from linkwalk.graph.statistics import Histogram, Statistics
from linkwalk.graph.sweeps import PathLengths

if TYPE_CHECKING:
    from linkwalk.graph.diff import Diff

INK, FILL, MARK = "#1f3b57", "#4f86b8", "#c8553d"
_STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e7eb",
    "grid.linewidth": 0.8,
}


def require(folder: Path) -> None:
    """Refuse before the long work what would fail after it: no matplotlib, a file in the folder's place."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("plots need matplotlib: run `pip install 'linkwalk[plots]'`") from None
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: plots want a folder")


def plot_statistics(found: Statistics, folder: Path) -> list[Path]:
    """Draw in- and out-degrees and the distribution of path lengths; returns the files written."""
    written = [
        _draw_degrees(found.out_degree, "Out-degree", found.snapshot, folder / "out_degree.png"),
        _draw_degrees(found.in_degree, "In-degree", found.snapshot, folder / "in_degree.png"),
    ]
    if found.path_lengths.reachable:
        written.append(_draw_lengths(found.path_lengths, found.snapshot, folder / "path_lengths.png"))
    return written


def plot_diff(found: "Diff", folder: Path) -> list[Path]:
    """Draw how many edges changed per common node; returns the files written."""
    snapshots = f"{found.old_snapshot} to {found.new_snapshot}"
    return [_draw_changes(found.edge_changes, snapshots, folder / "edge_changes.png")]


def blank_figure(snapshot: str, columns: int = 1, rows: int = 1) -> tuple[Any, list[Any]]:
    """A figure that needs no display, under the snapshot's name, and its panels row by row."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(1.2 + 5.2 * columns, 4.2 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        name = textwrap.fill(snapshot, 68 * columns)
        figure.suptitle(name, x=0.012, ha="left", fontsize=10, color=INK, fontweight="bold")
    return figure, list(axes)


def save_figure(figure: Any, path: Path) -> Path:
    """Write it where asked, folders and all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return path


def _draw_degrees(degrees: Histogram, name: str, snapshot: str, path: Path) -> Path:
    """Log-log: every value a faint dot, and a line of means in growing bins, as the tail is thin."""
    figure, (axis,) = blank_figure(snapshot)
    shown = degrees.values > 0  # zero has no logarithm; the legend names it
    values, counts = degrees.values[shown], degrees.counts[shown]
    axis.loglog(
        values, counts, ".", color=FILL, alpha=0.45, markersize=4, label="blocks of exactly this degree"
    )
    centres, densities = _density(values, counts)
    axis.loglog(centres, densities, color=INK, linewidth=1.6, label="mean per degree, in growing bins")
    zeros = degrees.count(0)
    if zeros:
        axis.plot([], [], " ", label=f"degree 0: {zeros:,} blocks")
    axis.set(xlabel=name, ylabel="Blocks")
    axis.set_title(f"{name} distribution", loc="left")
    axis.set_ylim(bottom=0.5 if len(densities) == 0 else min(0.5, float(densities.min()) / 2))
    axis.text(
        0.02,
        0.03,
        f"mean {degrees.mean:,.1f}   median {degrees.median:g}   max {degrees.max:,}",
        transform=axis.transAxes,
        color=INK,
        fontsize=9,
    )
    axis.legend(frameon=False, fontsize=9, loc="upper right")
    return save_figure(figure, path)


def _density(values: Int64s, counts: Int64s) -> tuple[Float64s, Float64s]:
    """Blocks per degree, averaged over bins that grow by a quarter; empty bins are left out."""
    if len(values) == 0:
        return np.zeros(0), np.zeros(0)
    steps = int(np.ceil(np.log(values.max() + 1) / np.log(1.25))) + 1
    edges = np.unique(np.ceil(1.25 ** np.arange(steps + 1)))
    totals, _ = np.histogram(values, edges, weights=counts)
    widths, lows, highs = np.diff(edges), edges[:-1], edges[1:] - 1
    kept = totals > 0
    return np.sqrt(lows * highs)[kept], (totals / widths)[kept]


def _draw_lengths(lengths: PathLengths, snapshot: str, path: Path) -> Path:
    """The distribution of shortest-path lengths: density on the left, cumulative on the right."""
    figure, (density, cumulative) = blank_figure(snapshot, 2)
    share = lengths.counts / lengths.reachable
    running = np.cumsum(share)
    # Chains of blocks make a long, thin tail; the picture ends where all but a thousandth has arrived.
    last = int(np.searchsorted(running, 0.999)) + 1
    at = np.arange(len(share))[: last + 1]
    density.bar(at, share[: last + 1], color=FILL, width=0.85)
    cumulative.step(at, running[: last + 1], where="mid", color=INK, linewidth=1.8)
    cumulative.set_ylim(0, 1.02)
    median = lengths.median or 0.0
    for axis in (density, cumulative):
        axis.axvline(median, color=MARK, linewidth=1.4, linestyle="--", label=f"median {median:g}")
        axis.axvline(lengths.mean, color=INK, linewidth=1.1, linestyle=":", label=f"mean {lengths.mean:.1f}")
        axis.set_xlabel("Shortest-path length (links)")
        axis.legend(frameon=False, fontsize=9)
    density.set_ylabel("Share of reachable pairs")
    density.set_title("Shortest-path lengths: PDF", loc="left")
    cumulative.set_ylabel("Share within this length")
    cumulative.set_title(f"CDF, {lengths.sources:,} sources, {lengths.reachable:,} pairs", loc="left")
    return save_figure(figure, path)


def _draw_changes(changes: Histogram, snapshots: str, path: Path) -> Path:
    """Histogram of edge changes, cut where all but a thousandth of the blocks are shown."""
    figure, (axis,) = blank_figure(snapshots)
    running = np.cumsum(changes.counts) / max(changes.total, 1)
    shown = np.arange(len(running)) <= np.searchsorted(running, 0.999)
    axis.bar(changes.values[shown], changes.counts[shown], color=FILL, width=0.9)
    if changes.total:
        axis.set_yscale("log")
        axis.axvline(
            changes.mean, color=MARK, linewidth=1.4, linestyle="--", label=f"mean {changes.mean:.1f}"
        )
        axis.legend(frameon=False, fontsize=9)
    axis.set(xlabel="Edges added or removed", ylabel="Blocks")
    axis.set_title("Edge changes per common block", loc="left")
    return save_figure(figure, path)
