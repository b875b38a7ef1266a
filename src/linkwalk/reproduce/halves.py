"""What a table is run on: one half of a wiki to train on, the other, unseen, to be tested on (app. A.2)."""

from dataclasses import dataclass
from pathlib import Path

from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.embed.model import MINILM, RANDOM
from linkwalk.embed.store import carry, choose, folder_of, names
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.split import HALVES, nodes_of_half, split
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress

FOLDER = "halves"


@dataclass(frozen=True)
class Halves:
    """Two workspaces, both with the same embeddings, and the folder that holds them."""

    root: Path
    train: Path
    eval: Path


def fixed_embeddings(workspace: Path, asked: str | None) -> str:
    """The embeddings that stand for the paper's fixed ones: those asked for, else plain MiniLM's, else the usual."""
    fixed = asked or (MINILM if MINILM in names(workspace) else None)
    return choose(workspace, Graph.open(workspace), fixed)


def open_halves(wiki: Path, embeddings: str = "minilm", progress: Progress | None = None) -> Halves:
    """The halves in a folder that ``linkwalk split`` made, or of a workspace, which is split into WIKI/halves.

    The halves of a workspace take their embeddings from it, so that nothing is embedded twice.
    """
    progress = progress or Progress(quiet=True)
    if all((wiki / name / "graph").is_dir() for name in HALVES):
        halves = Halves(wiki, *(wiki / name for name in HALVES))
        for workspace in (halves.train, halves.eval):
            _need(workspace, embeddings, progress)
        return halves
    whole = Graph.open(wiki)
    root = wiki / FOLDER
    halves = Halves(root, *(root / name for name in HALVES))
    random = embeddings == RANDOM
    table = None if random else Embeddings.open(wiki, embeddings, whole)  # before anything is written
    if not (halves.train / "graph").is_dir():
        split(whole, root, progress=progress)
    for workspace in (halves.train, halves.eval):
        half = Graph.open(workspace)
        if half.manifest["inputs"][0]["fingerprint"] != whole.fingerprint:
            raise InputError(f"{root} is of an older graph of {wiki}: remove that folder and run this again")
        if table is None:
            _need(workspace, embeddings, progress)
        elif not _has(workspace, table, half):
            carry(table, workspace, half, nodes_of_half(whole, half))
    return halves


def editions(train: Path, later: Path, embeddings: str, progress: Progress | None = None) -> Halves:
    """Two whole workspaces: one to train on, and one of a later edition to be tested on, as in section 5.3."""
    for workspace in (train, later):
        _need(workspace, embeddings, progress or Progress(quiet=True))
    return Halves(train, train, later)


def random_features(workspace: Path, width: int, progress: Progress) -> str:
    """The name of random features of that width in a workspace, drawn if they are not there (sec. 5.2)."""
    config = EmbedConfig(encoder=RANDOM, width=width)
    name = RANDOM if width == EmbedConfig().width else f"{RANDOM}-{width}"
    embed(workspace, config, name=name, progress=progress)
    return name


def _need(workspace: Path, name: str, progress: Progress) -> None:
    """Embeddings that must be there; random ones are drawn, as that takes no time."""
    if name == RANDOM and not folder_of(workspace, name).exists():
        random_features(workspace, EmbedConfig().width, progress)
    Embeddings.open(workspace, name)


def _has(workspace: Path, table: Embeddings, half: Graph) -> bool:
    """Whether a half has the embeddings of the whole."""
    try:
        return Embeddings.open(workspace, table.name, half).fingerprint == table.fingerprint
    except ArtifactError:
        return False
