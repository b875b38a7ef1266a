"""``linkwalk train --reranker``: a cross-encoder learns which sentences bear on a query (sec. 4.3)."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from linkwalk.artifact import checksum, clear, digest, locked, publish, read_manifest
from linkwalk.cli.output import print_json, print_next, print_table
from linkwalk.cli.training import (
    check_name,
    check_numbers,
    in_short,
    last_row,
    scratch,
    trained_on,
    up_to_date,
    warn_of_damage,
)
from linkwalk.downstream.lists import (
    LISTS,
    MineConfig,
    Wanting,
    kind_of_file,
    mine_lists,
    part_of,
    wanted_claims,
    wanted_questions,
)
from linkwalk.downstream.train_cross import CrossTraining, Ranked, read_lists, train_cross
from linkwalk.embed.model import find_model
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.state import differences
from linkwalk.progress import Progress
from linkwalk.recipes import with_settings
from linkwalk.retrieve.bm25 import KIND as INDEX
from linkwalk.retrieve.bm25 import Bm25
from linkwalk.retrieve.cross import CrossConfig, read_cross
from linkwalk.retrieve.cross_model import save_cross
from linkwalk.wiki.retrieval import need_search

NAME = "ours"
METRICS = "metrics.jsonl"


@dataclass(frozen=True, kw_only=True)
class RerankerConfig(CrossTraining):
    """All that ``--set`` can change: the training's settings, and those of ``model.`` and ``mine.``."""

    model: CrossConfig = field(default_factory=CrossConfig)
    mine: MineConfig = field(default_factory=MineConfig)

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        super().__post_init__()
        for name, least in (("rank", 1), ("max_tokens", 8)):
            if getattr(self.model, name) < least:
                raise InputError(f"model.{name}={getattr(self.model, name)}: choose {least} or more")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What of benchmarks is learnt from; None where nothing was said."""

    part: str | None = None
    threshold: float | None = None
    wiki_pages: Path | None = None


def train_reranker(
    wiki: Path,
    files: Sequence[Path],
    *,
    choice: Choice,
    name: str | None,
    settings: list[str],
    device: str,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train a cross-encoder on lists, mined or given, and put it into the workspace, unless the same training has.

    ``device`` is resolved.
    """
    graph, name = Graph.open(wiki), name or NAME
    check_name(name, "reranker")
    final = wiki / "rerankers" / name
    unfinished = final.with_name(final.name + ".partial")
    config = with_settings(RerankerConfig(), settings)
    encoder = find_model(config.model.encoder).fingerprint  # first: mining takes long
    kinds = [kind_of_file(path) for path in files]
    _check(files, kinds, choice)
    manifest = {
        "training": {key: value for key, value in asdict(config).items() if key != "model"},
        "made_from": _made_from(wiki, files, kinds, choice),
        "trained_on": {"snapshot": graph.snapshot, "graph": graph.fingerprint},
    }
    job = _job({"config": asdict(config.model), "model": encoder, **manifest})
    query = "a claim or a question"
    with locked(final):
        made = None if force else _made(wiki, final, job)
        if made is None:
            lists, data = _gather(wiki, graph, files, kinds, config, choice, Progress(quiet=quiet))
            query = next(one.query for one in lists if _use(one, config) == "used")
            with scratch(unfinished) as partial:
                weights = train_cross(
                    lists,
                    config.model,
                    config,
                    device=device,
                    metrics=partial / METRICS,
                    progress=Progress(quiet=quiet),
                )
                check_numbers(weights)
                made = save_cross(partial, weights, config.model, encoder, manifest | {"data": data})
                publish(partial, final)
        else:
            clear(unfinished)  # a training may have been killed just after it had put its reranker here
            if not as_json:
                print(up_to_date(name, "graph, files and settings"))
    last = last_row(final / METRICS)
    if as_json:
        told = {key: made[key] for key in ("config", "training", "made_from", "data", "trained_on")}
        print_json({"reranker": str(final), **told, "last": last})
        return
    _show(final, config, made["data"], last)
    print_next(shlex.join(["linkwalk", "find", str(wiki), query, "--rerank", str(final)]))


def _made_from(
    wiki: Path, files: Sequence[Path], kinds: Sequence[str], choice: Choice
) -> dict[str, Any] | None:
    """What of files and index a reranker follows from; None if it reads more than can be told apart quickly."""
    if choice.wiki_pages is not None:
        return None
    found: dict[str, Any] = {
        "files": [f"{path.name} {checksum(path)[:16]}" for path in files],
        "part": choice.part,
        "threshold": choice.threshold,
    }
    if set(kinds) != {LISTS}:
        index = read_manifest(wiki / INDEX, INDEX, f"linkwalk index {wiki}")
        found["index"] = digest([index.get(key) for key in ("engine", "bm25")])
    return found


def _job(manifest: dict[str, Any]) -> dict[str, Any]:
    """What of a reranker's manifest says how it was made."""
    job = {key: manifest.get(key) for key in ("config", "model", "training", "made_from")}
    return job | {"graph": trained_on(manifest).get("graph")}


