"""Trained encoders: a folder each, made once, or gone on with; ``linkwalk embed --encoder FOLDER`` reads it."""

import shutil
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, Unpack

from linkwalk.arrays import Array
from linkwalk.artifact import MANIFEST, in_one_step, locked, read_manifest, seal
from linkwalk.embed.model import find_model
from linkwalk.embed.transformer import open_transformer
from linkwalk.errors import ArtifactError
from linkwalk.graph.store import Graph
from linkwalk.learn.encoders.spans import SpanConfig, train_spans
from linkwalk.learn.loop import RunOptions
from linkwalk.learn.metrics import FILE as METRICS
from linkwalk.learn.metrics import read_rows
from linkwalk.learn.ranks import ranks
from linkwalk.learn.state import FILE, read_state

KIND = "encoder"
_FIELDS = {"job": dict}


def read_encoder(folder: Path) -> dict[str, Any] | None:
    """The manifest of a trained encoder; None where there is none, or none that can be read."""
    if not (folder / MANIFEST).exists():
        return None
    try:
        return read_manifest(folder, KIND, "linkwalk train-encoder WIKI", _FIELDS)
    except ArtifactError:
        return None


def job_of(graph: Graph, base: str, config: SpanConfig) -> dict[str, Any]:
    """What a trained encoder follows from."""
    return {
        "config": asdict(config),
        "graph": graph.fingerprint,
        "base": find_model(base).fingerprint,
    }


def train_encoder(
    graph: Graph,
    final: Path,
    base: str,
    config: SpanConfig,
    *,
    vectors: Array | None = None,
    device: str = "cpu",
    restart: bool = False,
    **run: Unpack[RunOptions],
) -> dict[str, Any]:
    """Train the encoder ``base`` on a graph into ``final``, unless the same training made what is there."""
    job, team = job_of(graph, base, config), ranks()
    with locked(final) if team.first else nullcontext():
        found = read_encoder(final)
        partial = final.with_name(f"{final.name}.partial")
        saved = None if restart else read_state(partial)
        team.wait()  # before the first of several processes changes anything there
        if found is not None and found["job"] == job:
            return found
        run["folder"], run["job"] = partial, job
        run["resume"] = saved if saved is not None and saved.job == job else None
        encoder = open_transformer(base, device="cpu", max_tokens=config.max_tokens)
        model = train_spans(graph, encoder, config, vectors=vectors, device=device, **run)
        if not team.first:
            return {"job": job, "last": {}}
        last = (read_rows(partial) or [{}])[-1]
        trained_on = {"snapshot": graph.snapshot, "graph": graph.fingerprint}
        manifest = {"artifact": KIND, "job": job, "base": base, "trained_on": trained_on, "last": last}
        with in_one_step(partial, final, FILE) as whole:
            model.save(whole, encoder.tokenizer)
            if (partial / METRICS).exists():
                shutil.copyfile(partial / METRICS, whole / METRICS)
            return seal(whole, manifest)
