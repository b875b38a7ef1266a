"""Embeds every block of a graph, shard by shard; a run that is stopped goes on from its finished shards.

Shards are plain files in ``NAME.partial`` and do not depend on each other, so they may be made on several machines and
brought together. The last one in place, they become one table, which takes its place in one step.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from linkwalk import __version__
from linkwalk.arrays import Float32s
from linkwalk.artifact import FORMAT, Json, digest, locked, tidy_up
from linkwalk.device import choose_device
from linkwalk.embed.encoder import MAX_TOKENS, OWN, Encoder, TellingEncoder, open_encoder, use_encoder
from linkwalk.embed.model import MINILM, MINILM_WALKS, RANDOM, WORDS, find_model
from linkwalk.embed.shards import Shards
from linkwalk.embed.store import (
    KIND,
    Embeddings,
    encoder_fingerprint,
    folder_of,
    is_words,
    open_words,
    put_embeddings,
    read_words,
)
from linkwalk.embed.text import choose_encoder, node_texts, reads_english
from linkwalk.embed.words import TITLES, VERSION, WordProjection, WordsEncoder, fit
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.store import Graph
from linkwalk.progress import Advance, Progress

WIDTH = 384
"""Of vectors that no transformer makes: MiniLM's, so that a policy has as many weights over either."""
TEXT = "{title}. {text}"
"""What is read of a block (``node_texts``); in the fingerprint, so that another way of joining is another encoder."""

VectorSource = Callable[[int, int, Advance], Float32s]
"""Vectors of the blocks from, to; the last argument hears of progress."""


@dataclass(frozen=True, kw_only=True)
class EmbedConfig:
    """What the vectors follow from, besides the graph."""

    encoder: str = ""
    """``minilm-walks``, ``minilm``, ``words``, ``random``, a folder, a name on the Hugging Face hub, or one that
    ``use_encoder`` has made known; unsaid, ``minilm-walks`` where it reads the wiki's language, else ``words``."""
    max_tokens: int = MAX_TOKENS
    tanh: bool = False
    """The paper's nonlinearity on the mean (sec. 4.2)."""
    seed: int = 0
    """Of ``random`` and ``words``."""
    width: int = WIDTH
    """Of ``random`` and ``words``."""
    shard_blocks: int = 4096
    """Blocks of a shard: what a stopped run may lose, and the window in which lengths are sorted."""


@dataclass(frozen=True, kw_only=True)
class EmbedReport:
    """What a run did."""

    workspace: Path
    name: str
    shards: int
    partial: Path
    """Where finished shards wait for the missing ones."""
    made: int = 0
    """Shards computed by this run."""
    imported: int = 0
    missing: int = 0
    """Shards that are still to be made, here or elsewhere."""
    manifest: Json | None = None
    """Of the finished artefact; None while shards are missing."""
    why: str = ""
    """Why this encoder was taken, where nobody named one."""


@dataclass(frozen=True)
class _Identity:
    """Who the encoder is, in the manifest's words."""

    name: str
    model_fingerprint: str
    config: Json
    trained: Json | None = None
    """What it was trained on, if its encoder was."""

    @property
    def fingerprint(self) -> str:
        return encoder_fingerprint(self.model_fingerprint, self.config)


