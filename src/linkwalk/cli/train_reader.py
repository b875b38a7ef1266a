"""``linkwalk train-reader`` and ``tune-reader``: a policy learns to read sentences (sec. 4.2, 4.3, app. C.1)."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from linkwalk.cli.options import (
    CheckpointEvery,
    CopyName,
    Device,
    EmbeddedWiki,
    EmbeddingsName,
    Force,
    Heads,
    Json,
    Part,
    PolicyName,
    Quiet,
    Restart,
    Settings,
    Threshold,
    WikiPages,
    argument,
    option,
    training_run,
)
from linkwalk.cli.output import at_last, print_trained, selected

if TYPE_CHECKING:
    from linkwalk.trainings.run import TrainingOutcome

_THRESHOLD = 80.0


def train_reader(
    wiki: EmbeddedWiki,
    policy: PolicyName,
    name: CopyName = None,
    settings: Settings = None,
    embeddings: EmbeddingsName = None,
    device: Device = "auto",
    checkpoint_every: CheckpointEvery = 1000,
    restart: Restart = False,
    force: Force = False,
    head: Heads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Teach a policy to read: train the target encoder that reads sentences for it, while it stays as it is.

    The target encoder, a small change of the encoder that made the embeddings, is trained so that one sentence of a
    goal leads the policy where the goal itself would. It goes into WIKI/policies/NAME, with a copy of the policy if
    that is elsewhere, and `eval --task sentence` and `walk --sentence` read with it. Minutes on a GPU, a day or more on
    a few CPU cores (to try it there: --set batch=32 --set updates=50). Resumable, as `linkwalk train` is.

    Example: linkwalk train-reader WIKI compass --name mine
    """
    run = training_run(settings, device, checkpoint_every, restart, force, quiet)
    from linkwalk.trainings import readers

    trained = readers.train_reader(wiki, policy, name, embeddings, run)
    more, name = trained.more, trained.folder.name
    rows = [
        ("policy", _where(trained)),
        ("target encoder", f"rank {more['rank']}, {more['parameters']:,} parameters"),
        *at_last(
            trained.last,
            "loss {loss:.3f}, right step {accuracy:.1%}, sentence nearest to its own block {nearest:.1%}",
        ),
    ]
    facts = {
        "policy": str(trained.folder),
        "copied_from": more["copied_from"],
        **selected(trained.manifest, "config", "encoder_name", "trained_on"),
        "last": trained.last,
    }
    shown = f" --embeddings {embeddings}" if embeddings else ""
    print_trained(
        trained,
        facts,
        rows,
        f"linkwalk eval {wiki} --task sentence --agent {name}{shown}",
        json=json,
        made_of="graph, embeddings, policy and settings",
        called=f"the target encoder of {name}",
    )


def _where(trained: "TrainingOutcome") -> str:
    """Where a policy went, and what it is a copy of."""
    more = trained.more
    return str(trained.folder) + (f", a copy of {more['policy']}" if more["copied_from"] else "")


def tune_reader(
    wiki: Annotated[Path, argument("WIKI", "Workspace with graph, embeddings and index.")],
    policy: PolicyName,
    queries: Annotated[
        Path,
        argument(
            "FILE", "FEVER claims, Natural Questions or multi-hop questions, with their evidence in WIKI."
        ),
    ],
    recipe: Annotated[str, option("NAME", "ours, or paper (app. C.1).")] = "ours",
    part: Part = None,
    threshold: Threshold = None,
    wiki_pages: WikiPages = None,
    name: CopyName = None,
    settings: Settings = None,
    embeddings: EmbeddingsName = None,
    device: Device = "auto",
    checkpoint_every: CheckpointEvery = 1000,
    restart: Restart = False,
    force: Force = False,
    head: Heads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Tune a policy's target encoder on what people ask: for each claim or question an expert shows the way.

    The expert takes a shortest path from one of BM25's first ten blocks to the evidence (app. C.1). Of files with
    answers alone, blocks among BM25's first twenty that have the answer string stand for the evidence. Resumable, as
    `linkwalk train` is.

    Example: linkwalk tune-reader WIKI compass claims.jsonl --name asked
    """
    run = training_run(settings, device, checkpoint_every, restart, force, quiet)
    from linkwalk.wiki.workspace import need_search

    need_search()
    from linkwalk.trainings import readers
    from linkwalk.trainings.run import BenchmarkChoice

    least = _THRESHOLD if threshold is None else threshold
    choice = BenchmarkChoice(part, least, wiki_pages)
    trained = readers.tune_reader(wiki, policy, queries, recipe, choice, name, embeddings, run)
    report, folder = trained.more["report"], trained.folder
    labels = ", distant labels (blocks with the answer string)" if report["distant"] else ""
    rows = [
        ("policy", _where(trained)),
        ("asked", f"{report['file']}, part {report['part']}: {report['asked']:,}"),
        ("learnt from", f"{report['pairs']:,} with evidence here{labels}"),
        *at_last(
            trained.last,
            "loss {loss:.3f}, the expert's step {accuracy:.1%}, nearest to its evidence {nearest:.1%}",
            "tuned",
        ),
    ]
    facts = {"policy": str(folder), "copied_from": trained.more["copied_from"]}
    facts |= {**trained.manifest, "last": trained.last}
    command = ["linkwalk", "score", report["kind"], str(wiki), str(queries), "--agent", folder.name]
    command += ["--part", "kept"] if report["part"] == "tuned" else []
    command += ["--threshold", f"{least:g}"] if report["kind"] == "fever" else []
    command += ["--wiki-pages", str(wiki_pages)] if wiki_pages is not None else []
    command += ["--embeddings", embeddings] if embeddings else []
    print_trained(trained, facts, rows, shlex.join(command), json=json, made_of="")
