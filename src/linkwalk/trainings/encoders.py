"""Trainings of phi itself: on one wiki (app. B.1), or with a compass that goes by it on several (sec. 5.3)."""

import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from linkwalk.artifact import in_one_step, locked, read_json
from linkwalk.embed import Embeddings
from linkwalk.embed.model import find_model
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.encoders import folder as encoders
from linkwalk.learn.encoders.joint import JointConfig
from linkwalk.learn.encoders.lessons import LessonConfig
from linkwalk.learn.encoders.wikis import save_joint, train_on_wikis
from linkwalk.learn.metrics import FILE as METRICS
from linkwalk.learn.ranks import joined
from linkwalk.learn.state import FILE, differences
from linkwalk.recipes import ENCODERS
from linkwalk.trainings.run import (
    TrainingOutcome,
    TrainingRun,
    check_name,
    last_row,
    made_before,
    name_taken,
    new_folder,
    partial_of,
)


def train_encoder(
    wiki: Path,
    recipe: str,
    encoder: str,
    name: str,
    embeddings: str | None,
    run: TrainingRun,
) -> TrainingOutcome | None:
    """Train an encoder into WIKI/encoders/NAME; None in all but the first of several processes."""
    if recipe not in ENCODERS:
        raise InputError(f"no recipe named {recipe!r}: choose one of {', '.join(ENCODERS)}")
    check_name(name, "encoder")
    graph, final = Graph.open(wiki), wiki / "encoders" / name
    config = run.configured(ENCODERS[recipe](_width(find_model(encoder).path)))
    found = encoders.read_encoder(final)
    job = encoders.job_of(graph, encoder, config)
    if found is not None and not run.force and (changed := differences(found["job"], job)):
        raise name_taken("an encoder", final, changed)
    table = Embeddings.open(wiki, embeddings, graph) if config.walks == "own" else None
    with joined(run.device) as (team, device):
        manifest = encoders.train_encoder(
            graph,
            final,
            encoder,
            config,
            vectors=None if table is None else table.vectors,
            device=device,
            restart=run.restart,
            checkpoint_every=run.checkpoint_every,
            progress=run._replace(quiet=run.quiet or not team.first).progress,
        )
    return TrainingOutcome(final, manifest, True, manifest["last"]) if team.first else None


def _width(model: Path) -> int:
    """D of a model in Hugging Face's form."""
    config = read_json(model / "config.json", "choose another encoder", {"hidden_size": int})
    return int(config["hidden_size"])


def train_wikis(wikis: Sequence[Path], name: str, encoder: str, run: TrainingRun) -> TrainingOutcome | None:
    """Train both into a policy's folder; None in all but the first of several processes that train together."""
    final = new_folder(wikis[0], name)
    partial = partial_of(final)
    graphs = [Graph.open(wiki) for wiki in wikis]
    # On a CPU what follows the gradient fills the memory: smaller lessons there.
    usual = JointConfig(lessons=1, lesson=LessonConfig(goals=8)) if run.device == "cpu" else JointConfig()
    config = run.configured(usual)
    about = {"graphs": [graph.fingerprint for graph in graphs], "base": find_model(encoder).fingerprint}
    job = {"config": asdict(config), **about}
    with joined(run.device) as (team, device), locked(final) if team.first else nullcontext():
        manifest = None if run.force else made_before(final, job)
        fresh = manifest is None
        if manifest is None:
            kept = run._replace(quiet=run.quiet or not team.first).kept(partial, job, config.updates)
            joint = train_on_wikis(graphs, encoder, config, device=device, **kept)
            if not team.first:
                return None
            origin = {"trained_on": {"snapshots": [graph.snapshot for graph in graphs], **about}}
            with in_one_step(partial, final, FILE) as whole:
                # Beside the encoder, so that the manifest seals it.
                if (partial / METRICS).exists():
                    shutil.copyfile(partial / METRICS, whole / METRICS)
                manifest = save_joint(whole, joint, encoder, origin, name=str(final.resolve()))
    blocks = sum(graph.nodes for graph in graphs)
    return (
        TrainingOutcome(final, manifest, fresh, last_row(final / METRICS), {"blocks": blocks})
        if team.first
        else None
    )