def _made(wiki: Path, final: Path, job: dict[str, Any]) -> dict[str, Any] | None:
    """The manifest of the reranker that is there, if the same training made it; another one is an error."""
    if not final.exists():
        return None
    manifest, _, _ = read_cross(final)
    was = _job(manifest)
    known = was["made_from"] is not None and job["made_from"] is not None and "data" in manifest
    changed = differences(was, job) if known else []
    if known and not changed:
        return manifest
    why = f" of another training ({in_short(changed)})" if changed else ""
    raise InputError(
        f"{wiki} has a reranker named {final.name!r}{why}: add --force to replace it, or name another with --name"
    )


def _show(final: Path, config: RerankerConfig, data: Sequence[dict[str, Any]], last: dict[str, Any]) -> None:
    """Tell people what came of it."""
    parameters = sum(value.size for value in read_cross(final)[2].values())
    rows = [
        ("reranker", str(final)),
        ("cross-encoder", f"{config.model.encoder}, rank {config.model.rank}, {parameters:,} parameters"),
        *(("lists", _said(row)) for row in data),
    ]
    if {"seconds", "loss", "first", "first_by_cosine"} <= last.keys():
        rows += [
            ("trained", f"{last['update']:,} updates in {last['seconds']:,.0f} s"),
            (
                "at last",
                f"loss {last['loss']:.3f}, evidence first {100 * last['first']:.1f} %, by the cosine alone "
                f"{100 * last['first_by_cosine']:.1f} %",
            ),
        ]
    print_table(rows + _held_out(last))


def _gather(
    wiki: Path,
    graph: Graph,
    files: Sequence[Path],
    kinds: Sequence[str],
    config: RerankerConfig,
    choice: Choice,
    progress: Progress,
) -> tuple[list[Ranked], list[dict[str, Any]]]:
    """The lists of all files, and of each file how many there are and how many can be used."""
    bm25 = None
    if set(kinds) != {LISTS}:
        need_search()
        bm25 = Bm25.open(wiki, graph)
    lists: list[Ranked] = []
    data: list[dict[str, Any]] = []
    for path, kind in zip(files, kinds, strict=True):
        row: dict[str, Any] = {"file": path.name, "kind": kind}
        if bm25 is None or kind == LISTS:
            own = read_lists(path)
        else:
            row["part"] = part_of(kind, choice.part)
            found = _wanted(path, kind, graph, row["part"], choice)
            warn_of_damage(path, found.damage, progress)
            row["damaged lines"] = len(found.damage)
            own = list(
                mine_lists(graph, bm25, found.wanted, config.mine, closed=found.closed, progress=progress)
            )
        counts = Counter(_use(one, config) for one in own)
        data.append(row | {"lists": len(own), **{name: counts[name] for name in _USES}})
        lists += own
    if not any(row["used"] for row in data):
        raise InputError(
            f"no list can be used: {'; '.join(map(_said, data))}; give other files, or ask for fewer negatives with "
            "--set negatives=..."
        )
    return lists, data


def _check(files: Sequence[Path], kinds: Sequence[str], choice: Choice) -> None:
    """Refuse files that lists cannot be made of, and choices that would change nothing."""
    for path, kind in zip(files, kinds, strict=True):
        if kind == "multihop":
            raise InputError(
                f"{path} holds multi-hop questions: lists are made of FEVER claims and Natural Questions"
            )
    if choice.part is not None and set(kinds) == {LISTS}:
        raise InputError("--part chooses claims or questions, lists are taken whole: leave it away")
    if "fever" not in kinds and (choice.threshold, choice.wiki_pages) != (None, None):
        raise InputError("--threshold and --wiki-pages belong to FEVER claims: leave them away")


def _wanted(path: Path, kind: str, graph: Graph, part: str, choice: Choice) -> Wanting:
    """A benchmark's queries, and what is known of their evidence."""
    if kind == "nq":
        return wanted_questions(path, graph, part=part)
    given = {} if choice.threshold is None else {"threshold": choice.threshold}
    return wanted_claims(path, graph, part=part, wiki_pages=choice.wiki_pages, **given)


_USES = ("used", "without evidence", "too few negatives")


def _use(one: Ranked, config: CrossTraining) -> str:
    """Whether ``train_cross`` learns from a list, or why not."""
    if not one.positives:
        return "without evidence"
    return "used" if len(one.negatives) >= config.negatives else "too few negatives"


def _held_out(last: dict[str, Any]) -> list[tuple[str, str]]:
    """Which weights were kept, where queries were held out."""
    if not {"best", "held_out_loss", "held_out_first"} <= last.keys():
        return []
    figures = f"loss {last['held_out_loss']:.3f}, evidence first {100 * last['held_out_first']:.1f} %"
    return [("held out", f"{figures} at last; the weights of update {last['best']:,} were best and are kept")]


def _said(row: dict[str, Any]) -> str:
    """One file for people: how many of its lists can be used."""
    part = f", part {row['part']}" if "part" in row else ""
    left = ", ".join(f"{row[name]:,} {name}" for name in _USES[1:] if row[name])
    return f"{row['file']}{part}: {row['used']:,} of {row['lists']:,}{f' ({left})' if left else ''}"
