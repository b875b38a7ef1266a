"""What has been opened of a workspace: each thing once, whichever thread asks first."""

from collections.abc import Callable, Hashable
from threading import Lock, RLock
from typing import Any, TypeVar

Thing = TypeVar("Thing")


class Shelf:
    """Things by name, made when first asked for; what could not be made is tried again next time."""

    def __init__(self) -> None:
        self._things: dict[Hashable, Any] = {}
        self._locks: dict[Hashable, RLock] = {}  # one each, so that nobody waits for what is not wanted
        self._lock = Lock()

    def get(self, name: Hashable, make: Callable[[], Thing]) -> Thing:
        """The thing of that name; where two threads ask at once, one makes it and the other waits."""
        with self._lock:
            if name in self._things:
                found: Thing = self._things[name]
                return found
            own = self._locks.setdefault(name, RLock())
        with own:
            if name not in self._things:
                made = make()
                with self._lock:
                    self._things[name] = made
            found = self._things[name]
            return found