def embed(
    workspace: Path | str,
    config: EmbedConfig | None = None,
    *,
    encoder: Encoder | None = None,
    name: str | None = None,
    device: str = "auto",
    batch_tokens: int | None = None,
    only: tuple[int, int] | None = None,
    imports: Sequence[Path] = (),
    force: bool = False,
    progress: Progress | None = None,
) -> EmbedReport:
    """Write ``WORKSPACE/embeddings/NAME``, or the shards ``only[0]`` to ``only[1]`` of it (sec. 4.2, app. B.1).

    ``encoder`` is one of your own, any object that follows the protocol, in place of the one that ``config`` names.
    ``imports`` are folders of shards that another machine made for the same graph and encoder.
    """
    config, workspace, progress = config or EmbedConfig(), Path(workspace), progress or Progress(quiet=True)
    graph = Graph.open(workspace)
    config = replace(config, encoder=use_encoder(config.encoder if encoder is None else encoder))
    config, why = _chosen(config, graph, progress)
    name = default_name(config) if name is None else name
    final = folder_of(workspace, name)
    if device not in ("auto", "cpu"):
        choose_device(device)  # a wrong one is an error whether or not there is anything to do
    who = _identify(config, graph)
    if who.name == WORDS and (only is not None or imports):
        raise InputError(
            "words learns from the whole wiki, so it is embedded in one go: it has no shards to share"
        )
    job = {"graph": graph.fingerprint, "encoder": who.fingerprint, "shard_blocks": config.shard_blocks}
    shards = Shards(final.with_name(final.name + ".partial"), job, graph.nodes)
    first, last = _range(only, shards.count)
    result = partial(
        EmbedReport, workspace=workspace, name=name, shards=shards.count, partial=shards.folder, why=why
    )

    if not force and (done := _finished(workspace, name, graph, who)) is not None:
        tidy_up(final, shards.folder)
        return result(manifest=done)
    with locked(final):
        # Once more: somebody else may have made them meanwhile.
        if not force and (done := _finished(workspace, name, graph, who)) is not None:
            return result(manifest=done)
        shards.begin(force=force)
        imported = sum(shards.take(Path(folder)) for folder in imports)
        todo = shards.missing(first, last)
        if todo:
            blocks = sum(stop - start for start, stop in map(shards.bounds, todo))
            rows = _source(graph, config, device, batch_tokens, shards, progress)
            with progress.stage("embed", blocks, "blocks") as stage:
                for number in todo:
                    shards.write(number, rows(*shards.bounds(number), stage.advance))
                stage.update(blocks)
        missing = len(shards.missing(0, shards.count))
        manifest = None if missing else _assemble(shards, graph, who, final, config.width)
    return result(made=len(todo), imported=imported, missing=missing, manifest=manifest)


def _chosen(config: EmbedConfig, graph: Graph, progress: Progress) -> tuple[EmbedConfig, str]:
    """The encoder that is asked for, or the one that fits the wiki's language, and why."""
    if not config.encoder:
        encoder, why = choose_encoder(graph)
        return replace(config, encoder=encoder), why
    if config.encoder in (MINILM_WALKS, MINILM):
        english, why = reads_english(graph)
        if not english:
            progress.warn(f"{why}, but {config.encoder} reads English alone: `words` reads any language")
    return config, ""


def default_name(config: EmbedConfig) -> str:
    """What embeddings are called unless told: the encoder, or the last part of its path or hub name."""
    return (
        Path(config.encoder).resolve().name
        if Path(config.encoder).is_dir()
        else re.split("[/:]", config.encoder)[-1]
    )


def _identify(config: EmbedConfig, graph: Graph) -> _Identity:
    encoder = config.encoder
    if encoder == RANDOM:
        no_tanh = "encoders that read text: random features have unit length as they are"
        options = _options(config, "seed", "width")
        who = _Identity(RANDOM, digest("unit sphere, Philox, Box-Muller"), options)
    elif encoder == WORDS:
        no_tanh = "transformers: words gives vectors of unit length"
        options = _options(config, "seed", "width") | {"text": TEXT, "titles": TITLES}
        who = _Identity(
            WORDS, digest([WORDS, VERSION, graph.fingerprint]), options
        )  # all that it learns from
    elif is_words(encoder):
        no_tanh, made = "transformers: words gives vectors of unit length", read_words(encoder)
        who = _Identity(WORDS, made["model_fingerprint"], made["config"], made.get("trained"))
    elif encoder in OWN:
        no_tanh = "transformers: an encoder of one's own gives its vectors as they are"
        who = _Identity(encoder, OWN[encoder].fingerprint, _options(config) | {"text": TEXT})
    else:
        return _transformer(config)
    if config.tanh:
        raise InputError(f"tanh is for {no_tanh}")
    return who


def _transformer(config: EmbedConfig) -> _Identity:
    model = find_model(config.encoder)
    options = _options(config, "max_tokens", "tanh") | {"text": TEXT}
    return _Identity(model.name, model.fingerprint, options)


def _options(config: EmbedConfig, *names: str) -> Json:
    return {name: getattr(config, name) for name in (*names, "shard_blocks")}


def transformer_fingerprint(config: EmbedConfig) -> str:
    """What tables by a transformer will have for their encoder's fingerprint, whatever the wiki."""
    return _transformer(config).fingerprint


