"""What each part of a build costs: time, work of this process and of its workers, and the most memory either held.

The figures are told, never written into an artefact, whose bytes depend on no clock.
"""

import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
#: Written to a process's ``clear_refs``, it forgets the most memory that the process has held.
_FORGET_PEAK = "5"

Cost = dict[str, float]


class Costs(dict[str, Cost]):
    """The parts of a build, in order, each with its figures.

    ``seconds``; ``cpu``, the seconds of work of this process, and ``cpu_of_workers``; ``peak_mb``, the most memory that
    this process held, pages of mapped files among it, and ``peak_mb_of_worker``, the largest worker's. What a system
    does not tell (all but Linux tell of no peaks; workers on other machines are not seen) is left out.
    """

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Measure what is done in this block, and add it to what a part has cost so far."""
        for pid in (None, *_workers()):
            with suppress(OSError):
                Path("/proc", str(pid or "self"), "clear_refs").write_text(_FORGET_PEAK)
        started, own, others = time.perf_counter(), time.process_time(), _work(_workers())
        try:
            yield
        finally:
            workers = _workers()
            cost = self.setdefault(name, {"seconds": 0.0, "cpu": 0.0, "cpu_of_workers": 0.0})
            cost["seconds"] += time.perf_counter() - started
            cost["cpu"] += time.process_time() - own
            cost["cpu_of_workers"] += max(0.0, _work(workers) - others)
            peaks = {"peak_mb": _peak_mb(None), "peak_mb_of_worker": max(map(_peak_mb, workers), default=0.0)}
            for peak, size in peaks.items():
                if size:
                    cost[peak] = max(cost.get(peak, 0.0), size)

    def rounded(self) -> dict[str, Cost]:
        """The figures for people: hundredths of seconds, whole megabytes."""
        return {
            part: {name: round(value, 0 if name.startswith("peak") else 2) for name, value in cost.items()}
            for part, cost in self.items()
        }


def _workers() -> list[int]:
    return [child.pid for child in multiprocessing.active_children() if child.pid is not None]


def _work(pids: list[int]) -> float:
    """Seconds of work of other processes."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def _peak_mb(pid: int | None) -> float:
    """The most memory that a process, or this one, has held since that was last forgotten; 0 where nobody tells."""
    with suppress(OSError):
        for line in Path("/proc", str(pid or "self"), "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0
