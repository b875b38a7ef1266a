"""The embeddings of a workspace: opened through the memory map, checked against its graph, and put in their place.

The embeddings of a wiki by ``words`` hold their encoder: named by its folder, it embeds other wikis, such as the next
edition, with the terms it has. One that was trained (``learn/encoders/word_table.py``) takes the place of the one it
began as under another name.
"""

import hashlib
import re
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwalk.arrays import Array, Float32s, Int64s
from linkwalk.artifact import (
    MANIFEST,
    Json,
    digest,
    locked,
    look_at,
    parsing,
    publish,
    read_json,
    read_manifest,
    seal,
    steady,
)
from linkwalk.device import choose_device
from linkwalk.embed.encoder import Reader, TellingEncoder, open_encoder, own_encoder
from linkwalk.embed.model import MINILM, MINILM_WALKS, RANDOM, WORDS, find_model
from linkwalk.embed.words import WordProjection, WordsEncoder
from linkwalk.errors import ArtifactError, DamagedError, InputError
from linkwalk.graph.columns import ArrayWriter, map_array
from linkwalk.graph.store import Graph
from linkwalk.parts import is_part

if TYPE_CHECKING:
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
_CHUNK = 1 << 14


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

    def __init__(self, folder: Path, manifest: Json, vectors: Array) -> None:
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

    def encoder(self, device: str = "cpu") -> TellingEncoder:
        """What made the table, for sentences and queries; another encoder by that name is an error."""
        if is_part(name := self.manifest["encoder"]):
            return own_encoder(name, self.manifest["model_fingerprint"])
        if name == WORDS:
            again = f"run `{command(self.folder.parents[1], self.name)} --force`"
            return WordsEncoder(WordProjection.open(self.folder, self.width, again))
        return self.reader(device)

    def reader(self, device: str = "cpu") -> Reader:
        """The transformer that made the table."""
        return open_encoder(self._spec(), device=device, **self._options())

    def transformer(self, device: str = "cpu") -> "TransformerEncoder":
        """The same in torch, to be trained."""
        choose_device(device)  # before anything that needs torch: without it, this says what to install
        from linkwalk.embed.transformer import open_transformer

        return open_transformer(self._spec(), device=device, **self._options())

    def _options(self) -> Json:
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

    def place(name: str) -> tuple[Any, ...]:
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


def is_words(encoder: str) -> bool:
    """Whether an encoder is named by a folder of embeddings that ``words`` made."""
    return (Path(encoder) / "words_terms.npy").is_file()


def read_words(encoder: str) -> Json:
    """The manifest of the embeddings whose encoder is named."""
    manifest = read_manifest(Path(encoder), KIND, "linkwalk embed", FIELDS)
    if manifest["encoder"] != WORDS:
        raise InputError(f"{encoder} was not made by {WORDS}")
    return manifest


def open_words(encoder: str) -> WordProjection:
    """What the encoder has learned, checked whole."""
    folder, remedy = Path(encoder), "make it again, or name another encoder"

    def opened() -> WordProjection:
        manifest = read_words(encoder)
        look_at(folder, manifest, remedy)
        with parsing(folder, remedy):
            return WordProjection.open(folder, int(manifest["width"]), remedy)

    return steady(folder, opened)


def put_embeddings(
    partial: Path,
    final: Path,
    rows: Iterable[Array],
    manifest: Json,
    words: WordProjection | None = None,
) -> Json:
    """Write a table of rows, in pieces, with what its encoder has learned; it takes its place in one step."""
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    writer = ArrayWriter(partial / "vectors.npy", np.float16, manifest["width"])
    for some in rows:
        writer.append(some)
    writer.close()
    if words is not None:
        words.save(partial)
    manifest = seal(partial, manifest)
    publish(partial, final)
    return manifest


def carry(whole: Embeddings, workspace: Path, part: Graph, nodes: Int64s) -> None:
    """Give a part of a graph its embeddings out of the whole's: row ``i`` is the whole's row ``nodes[i]``.

    Random features go by a node's number, which is another one in the part: they are drawn anew, not carried.
    """
    if not whole.reads:
        raise InputError("random features are drawn for each graph: run `linkwalk embed --encoder random`")
    if len(nodes) != part.nodes:
        raise InputError(f"{len(nodes)} rows do not fit a graph of {part.nodes} nodes")
    final = folder_of(workspace, whole.name)
    manifest = whole.manifest | {
        "graph": part.fingerprint,
        "snapshot": part.manifest["snapshot"],
        "nodes": part.nodes,
        "fingerprint": digest([part.fingerprint, whole.fingerprint]),
    }
    words = WordProjection.open(whole.folder, whole.width) if manifest["encoder"] == WORDS else None
    rows = (whole.vectors[nodes[at : at + _CHUNK]] for at in range(0, len(nodes), _CHUNK))
    with locked(final):
        put_embeddings(final.with_name(final.name + ".carried.partial"), final, rows, manifest, words)


def put_word_table(
    workspace: Path,
    before: Embeddings,
    name: str,
    words: WordProjection,
    vectors: Float32s,
    trained: Json,
) -> Json:
    """Write ``WORKSPACE/embeddings/NAME``: the table ``before`` after its training, which ``trained`` tells of."""
    final, learned = folder_of(workspace, name), hashlib.sha256()
    for values in words:  # to the last bit: how it was trained is no matter
        learned.update(np.ascontiguousarray(values).data)
    model = digest([WORDS, "trained", learned.hexdigest()])
    encoder = encoder_fingerprint(model, before.manifest["config"])
    manifest = before.manifest | {
        "width": words.projection.shape[1],
        "model_fingerprint": model,
        "encoder_fingerprint": encoder,
        "fingerprint": digest([before.manifest["graph"], encoder]),
        "trained": trained,
    }
    rows = (vectors[at : at + _CHUNK] for at in range(0, len(vectors), _CHUNK))
    return put_embeddings(final.with_name(final.name + ".partial"), final, rows, manifest, words)


def encoder_fingerprint(model: str, config: Json) -> str:
    """Of an encoder and its options, whatever the graph and however the work is cut up."""
    return digest([model, {key: value for key, value in config.items() if key != "shard_blocks"}])


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # somebody has just removed it
        return 0


def _is_name(name: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name)) and not name.endswith((".partial", ".old"))