def _range(only: tuple[int, int] | None, count: int) -> tuple[int, int]:
    if only is None:
        return 0, count
    first, last = only
    if not 0 <= first < last <= count:
        raise InputError(f"shards {first}:{last}: there are 0 to {count - 1}, so at most 0:{count}")
    return first, last


def _finished(workspace: Path, name: str, graph: Graph, who: _Identity) -> Json | None:
    """The manifest of embeddings that are as wanted; None if there are none or the graph has changed since."""
    try:
        manifest = Embeddings.open(workspace, name, graph).manifest
    except ArtifactError:
        return None
    if manifest["encoder_fingerprint"] != who.fingerprint:
        raise InputError(
            f"the embeddings {name!r} in {workspace} are by another encoder or other options: "
            "give another name, or replace them by force"
        )
    return manifest


def _source(
    graph: Graph,
    config: EmbedConfig,
    device: str,
    batch_tokens: int | None,
    shards: Shards,
    progress: Progress,
) -> VectorSource:
    if config.encoder == RANDOM:

        def draw(start: int, stop: int, advance: Advance) -> Float32s:
            advance(stop - start)
            return random_features(start, stop, seed=config.seed, width=config.width)

        return draw
    encoder: TellingEncoder
    titles = 1
    if config.encoder == WORDS or is_words(config.encoder):
        titles = TITLES
        encoder = WordsEncoder(_learned(graph, config, shards.folder, progress))
    else:
        encoder = OWN.get(config.encoder) or open_encoder(
            config.encoder,
            device=device,
            max_tokens=config.max_tokens,
            tanh=config.tanh,
            batch_tokens=batch_tokens,
        )

    def read(start: int, stop: int, advance: Advance) -> Float32s:
        return encoder.encode(node_texts(graph, start, stop, titles), advance)

    return read


def _learned(graph: Graph, config: EmbedConfig, folder: Path, progress: Progress) -> WordProjection:
    """What ``words`` learns of a wiki, has learned before a run was stopped, or has learned of another wiki."""
    own = config.encoder == WORDS
    width = config.width if own else read_words(config.encoder)["width"]
    if (found := WordProjection.resume(folder, width)) is not None:
        return found
    if own:
        texts = partial(node_texts, graph, titles=TITLES)
        found = fit(texts, graph.nodes, width=width, seed=config.seed, progress=progress)
    else:
        found = open_words(config.encoder)
    found.save(folder, piece=True)
    return found


def random_features(start: int, stop: int, *, seed: int = 0, width: int = WIDTH) -> Float32s:
    """Unit vectors of the nodes ``start`` to ``stop``; a node's vector follows from the seed and its number alone.

    They know nothing of any text: the RF ablations (sec. 5).
    Normal deviates point in every direction alike. Philox counts its blocks of four words, so a node's own are found
    without drawing those before it; Box-Muller takes as many as it gives, which numpy's normals do not.
    """
    if width <= 0 or width % 4:
        raise ValueError(f"width {width} is not a positive multiple of 4")
    bits = np.random.Philox(key=seed)
    bits.advance(start * (width // 4))
    uniform = np.random.Generator(bits).random((stop - start, 2, width // 2))
    radius = np.sqrt(-2 * np.log1p(-uniform[:, 0]))  # 1 - u lies in (0, 1]
    angle = 2 * np.pi * uniform[:, 1]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return normal.astype(np.float32)


def _assemble(shards: Shards, graph: Graph, who: _Identity, final: Path, empty_width: int) -> Json:
    """Make the shards one table with its manifest and put it in its place; returns the manifest."""
    width = shards.width(empty_width)
    manifest = {
        "artifact": KIND,
        "format": FORMAT,
        "linkwalk": __version__,
        "graph": graph.fingerprint,
        "snapshot": graph.manifest["snapshot"],
        "nodes": graph.nodes,
        "encoder": who.name,
        "model_fingerprint": who.model_fingerprint,
        "encoder_fingerprint": who.fingerprint,
        "config": who.config,
        "width": width,
        "fingerprint": digest([graph.fingerprint, who.fingerprint]),
        **({"trained": who.trained} if who.trained else {}),
    }
    words = WordProjection.open(shards.folder, width) if who.name == WORDS else None
    manifest = put_embeddings(shards.folder / "whole", final, shards.rows(), manifest, words)
    shards.remove()
    return manifest
