"""``linkwalk train``: a policy is cloned from random walks on a wiki, or, with ``--target``, learns to read.

With ``--queries`` what reads for it is tuned on what people ask; with ``--reranker`` a cross-encoder is trained.
"""

from pathlib import Path
from typing import Annotated

import typer

from linkwalk.cli.agents import EmbeddingsName
from linkwalk.cli.output import Json, Quiet


def train(
    context: typer.Context,
    wiki: Annotated[Path, typer.Argument(metavar="WIKI", help="Workspace with a graph and embeddings.")],
    recipe: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="ours (a compass, on its own walks), residual (starts as the cosine, shortcut walks), paper (app. "
            "B.2; one policy per T, e.g. --set steps=5), paper-multistep, paper-reverse, paper-shortest or paper-mlp "
            "(app. B.1). With --queries: ours, or paper (app. C.1).",
        ),
    ] = "ours",
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="POLICY",
            help="Train no policy but the target encoder of one, which reads sentences for it: its name in the "
            "workspace, its path, or compass (the policy that ships). It must be a compass, and stays as it is.",
        ),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            metavar="FILE",
            help="With --target: tune the target encoder that the policy has, on FEVER claims, Natural Questions or "
            "multi-hop questions and their evidence in WIKI, which must be indexed.",
        ),
    ] = None,
    reranker: Annotated[
        list[Path] | None,
        typer.Option(
            "--reranker",
            metavar="FILE",
            help="Train no policy but a cross-encoder that ranks sentences, on lists (a query, positives, negatives a "
            "line) or on lists mined in WIKI, which must be indexed, from FEVER claims or Natural Questions; may be "
            "repeated.",
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            metavar="P",
            help="What of a benchmark is learnt from: all, or tuned, which leaves the half that `score --part kept` "
            "reports out. [default: tuned for FEVER, all for questions]",
        ),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold",
            min=1,
            max=100,
            metavar="N",
            help="FEVER claims: token-set ratio from which a block holds a sentence.",
        ),
    ] = 80,
    wiki_pages: Annotated[
        Path | None,
        typer.Option(
            "--wiki-pages",
            metavar="DIR",
            help="FEVER claims that name sentences by number: FEVER's own Wikipedia, which has their text.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name of the policy or reranker; with --target, of the copy that the target encoder goes to. "
            "[default: the recipe's, or that of the policy]",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change one setting of the recipe, e.g. updates=500, head.hidden=128 or validation=0.1, or of the "
            "target encoder, e.g. updates=500 or adapter.rank=8, or of the reranker, e.g. updates=500, model.rank=8 or "
            "mine.depth=50; may be repeated. A wrong key lists all of them.",
        ),
    ] = None,
    embeddings: EmbeddingsName = None,
    device: Annotated[str, typer.Option(metavar="D", help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
    checkpoint_every: Annotated[
        int, typer.Option(min=1, metavar="N", help="Updates between two saves of the training.")
    ] = 1000,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew, even if there is a stopped training to go on with.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a policy or reranker of that name, or a target encoder.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Clone a policy from random walks on a wiki, without a single label: at every step, towards the walk's end.

    A policy walks any wiki that is embedded with the same encoder. Resumable: if it is stopped, the same command goes
    on from the last save (Ctrl-C saves first) and ends as if it had not been stopped.

    Losses go to WIKI/policies/NAME/metrics.jsonl and to TensorBoard (tensorboard --logdir WIKI/policies). With
    --set validation=0.1 a tenth of the articles is held out: training stops when it no longer gets better there, and
    the best weights are kept.

    With --target a policy that is there learns to read: its target encoder, a small change of the encoder that made the
    embeddings, is trained so that one sentence of a goal leads the policy where the goal itself would. It goes into
    WIKI/policies/NAME, with a copy of the policy if that is elsewhere, and `eval --task sentence` and `walk --sentence`
    read with it. Minutes on a GPU, a day or more on a few CPU cores (to try it there: --set batch=32 --set updates=50).
    If it is stopped, it begins anew.

    With --target and --queries that target encoder is tuned on what people ask: for each claim or question an expert
    takes a shortest path from one of BM25's first ten blocks to the evidence (app. C.1). Of files with answers alone,
    blocks among BM25's first twenty that have the answer string stand for the evidence.

    With --reranker a cross-encoder learns which sentences bear on a query, for `find --rerank` and `score --rerank`. It
    goes into WIKI/rerankers/NAME. If it is stopped, it begins anew. Lists with fewer negatives than it wants
    (--set negatives=7) are left out, and counted.

    Example: linkwalk train WIKI --set updates=500

    Example: linkwalk train WIKI --recipe paper --set steps=5 --name paper-5

    Example: linkwalk train WIKI --target compass --name mine

    Example: linkwalk train WIKI --target compass --queries claims.jsonl --name asked

    Example: linkwalk train WIKI --reranker claims.jsonl --reranker questions.jsonl --name mine
    """
    from linkwalk.device import choose_device

    _check_options(context, target=target, queries=queries, reranker=reranker)
    # Before anything that needs torch: without it, this says what to install.
    chosen = str(choose_device(device))
    if reranker:
        from linkwalk.cli.train_reranker import Choice, train_reranker

        given = threshold if _given(context, "threshold") else None
        train_reranker(
            wiki,
            reranker,
            choice=Choice(part=part, threshold=given, wiki_pages=wiki_pages),
            name=name,
            settings=settings or [],
            device=chosen,
            force=force,
            as_json=json,
            quiet=quiet,
        )
        return
    if target is not None and queries is not None:
        from linkwalk.cli.train_queries import tune_target

        tune_target(
            wiki,
            target,
            queries,
            recipe=recipe,
            part=part,
            threshold=threshold,
            wiki_pages=wiki_pages,
            name=name,
            settings=settings or [],
            embeddings=embeddings,
            device=chosen,
            force=force,
            as_json=json,
            quiet=quiet,
        )
        return
    if target is not None:
        from linkwalk.cli.train_target import train_target

        train_target(
            wiki,
            target,
            name=name,
            settings=settings or [],
            embeddings=embeddings,
            device=chosen,
            force=force,
            as_json=json,
            quiet=quiet,
        )
        return

    from linkwalk.cli.train_policy import train_policy

    train_policy(
        wiki,
        recipe=recipe,
        name=name,
        settings=settings or [],
        embeddings=embeddings,
        device=chosen,
        checkpoint_every=checkpoint_every,
        restart=restart,
        force=force,
        as_json=json,
        quiet=quiet,
    )


_POLICY_ONLY = ("recipe", "checkpoint_every", "restart")
_BENCHMARK_ONLY = ("part", "threshold", "wiki_pages")


def _check_options(
    context: typer.Context, *, target: str | None, queries: Path | None, reranker: list[Path] | None
) -> None:
    """Refuse options that would change nothing for what is trained."""
    from linkwalk.errors import InputError

    if reranker and (target is not None or queries is not None):
        other = "--target" if target is not None else "--queries"
        raise InputError(f"--reranker trains a reranker, {other} a target encoder: leave one of the two away")
    if queries is not None and target is None:
        raise InputError("--queries tunes the target encoder of a policy: name that policy with --target")
    useless: tuple[str, ...] = ()
    why = ""
    if reranker:
        useless, why = (*_POLICY_ONLY, "embeddings"), "is not for rerankers: leave it away"
    elif queries is not None:
        useless, why = _POLICY_ONLY[1:], "is for training a policy, --queries for tuning: leave it away"
    elif target is not None:
        useless = _POLICY_ONLY
        why = "is for training a policy, --target for a target encoder: leave one of the two away"
    if not reranker and queries is None:
        for name in _BENCHMARK_ONLY:
            if _given(context, name):
                raise InputError(f"{_option(name)} is for benchmarks: give one with --queries or --reranker")
    for name in useless:
        if _given(context, name):
            raise InputError(f"{_option(name)} {why}")


def _given(context: typer.Context, name: str) -> bool:
    """Whether an option was named on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
