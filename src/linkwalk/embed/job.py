"""Embeds every block of a graph, shard by shard; a run that is stopped goes on from its finished shards.

Shards are plain files in ``NAME.partial`` and do not depend on each other, so they may be made on several machines and
brought together. The last one in place, they become one table, which takes its place in one step.
"""

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from linkwalk import __version__
from linkwalk.arrays import Float32s
from linkwalk.artifact import FORMAT, digest, locked, publish, seal, tidy_up
from linkwalk.device import choose_device
from linkwalk.embed.encoder import MAX_TOKENS, Encoder, TellingEncoder, open_encoder
from linkwalk.embed.features import RANDOM, WIDTH, random_features
from linkwalk.embed.fitted import WORDS, Fitted
from linkwalk.embed.language import choose_encoder, reads_english
from linkwalk.embed.model import MINILM, MINILM_WALKS, find_model
from linkwalk.embed.own import OWN, use_encoder
from linkwalk.embed.shards import Shards
from linkwalk.embed.store import KIND, Embeddings, folder_of
from linkwalk.embed.text import node_texts
from linkwalk.embed.word_tables import is_fitted, open_fitted, read_fitted
from linkwalk.embed.words import TITLES, VERSION, WordsEncoder, fit
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress

TEXT = "{title}. {text}"
"""What is read of a block (``text.py``); in the fingerprint, so that another way of joining is another encoder."""

Rows = Callable[[int, int, Callable[[float], None]], Float32s]
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
class Embedded:
    """What a run did."""

    workspace: Path
    name: str
    shards: int
    made: int
    """Shards computed by this run."""
    imported: int
    missing: int
    """Shards that are still to be made, here or elsewhere."""
    partial: Path
    """Where finished shards wait for the missing ones."""
    manifest: dict[str, Any] | None
    """Of the finished artefact; None while shards are missing."""
    why: str = ""
    """Why this encoder was taken, where nobody named one."""


@dataclass(frozen=True, kw_only=True)
class _Identity:
    """Who the encoder is, in the manifest's words."""

    name: str
    model_fingerprint: str
    config: dict[str, Any]
    trained: dict[str, Any] | None = None
    """What it was trained on, if its encoder was."""

    @property
    def fingerprint(self) -> str:
        return digest([self.model_fingerprint, {k: v for k, v in self.config.items() if k != "shard_blocks"}])


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
) -> Embedded:
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

    if not force and (done := _finished(workspace, name, graph, who)) is not None:
        tidy_up(final, shards.folder)
        return _result(workspace, name, shards, manifest=done, why=why)
    with locked(final):
        # Once more: somebody else may have made them meanwhile.
        if not force and (done := _finished(workspace, name, graph, who)) is not None:
            return _result(workspace, name, shards, manifest=done, why=why)
        shards.begin(force=force)
        imported = sum(shards.take(Path(folder)) for folder in imports)
        todo = [number for number in range(first, last) if not shards.has(number)]
        if todo:
            blocks = sum(shards.bounds(number)[1] - shards.bounds(number)[0] for number in todo)
            rows = _source(graph, config, device, batch_tokens, shards, progress)
            with progress.stage("embed", blocks, "blocks") as stage:
                for number in todo:
                    shards.write(number, rows(*shards.bounds(number), stage.advance))
                stage.update(blocks)
        missing = sum(not shards.has(number) for number in range(shards.count))
        if missing:
            return _result(
                workspace, name, shards, made=len(todo), imported=imported, missing=missing, why=why
            )
        manifest = _assemble(shards, _manifest(graph, who), final, empty_width=config.width)
    return _result(workspace, name, shards, made=len(todo), imported=imported, manifest=manifest, why=why)


def _chosen(config: EmbedConfig, graph: Graph, progress: Progress) -> tuple[EmbedConfig, str]:
    """The encoder that is asked for, or the one that fits the wiki's language, and why."""
    if not config.encoder:
        encoder, why = choose_encoder(graph)
        return replace(config, encoder=encoder), why
    if config.encoder in (MINILM_WALKS, MINILM) and not (english := reads_english(graph)).yes:
        progress.warn(f"{english.why}, but {config.encoder} reads English alone: `words` reads any language")
    return config, ""


def default_name(config: EmbedConfig) -> str:
    """What embeddings are called unless told: the encoder, or the last part of its path or hub name."""
    return (
        Path(config.encoder).resolve().name
        if Path(config.encoder).is_dir()
        else re.split("[/:]", config.encoder)[-1]
    )


