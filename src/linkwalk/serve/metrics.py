"""What happened, in numbers, for Prometheus; right with several workers, too.

With several workers each writes its numbers into files of a folder that all of them share (the variable
PROMETHEUS_MULTIPROC_DIR, which ``linkwalk serve --workers`` sets), and whoever is asked adds them up.
"""

import os
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.types import Scope

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"}


class Counters:
    """The counters of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._series: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        counter = partial(Counter, registry=self.registry)
        self.requests = counter(
            "linkwalk_requests", "Answers, by endpoint and status.", ["method", "route", "status"]
        )
        self.seconds = Histogram(
            "linkwalk_request_seconds",
            "Time from a request's headers to the end of its answer.",
            ["route"],
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.open = Gauge(
            "linkwalk_requests_open",
            "Requests being answered.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self.walks = counter("linkwalk_walks", "Walks, by agent.", ["agent", "success"])
        self.clicks = counter("linkwalk_clicks", "Clicks that agents made.", ["agent"])
        self.evidence = counter("linkwalk_evidence", "Sentences found.")
        self.games = counter("linkwalk_games", "Games that people finished.", ["won"])

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        """Count an answer; looking a series up by its labels takes longer than counting, so it is done once."""
        method, route = scope["method"] if scope["method"] in _METHODS else "other", _route(scope)
        key = method, route, status
        if (known := self._series.get(key)) is None:
            known = self.requests.labels(method, route, str(status)), self.seconds.labels(route)
            self._series[key] = known
        known[0].inc()
        known[1].observe(seconds)

    def text(self) -> bytes:
        """All of them, in Prometheus's text format."""
        folder = os.environ.get(FOLDER)
        if folder is None:
            return generate_latest(self.registry)
        _forget_the_dead(Path(folder))
        together = CollectorRegistry()
        MultiProcessCollector(together, folder)  # type: ignore[no-untyped-call]
        return generate_latest(together)

    def close(self) -> None:
        """What this process had open is no longer."""
        if FOLDER in os.environ:
            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]


def _forget_the_dead(folder: Path) -> None:
    """Workers that were killed have no requests open."""
    for path in folder.glob("gauge_live*_*.db"):
        pid = int(path.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]
        except PermissionError:
            pass


def _route(scope: Scope) -> str:
    """The route's pattern, not the path: a client must not be able to make up as many series as it likes."""
    route, path = getattr(scope.get("route"), "path", None), scope["path"]
    if route is None and path.startswith("/static/"):
        return "/static"
    return route or (path if path == "/openapi.json" else "none")
