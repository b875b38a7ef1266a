"""The embeddings of a workspace, opened through the memory map and checked against its graph."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwalk.arrays import Array
from linkwalk.artifact import MANIFEST, look_at, read_json, read_manifest, steady
from linkwalk.embed.features import RANDOM
from linkwalk.embed.fitted import WORDS, Fitted
from linkwalk.embed.model import MINILM, MINILM_WALKS, find_model
from linkwalk.embed.own import own_encoder
from linkwalk.errors import ArtifactError, DamagedError, InputError
from linkwalk.graph.columns import map_array
from linkwalk.graph.store import Graph
from linkwalk.parts import is_part

if TYPE_CHECKING:
    from linkwalk.embed.encoder import Reader, TellingEncoder
    from linkwalk.embed.transformer import TransformerEncoder

KIND = "embeddings"
FIELDS = {
    "graph": str,
    "width": int,
    "encoder": str,
    "model_fingerprint": str,
    "encoder_fingerprint": str,
    "config": dict,
}
"""What its manifest must have."""


def folder_of(workspace: Path, name: str) -> Path:
    """The artefact's folder; a name is letters, digits, dots, dashes and underscores."""
    if not _is_name(name):
        raise InputError(f"{name!r} cannot name embeddings: use letters, digits, dots, dashes, underscores")
    return workspace / KIND / name


def command(workspace: Path, name: str) -> str:
    """What makes the embeddings of that name."""
    if name in (MINILM_WALKS, MINILM, WORDS, RANDOM):
        return f"linkwalk embed {workspace} --encoder {name}"
    return f"linkwalk embed {workspace} --encoder ENCODER --name {name}"