def _identify(config: EmbedConfig, graph: Graph) -> _Identity:
    options = asdict(config)
    if config.encoder == RANDOM:
        if config.tanh:
            raise InputError(
                "tanh is for encoders that read text: random features have unit length as they are"
            )
        return _Identity(
            name=RANDOM,
            model_fingerprint=digest("unit sphere, Philox, Box-Muller"),
            config={key: options[key] for key in ("seed", "width", "shard_blocks")},
        )
    if config.encoder == WORDS or is_fitted(config.encoder):
        if config.tanh:
            raise InputError("tanh is for transformers: words gives vectors of unit length")
        if config.encoder != WORDS:
            made = read_fitted(config.encoder)
            return _Identity(
                name=WORDS,
                model_fingerprint=made["model_fingerprint"],
                config=made["config"],
                trained=made.get("trained"),
            )
        return _Identity(
            name=WORDS,
            model_fingerprint=digest(
                [WORDS, VERSION, graph.fingerprint]
            ),  # what it learns follows from these
            config={key: options[key] for key in ("seed", "width", "shard_blocks")}
            | {"text": TEXT, "titles": TITLES},
        )
    if config.encoder in OWN:
        if config.tanh:
            raise InputError(
                "tanh is for transformers: an encoder of one's own gives its vectors as they are"
            )
        return _Identity(
            name=config.encoder,
            model_fingerprint=OWN[config.encoder].fingerprint,
            config={"shard_blocks": config.shard_blocks, "text": TEXT},
        )
    return _transformer(config)


def _transformer(config: EmbedConfig) -> _Identity:
    model, options = find_model(config.encoder), asdict(config)
    return _Identity(
        name=model.name,
        model_fingerprint=model.fingerprint,
        config={key: options[key] for key in ("max_tokens", "tanh", "shard_blocks")} | {"text": TEXT},
    )


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


def _finished(workspace: Path, name: str, graph: Graph, who: _Identity) -> dict[str, Any] | None:
    """The manifest of embeddings that are as wanted; None if there are none or the graph has changed since."""
    if not folder_of(workspace, name).exists():
        return None
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
) -> Rows:
    if config.encoder == RANDOM:

        def draw(start: int, stop: int, advance: Callable[[float], None]) -> Float32s:
            rows = random_features(start, stop, seed=config.seed, width=config.width)
            advance(stop - start)
            return rows

        return draw
    encoder: TellingEncoder
    words = config.encoder == WORDS or is_fitted(config.encoder)
    titles = TITLES if words else 1
    if words:
        encoder = WordsEncoder(_fitted(graph, config, shards.folder, progress))
    else:
        encoder = OWN.get(config.encoder) or open_encoder(
            config.encoder,
            device=device,
            max_tokens=config.max_tokens,
            tanh=config.tanh,
            batch_tokens=batch_tokens,
        )

    def read(start: int, stop: int, advance: Callable[[float], None]) -> Float32s:
        return encoder.encode(node_texts(graph, start, stop, titles), advance)

    return read


def _fitted(graph: Graph, config: EmbedConfig, folder: Path, progress: Progress) -> Fitted:
    """What ``words`` learns of a wiki, or has learned before a run was stopped."""
    width = config.width if config.encoder == WORDS else read_fitted(config.encoder)["width"]
    found = Fitted.kept(folder, width)
    if found is None and config.encoder != WORDS:
        found = open_fitted(config.encoder)
        found.keep(folder)
    if found is None:
        found = fit(
            partial(node_texts, graph, titles=TITLES),
            graph.nodes,
            width=config.width,
            seed=config.seed,
            progress=progress,
        )
        found.keep(folder)
    return found


def _manifest(graph: Graph, who: _Identity) -> dict[str, Any]:
    return {
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
        **({"trained": who.trained} if who.trained else {}),
    }


def _assemble(shards: Shards, manifest: dict[str, Any], final: Path, *, empty_width: int) -> dict[str, Any]:
    """Make the shards one table with its manifest and put it in its place; returns the manifest."""
    whole = shards.folder / "whole"
    shutil.rmtree(whole, ignore_errors=True)
    whole.mkdir()
    width = manifest["width"] = shards.join(whole / "vectors.npy", empty_width)
    if manifest["encoder"] == WORDS:
        Fitted.open(shards.folder, width).save(whole)
    manifest["fingerprint"] = digest([manifest["graph"], manifest["encoder_fingerprint"]])
    manifest = seal(whole, manifest)
    publish(whole, final)
    shards.remove()
    return manifest


def _result(
    workspace: Path,
    name: str,
    shards: Shards,
    *,
    made: int = 0,
    imported: int = 0,
    missing: int = 0,
    manifest: dict[str, Any] | None = None,
    why: str = "",
) -> Embedded:
    return Embedded(
        workspace=workspace,
        name=name,
        shards=shards.count,
        made=made,
        imported=imported,
        missing=missing,
        partial=shards.folder,
        manifest=manifest,
        why=why,
    )
