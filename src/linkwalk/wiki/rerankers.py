"""Who ranks what was read, by name: TF-IDF, a cross-encoder in its folder, a part of one's own."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from linkwalk.embed import Embeddings, Encoder
from linkwalk.embed.model import MINILM, MINILM_WALKS, has_minilm
from linkwalk.errors import InputError
from linkwalk.parts import is_part, make_part, takes
from linkwalk.retrieve import FindConfig, Reranker, tfidf
from linkwalk.retrieve.block_reader import BlockReader
from linkwalk.retrieve.judge import Judge
from linkwalk.retrieve.rerank import name_of
from linkwalk.shipped import reranker_path

if TYPE_CHECKING:
    from linkwalk.wiki.workspace import Workspace

QUICK = ("tfidf", "none")
"""Rerankers that are no models, and need nothing to be opened."""


def usual_reranker(table: Embeddings | None) -> str:
    """Who ranks where nobody is named: the cross-encoder that ships stands on MiniLM, and reads what that reads."""
    return "cross" if _minilm_reads(table) and has_minilm() else "tfidf"


def _minilm_reads(table: Embeddings | None) -> bool:
    """A wiki that MiniLM has embedded is one that it reads, whichever table is looked at."""
    return (
        table is None
        or table.manifest["encoder"] in (MINILM_WALKS, MINILM)
        or ("trained" in table.manifest and any(map(table.has_beside, (MINILM_WALKS, MINILM))))
    )


def reranker_name(asked: str | Reranker | None) -> str:
    """What answers call who ranks."""
    if asked is None:
        return usual_reranker(None)
    return asked if isinstance(asked, str) else name_of(asked)


def check_reranker(name: str) -> None:
    """Refuse what is no reranker's name."""
    if name not in QUICK and not _folder(name).is_dir() and not is_part(name):
        there = "none, tfidf, cross, folders of rerankers, and package.module:Name"
        raise InputError(f"no reranker {name!r}: there are {there}")


def open_reranker(
    workspace: "Workspace", asked: str | Reranker | None, in_cascade: Callable[[Reranker], Reranker]
) -> Reranker | None:
    """Who ranks: an object as it is, or one by name; a cross-encoder of single sentences ``in_cascade``."""
    name = reranker_name(asked)
    if not isinstance(asked, str | None):
        return _checked(asked, name)
    if name in QUICK:
        return tfidf if name == "tfidf" else None
    check_reranker(name)
    if not _folder(name).is_dir():  # a class is made with nothing
        return workspace.opened(("reranker", name), lambda: _checked(make_part(name, "reranker"), name))
    slow = _cross(workspace, name)
    return slow if isinstance(slow, BlockReader) else in_cascade(slow)


def open_judge(workspace: "Workspace", asked: FindConfig, table: Embeddings | None) -> Judge | None:
    """Who reads, weighs and ranks: where the reranker named has learned to, and knows embeddings such as these."""
    from linkwalk.retrieve.block_folder import read_ranking
    from linkwalk.retrieve.cross import MANIFEST

    name = asked.rerank
    if not isinstance(name, str) or name in QUICK or not _minilm_reads(table):
        return None
    folder = _folder(name)
    if not (folder / MANIFEST).exists():
        return None
    reader = _cross(workspace, name)
    weights = workspace.opened(("ranking", name), lambda: read_ranking(folder))
    if weights is None or not isinstance(reader, BlockReader):
        return None
    return workspace.opened(("judge", name), lambda: Judge(workspace.graph, reader, weights))


def open_searcher(workspace: "Workspace", asked: FindConfig, table: Embeddings | None) -> Encoder | None:
    """What reads queries for dense search, where the folder of the reranker has one for these embeddings."""
    from linkwalk.retrieve.block_folder import load_search

    if table is None or not isinstance(asked.rerank, str):
        return None
    folder = _folder(asked.rerank)
    return workspace.opened(
        ("searcher", table.name, folder), lambda: load_search(folder, table, device=workspace.device)
    )


def _folder(name: str) -> Path:
    """Where a cross-encoder would be."""
    return reranker_path() if name == "cross" else Path(name)


def _cross(workspace: "Workspace", name: str) -> Reranker:
    from linkwalk.retrieve.cross import load_cross

    return workspace.opened(("reranker", name), lambda: load_cross(_folder(name), device=workspace.device))


def _checked(rerank: Reranker, name: str) -> Reranker:
    if not callable(rerank) or not takes(rerank, "", [], []):
        raise InputError(f"{name} is no reranker: it is to be called with a query, titles and sentences")
    return rerank
