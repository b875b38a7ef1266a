"""The damaged file behind an error that nobody expected. Servers of tools have it, too, and those have no FastAPI."""

import contextlib
import logging
import time
from collections.abc import Iterator
from threading import Lock

from linkwalk.artifact import explain
from linkwalk.errors import LinkwalkError, SuspectError
from linkwalk.serve.errors import ApiError

_LOG = logging.getLogger(__name__)
_EVERY = 60.0  # seconds: all files are read for it, and whoever knows how to fail would keep a server busy


class Inspector:
    """Finds the damaged file behind an error that nobody expected, so that the answer says which, and what mends it.

    The files that are open are looked at when something fails, and once a minute at most.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._until = 0.0
        self._found: LinkwalkError | None = None

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Raise the damage behind an error in its place; work that may take long, not for an event loop."""
        try:
            yield
        except SuspectError as error:
            if (found := self._behind(error)) is not None:
                raise found from None
            raise
        except (LinkwalkError, ApiError):
            raise
        except BaseException as error:
            if (found := self._behind(error)) is not None:
                raise found.with_traceback(None) from error
            if isinstance(error, Exception):
                raise
            # A panic of a Rust library: as it is, it would pass by all who turn errors into answers.
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    def _behind(self, error: BaseException) -> LinkwalkError | None:
        with self._lock:
            if time.monotonic() >= self._until:
                found = explain(error)
                self._found = None if found is error else found
                self._until = time.monotonic() + _EVERY
                if self._found is not None:
                    _LOG.error("%s", self._found)
            return self._found
