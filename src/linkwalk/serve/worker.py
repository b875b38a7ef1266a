"""One worker: what it has to know, what it starts with, and the note it leaves where it does not serve."""

import json
import os
import sys
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from fastapi import FastAPI

from linkwalk.embed import use_encoder
from linkwalk.errors import LinkwalkError
from linkwalk.serve.app import create_app
from linkwalk.serve.damage import Inspector
from linkwalk.serve.limits import Limits
from linkwalk.wiki import Wiki

_VARIABLE = "LINKWALK_SERVE"


class Note(NamedTuple):
    """Why a worker does not serve."""

    graph: str | None = None
    """The fingerprint of the graph it could serve, which is not the one that all workers answer from."""
    error: str | None = None
    """What keeps it from starting, in a line."""

    def leave(self, folder: str) -> None:
        """Write it down as this process's own."""
        _path(folder, os.getpid()).write_text(json.dumps(self), encoding="utf-8")

    @classmethod
    def take(cls, folder: str, pid: int | None) -> "Note | None":
        """The note of a process that has ended, which is gone then; None if it has left none."""
        path = _path(folder, pid)
        try:
            return cls(*json.loads(path.read_bytes()))
        except (OSError, ValueError):  # or half of one
            return None
        finally:
            path.unlink(missing_ok=True)


def _path(folder: str, pid: int | None) -> Path:
    return Path(folder, f"note-{pid}.json")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a worker has to know; it goes through the environment."""

    wiki: str
    limits: Limits = field(default_factory=Limits)
    runs: str | None = None
    embeddings: str | None = None
    encoder: str | None = None
    """One's own, as package.module:Name, that made them."""
    rerank: str | None = None
    warm: bool = True
    names: tuple[str, ...] = ()
    graph: str | None = None
    """The fingerprint of the graph that all of several workers answer from."""
    notes: str | None = None
    """The folder in which one of several workers says why it does not serve."""

    def write(self) -> None:
        """Into the environment."""
        os.environ[_VARIABLE] = json.dumps(asdict(self))

    @classmethod
    def read(cls) -> "Settings":
        """From the environment."""
        found = json.loads(os.environ[_VARIABLE])
        return cls(**found | {"limits": Limits(**found["limits"])})

    def app(self) -> FastAPI:
        """The application."""
        if self.encoder is not None:
            use_encoder(self.encoder)
        wiki = Wiki.open(self.wiki, embeddings=self.embeddings, rerank=self.rerank)
        runs = None if self.runs is None else Path(self.runs)
        return create_app(wiki, self.limits, runs, warm=self.warm, names=self.names)


def app() -> FastAPI:
    """What each worker starts with."""
    settings = Settings.read()
    if settings.notes is None:
        return _made(settings)
    try:
        made = _made(settings)
    except Exception as error:
        Note(error=_in_words(error)).leave(settings.notes)
        sys.exit(1)
    found: str = made.state.api.wiki.graph.fingerprint
    if found != settings.graph:
        Note(graph=found).leave(settings.notes)
        sys.exit(1)
    return made


def _made(settings: Settings) -> FastAPI:
    with Inspector().explained():
        return settings.app()


def _in_words(error: Exception) -> str:
    if isinstance(error, LinkwalkError | OSError):
        return str(error)
    traceback.print_exc()  # our own mistake
    return f"a worker cannot start ({type(error).__name__}, see above)"
