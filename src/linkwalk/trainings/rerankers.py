"""A reranker, trained on lists that are given, or mined in a wiki from claims and questions (sec. 4.3)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from linkwalk.artifact import checksum, clear, digest, in_one_step, locked, read_manifest
from linkwalk.downstream.mining import (
    LISTS,
    MineConfig,
    claims_to_mine,
    kind_of_file,
    mine_lists,
    part_of,
    questions_to_mine,
)
from linkwalk.embed.model import find_model
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.metrics import FILE as METRICS
from linkwalk.learn.readers.ranking import RankingConfig, SentenceList, read_lists, train_sentences
from linkwalk.learn.state import FILE as STATE
from linkwalk.learn.state import differences
from linkwalk.policy.checkpoint import link_files
from linkwalk.progress import Progress
from linkwalk.retrieve.bm25 import Bm25
from linkwalk.retrieve.bm25_files import KIND as INDEX
from linkwalk.retrieve.cross import CrossConfig, read_cross
from linkwalk.retrieve.cross_torch import save_cross
from linkwalk.trainings.run import (
    BenchmarkChoice,
    TrainingOutcome,
    TrainingRun,
    check_name,
    last_row,
    name_taken,
    partial_of,
    trained_on,
    warn_of_damage,
)
from linkwalk.wiki.workspace import need_search

USES = ("used", "without evidence", "too few negatives")
"""Whether a list is learned from, or why not."""


@dataclass(frozen=True, kw_only=True)
class RerankerConfig(RankingConfig):
    """All that ``--set`` can change: the training's settings, and those of ``model.`` and ``mine.``."""

    model: CrossConfig = field(default_factory=CrossConfig)
    mine: MineConfig = field(default_factory=MineConfig)

    def __post_init__(self) -> None:
        """A network has to have some rank, and to read a few tokens."""
        super().__post_init__()
        for name, least in (("rank", 1), ("max_tokens", 8)):
            if getattr(self.model, name) < least:
                raise InputError(f"model.{name}={getattr(self.model, name)}: choose {least} or more")

    def use(self, one: SentenceList) -> str:
        """Which of ``USES`` is a list's."""
        if not one.positives:
            return "without evidence"
        return "used" if len(one.negatives) >= self.negatives else "too few negatives"


def train_reranker(
    wiki: Path,
    files: Sequence[Path],
    choice: BenchmarkChoice,
    name: str,
    run: TrainingRun,
) -> TrainingOutcome:
    """Train a cross-encoder that puts sentences first that bear on a query, into WIKI/rerankers/NAME."""
    graph = Graph.open(wiki)
    check_name(name, "reranker")
    final = wiki / "rerankers" / name
    partial = partial_of(final)
    config = run.configured(RerankerConfig())
    encoder = find_model(config.model.encoder).fingerprint  # first: mining takes long
    kinds = _kinds(files, choice)
    manifest = {
        "training": _settings(config),
        "made_from": _made_from(wiki, files, kinds, choice),
        "trained_on": {"snapshot": graph.snapshot, "graph": graph.fingerprint},
    }
    job = _job({"config": asdict(config.model), "model": encoder, **manifest})
    query = "a claim or a question"
    with locked(final):
        made = None if run.force else _made(final, job)
        fresh = made is None
        if made is None:
            bm25 = None
            if set(kinds) != {LISTS}:
                need_search()
                bm25 = Bm25.open(wiki, graph)
            lists: list[SentenceList] = []
            data: list[dict[str, Any]] = []
            for path, kind in zip(files, kinds, strict=True):
                row, own = _lists(path, kind, graph, bm25, config, choice, run.progress)
                data.append(row)
                lists += own
            if not any(row["used"] for row in data):
                raise InputError(
                    f"no list can be used: {'; '.join(map(lists_line, data))}; give other files, or ask for fewer "
                    "negatives with --set negatives=..."
                )
            query = next(one.query for one in lists if config.use(one) == "used")
            job["lists"] = digest([list(one) for one in lists])
            kept = run.kept(partial, job, config.updates)
            weights = train_sentences(lists, config.model, config, device=run.device, **kept)
            with in_one_step(partial, final, STATE) as whole:
                link_files(partial, whole, leave=(whole.name, STATE))
                made = save_cross(whole, weights, config.model, encoder, manifest | {"data": data})
    parameters = sum(value.size for value in read_cross(final)[2].values())
    more = {"query": query, "parameters": parameters}
    return TrainingOutcome(final, made, fresh, last_row(final / METRICS), more)


