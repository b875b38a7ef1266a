"""What a reranker is trained on: lists that are given, or mined in a wiki from claims and questions (sec. 4.3)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from linkwalk.artifact import checksum, digest, read_manifest
from linkwalk.cli.training import in_short, trained_on, warn_of_damage
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
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.readers.cross import SentenceList, SentenceRankingConfig, read_lists
from linkwalk.learn.state import differences
from linkwalk.progress import Progress
from linkwalk.retrieve.bm25 import Bm25
from linkwalk.retrieve.bm25_files import KIND as INDEX
from linkwalk.retrieve.cross import CrossConfig, read_cross
from linkwalk.wiki.workspace import need_search


@dataclass(frozen=True, kw_only=True)
class RerankerConfig(SentenceRankingConfig):
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
class LearntFrom:
    """What of benchmarks is learnt from; None where nothing was said."""

    part: str | None = None
    threshold: float | None = None
    wiki_pages: Path | None = None


def check(files: Sequence[Path], choice: LearntFrom) -> list[str]:
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


def made_from(
    wiki: Path, files: Sequence[Path], kinds: Sequence[str], choice: LearntFrom
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


def settings_of(config: RerankerConfig) -> dict[str, Any]:
    """All settings but the model's own, for the manifest."""
    return {key: value for key, value in asdict(config).items() if key != "model"}


def job_of(manifest: dict[str, Any]) -> dict[str, Any]:
    """What of a reranker's manifest says how it was made."""
    job = {key: manifest.get(key) for key in ("config", "model", "training", "made_from")}
    if isinstance(settings := job["training"], dict):
        # Version 0.2 called it so; a setting that it did not have was as it is by default.
        renamed = {"evaluate_every" if key == "every" else key: value for key, value in settings.items()}
        job["training"] = settings_of(RerankerConfig()) | renamed
    return job | {"graph": trained_on(manifest).get("graph")}


def already(wiki: Path, final: Path, job: dict[str, Any]) -> dict[str, Any] | None:
    """The manifest of the reranker that is there, if the same training made it; another one is an error."""
    if not final.exists():
        return None
    manifest, _, _ = read_cross(final)
    was = job_of(manifest)
    known = was["made_from"] is not None and job["made_from"] is not None and "data" in manifest
    changed = differences(was, job) if known else []
    if known and not changed:
        return manifest
    why = f" of another training ({in_short(changed)})" if changed else ""
    raise InputError(
        f"{wiki} has a reranker named {final.name!r}{why}: add --force to replace it, or name another with --name"
    )


def gather(
    wiki: Path,
    graph: Graph,
    files: Sequence[Path],
    kinds: Sequence[str],
    config: RerankerConfig,
    choice: LearntFrom,
    progress: Progress,
) -> tuple[list[SentenceList], list[dict[str, Any]]]:
    """The lists of all files, and of each file how many there are and how many can be used."""
    bm25 = None
    if set(kinds) != {LISTS}:
        need_search()
        bm25 = Bm25.open(wiki, graph)
    lists: list[SentenceList] = []
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
        counts = Counter(use(one, config) for one in own)
        data.append(row | {"lists": len(own), **{name: counts[name] for name in USES}})
        lists += own
    if not any(row["used"] for row in data):
        raise InputError(
            f"no list can be used: {'; '.join(map(said, data))}; give other files, or ask for fewer negatives with "
            "--set negatives=..."
        )
    return lists, data


def _wanted(path: Path, kind: str, graph: Graph, part: str, choice: LearntFrom) -> Wanting:
    """A benchmark's queries, and what is known of their evidence."""
    if kind == "nq":
        return wanted_questions(path, graph, part=part)
    given = {} if choice.threshold is None else {"threshold": choice.threshold}
    return wanted_claims(path, graph, part=part, wiki_pages=choice.wiki_pages, **given)


USES = ("used", "without evidence", "too few negatives")


def use(one: SentenceList, config: SentenceRankingConfig) -> str:
    """Whether ``train_cross`` learns from a list, or why not."""
    if not one.positives:
        return "without evidence"
    return "used" if len(one.negatives) >= config.negatives else "too few negatives"


def said(row: dict[str, Any]) -> str:
    """One file for people: how many of its lists can be used."""
    part = f", part {row['part']}" if "part" in row else ""
    left = ", ".join(f"{row[name]:,} {name}" for name in USES[1:] if row[name])
    return f"{row['file']}{part}: {row['used']:,} of {row['lists']:,}{f' ({left})' if left else ''}"