class Embeddings:
    """phi(s_i) for every node: row ``i`` of ``vectors`` is node ``i``'s, as the encoder gave it (not normalised)."""

    def __init__(self, folder: Path, manifest: dict[str, Any], vectors: Array) -> None:
        self.folder, self.manifest, self.vectors = folder, manifest, vectors

    @classmethod
    def open(cls, workspace: Path | str, name: str | None = None, graph: Graph | None = None) -> "Embeddings":
        """Open embeddings by name, or those that ``choose`` finds; those of another graph are an error."""
        workspace = Path(workspace)
        graph = graph or Graph.open(workspace)
        name = choose(workspace, graph, name)
        folder, make = folder_of(workspace, name), command(workspace, name)
        if not folder.exists():
            there = names(workspace)
            others = f" (there are: {', '.join(there)})" if there else ""
            raise ArtifactError(f"no embeddings named {name!r} in {workspace}{others}: run `{make}` first")
        return steady(folder, lambda: cls._open(folder, graph, make))

    @classmethod
    def _open(cls, folder: Path, graph: Graph, make: str) -> "Embeddings":
        manifest, remedy = read_manifest(folder, KIND, make, FIELDS), f"run `{make} --force`"
        if manifest["graph"] != graph.fingerprint:
            raise ArtifactError(
                f"the embeddings {folder.name!r} in {folder.parents[1]} are of another graph: run `{make}` again"
            )
        vectors = map_array(folder / "vectors.npy", remedy, np.float16, manifest["width"])
        if len(vectors) != graph.nodes:
            raise DamagedError(
                folder / "vectors.npy", f"{len(vectors):,} rows instead of {graph.nodes:,}", remedy
            )
        look_at(folder, manifest, remedy)
        return cls(folder, manifest, vectors)

    def __repr__(self) -> str:
        return f"Embeddings({self.name}: {len(self.vectors):,} x {self.width} by {self.manifest['encoder']})"

    @property
    def name(self) -> str:
        """What they are called in the workspace."""
        return self.folder.name

    @property
    def width(self) -> int:
        """D, the numbers in a vector."""
        return int(self.vectors.shape[1])

    @property
    def fingerprint(self) -> str:
        """What the encoder and its options are, whatever the graph: a policy fits all embeddings that share it."""
        return str(self.manifest["encoder_fingerprint"])

    @property
    def reads(self) -> bool:
        """Whether sentences can be read with what made the table; random features know nothing of any text."""
        return bool(self.manifest["encoder"] != RANDOM)

    def has_beside(self, name: str) -> bool:
        """Whether the workspace has embeddings of that name, too."""
        return (self.folder.with_name(name) / MANIFEST).exists()

    def check_encoder(self) -> None:
        """Make sure that there is something to read sentences with; it is not opened."""
        if is_part(name := self.manifest["encoder"]):
            own_encoder(name, self.manifest["model_fingerprint"])
        elif name != WORDS:
            self._spec()

    def encoder(self, device: str = "cpu") -> "TellingEncoder":
        """What made the table, for sentences and queries; another encoder by that name is an error."""
        if is_part(name := self.manifest["encoder"]):
            return own_encoder(name, self.manifest["model_fingerprint"])
        if name == WORDS:
            from linkwalk.embed.words import WordsEncoder

            again = f"run `{command(self.folder.parents[1], self.name)} --force`"
            return WordsEncoder(Fitted.open(self.folder, self.width, again))
        return self.reader(device)

    def reader(self, device: str = "cpu") -> "Reader":
        """The transformer that made the table."""
        from linkwalk.embed.encoder import open_encoder

        return open_encoder(self._spec(), device=device, **self._options())

    def transformer(self, device: str = "cpu") -> "TransformerEncoder":
        """The same in torch, to be trained."""
        from linkwalk.device import choose_device

        choose_device(device)  # before anything that needs torch: without it, this says what to install
        from linkwalk.embed.transformer import open_transformer

        return open_transformer(self._spec(), device=device, **self._options())

    def _options(self) -> dict[str, Any]:
        return {name: self.manifest["config"][name] for name in ("max_tokens", "tanh")}

    def _spec(self) -> str:
        """The encoder's name, where that is the encoder that made the table."""
        spec: str = self.manifest["encoder"]
        if is_part(spec):
            raise InputError(
                f"the embeddings {self.name!r} are by an encoder of one's own: there is no transformer to adapt"
            )
        if spec == WORDS:
            raise InputError(
                f"the embeddings {self.name!r} are by words, which is no transformer: there is nothing to adapt"
            )
        if spec == RANDOM:
            raise InputError(
                f"the embeddings {self.name!r} are random features, which cannot read text: run "
                f"`linkwalk embed {self.folder.parents[1]}` for some that can"
            )
        if find_model(spec).fingerprint != self.manifest["model_fingerprint"]:
            raise ArtifactError(
                f"the encoder {spec} is not the one that made the embeddings {self.name!r}: run "
                f"`{command(self.folder.parents[1], self.name)} --force`"
            )
        return spec


def choose(workspace: Path, graph: Graph, asked: str | None = None, fits: Collection[str] = ()) -> str:
    """The name of the embeddings that are used: what was embedded is what is used.

    Those asked for; else those that a policy at hand was trained on (``fits``: encoders' fingerprints); else those by
    an encoder that was trained on a wiki; else minilm-walks; else minilm; else the newest. Random features, which know
    nothing of the text, come last, and those of another graph behind them.
    """
    if asked is not None:
        return asked
    found = names(workspace)
    if not found:
        raise ArtifactError(f"no embeddings in {workspace}: run `linkwalk embed {workspace}` first")
    if len(found) == 1:
        return found[0]

    def place(name: str) -> tuple[bool, bool, bool, bool, bool, bool, int, str]:
        path = folder_of(workspace, name) / MANIFEST
        try:
            manifest = read_json(path, "")
        except ArtifactError:  # whoever opens it says what is wrong
            manifest = {}
        return (
            manifest.get("graph", graph.fingerprint) != graph.fingerprint,
            manifest.get("encoder") == RANDOM,
            manifest.get("encoder_fingerprint") not in fits,
            "trained" not in manifest,
            name != MINILM_WALKS,
            name != MINILM,
            -_modified(path),
            name,
        )

    return min(found, key=place)


def names(workspace: Path) -> list[str]:
    """Names of the embeddings in a workspace."""
    return sorted(
        path.parent.name for path in (workspace / KIND).glob("*/manifest.json") if _is_name(path.parent.name)
    )


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # somebody has just removed it
        return 0


def _is_name(name: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name)) and not name.endswith((".partial", ".old"))