def lists_line(row: dict[str, Any]) -> str:
    """One file for people: how many of its lists can be used."""
    part = f", part {row['part']}" if "part" in row else ""
    left = ", ".join(f"{row[name]:,} {name}" for name in USES[1:] if row[name])
    return f"{row['file']}{part}: {row['used']:,} of {row['lists']:,}{f' ({left})' if left else ''}"


def _kinds(files: Sequence[Path], choice: BenchmarkChoice) -> list[str]:
    """What the files hold; refuses those that lists cannot be made of, and choices that would change nothing."""
    kinds = [kind_of_file(path) for path in files]
    for path, kind in zip(files, kinds, strict=True):
        if kind == "multihop":
            raise InputError(
                f"{path} holds multi-hop questions: lists are made of FEVER claims and Natural Questions"
            )
    if choice.part is not None and set(kinds) == {LISTS}:
        raise InputError("--part chooses claims or questions, lists are taken whole: leave it away")
    if "fever" not in kinds and (choice.threshold, choice.wiki_pages) != (None, None):
        raise InputError("--threshold and --wiki-pages belong to FEVER claims: leave them away")
    return kinds


def _made_from(
    wiki: Path, files: Sequence[Path], kinds: Sequence[str], choice: BenchmarkChoice
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


def _settings(config: RerankerConfig) -> dict[str, Any]:
    """All settings but the model's own, for the manifest."""
    return {key: value for key, value in asdict(config).items() if key != "model"}


def _job(manifest: dict[str, Any]) -> dict[str, Any]:
    """What of a reranker's manifest says how it was made."""
    job = {key: manifest.get(key) for key in ("config", "model", "training", "made_from")}
    if isinstance(settings := job["training"], dict):
        # Version 0.2 called it so; a setting that it did not have was as it is by default.
        renamed = {"evaluate_every" if key == "every" else key: value for key, value in settings.items()}
        job["training"] = _settings(RerankerConfig()) | renamed
    return job | {"graph": trained_on(manifest).get("graph")}


def _made(final: Path, job: dict[str, Any]) -> dict[str, Any] | None:
    """The manifest of the reranker that is there, if the same training made it; another one is an error."""
    if not final.exists():
        return None
    manifest, _, _ = read_cross(final)
    was = _job(manifest)
    known = was["made_from"] is not None and job["made_from"] is not None and "data" in manifest
    changed = differences(was, job) if known else []
    if changed or not known:
        raise name_taken("a reranker", final, changed)
    clear(partial_of(final))  # a training may have been killed just when it had put its reranker here
    return manifest


def _lists(
    path: Path,
    kind: str,
    graph: Graph,
    bm25: Bm25 | None,
    config: RerankerConfig,
    choice: BenchmarkChoice,
    progress: Progress,
) -> tuple[dict[str, Any], list[SentenceList]]:
    """The lists of a file, and how many of them can be used; those of a benchmark are mined."""
    row: dict[str, Any] = {"file": path.name, "kind": kind}
    if bm25 is None or kind == LISTS:
        lists = read_lists(path)
    else:
        row["part"] = part = part_of(kind, choice.part)
        if kind == "nq":
            found = questions_to_mine(path, graph, part=part)
        else:
            given = {} if choice.threshold is None else {"threshold": choice.threshold}
            found = claims_to_mine(path, graph, part=part, wiki_pages=choice.wiki_pages, **given)
        warn_of_damage(path, found.damage, progress)
        row["damaged lines"] = len(found.damage)
        mined = mine_lists(graph, bm25, found.queries, config.mine, closed=found.closed, progress=progress)
        lists = list(mined)
    counts = Counter(map(config.use, lists))
    return row | {"lists": len(lists), **{name: counts[name] for name in USES}}, lists
