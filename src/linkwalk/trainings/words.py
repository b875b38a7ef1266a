"""A word table and a compass of the wiki's own, which take the place of what was there if they walk better."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from linkwalk.artifact import clear, locked
from linkwalk.embed import Embeddings
from linkwalk.embed.job import EmbedConfig, embed
from linkwalk.embed.model import WORDS
from linkwalk.embed.store import names, put_word_table
from linkwalk.embed.words import WordProjection
from linkwalk.errors import ArtifactError, InputError
from linkwalk.evaluate import Result, TaskConfig, compare
from linkwalk.graph.held_out import WITHHELD, held_out_nodes
from linkwalk.graph.store import Graph
from linkwalk.learn.encoders.word_table import (
    ChoosingGoals,
    WordTable,
    WordTableConfig,
    train_word_table,
)
from linkwalk.learn.metrics import read_rows
from linkwalk.learn.state import FILE
from linkwalk.navigate import REFERENCE, open_baseline
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.moves import MoveConfig
from linkwalk.policy.checkpoint import load_compass, put_policy
from linkwalk.policy.compass import LinearCompass
from linkwalk.policy.heads import HeadConfig
from linkwalk.progress import Progress
from linkwalk.trainings.run import TrainingOutcome, TrainingRun, made_before, partial_of
from linkwalk.wiki.agents import usual_agent
from linkwalk.wiki.workspace import Workspace, threads

TRAINED_WORDS = "trained-words"
"""The recipe, and what its policy and its embeddings are called."""
_LENGTHS, _EPISODES = (5, 10, 20), 1000


def train_words(final: Path, embeddings: str | None, run: TrainingRun) -> TrainingOutcome:
    """Train them, and see what they gain; where that is nothing, the manifest is empty and nothing is changed."""
    wiki, partial = final.parent.parent, partial_of(final)
    config = run.configured(WordTableConfig())
    graph = Graph.open(wiki)
    table = _word_table(wiki, graph, embeddings, run.progress)
    job = {"config": asdict(config), "graph": graph.fingerprint, "began_as": table.fingerprint}
    with locked(final):
        made = None if run.force else _whole(final, made_before(final, job), graph)
        if made is not None:
            return TrainingOutcome(
                final, made, False, {}, {"resumed_at": None, "gains": made.get("gains", [])}
            )
        goals = ChoosingGoals(graph, config.seed)
        kept = run.kept(partial, job, config.updates)
        trained = train_word_table(
            graph, WordProjection.open(table.folder, table.width), config, goals, **kept
        )
        last = (read_rows(partial) or [{"update": config.updates}])[-1]
        kept_update = last.get("best", last["update"])
        better, gains = _gains(final, graph, table, config, trained, goals, run.progress)
        more = {"resumed_at": kept["resume"].update if kept["resume"] else None, "gains": gains}
        if not (better and kept_update):
            clear(partial)
            return TrainingOutcome(final, {}, True, last, more)
        origin = {"snapshot": graph.snapshot, "graph": graph.fingerprint}
        embedded = put_word_table(wiki, table, final.name, trained.fitted, trained.vectors, origin)
        manifest = {
            "recipe": TRAINED_WORDS,
            "config": job["config"],
            "map": asdict(config.map),
            "encoder": embedded["encoder_fingerprint"],
            "encoder_name": f"WIKI/embeddings/{final.name}",
            "embeddings": final.name,
            "began_as": table.fingerprint,
            "trained_on": origin,
            "updates": last["update"],
            "kept_update": kept_update,
            "gains": gains,
        }
        head = HeadConfig(head="compass", width=table.width, temperature=config.temperature)
        manifest = put_policy(partial, final, trained.compass, head, manifest, leave=(FILE,))
    return TrainingOutcome(final, manifest, True, last, more)


def _word_table(wiki: Path, graph: Graph, name: str | None, progress: Progress) -> Embeddings:
    """The word table to begin with: the one named, or ``words``, which is made where it is not there."""
    if name is None:
        embed(wiki, EmbedConfig(encoder=WORDS), progress=progress)
    table = Embeddings.open(wiki, name or WORDS, graph)
    if table.manifest["encoder"] != WORDS:
        raise InputError(
            f"{TRAINED_WORDS} trains a table of {WORDS}, and the embeddings {table.name!r} are by "
            f"{table.manifest['encoder']}: leave the name out, or choose another recipe, such as ours"
        )
    return table


def _whole(final: Path, manifest: dict[str, Any] | None, graph: Graph) -> dict[str, Any] | None:
    """The policy's manifest, if its table is there as well: one without the other is no use."""
    try:
        if manifest is not None:
            table = Embeddings.open(final.parent.parent, final.name, graph)
            load_compass(final, table.fingerprint)
    except ArtifactError:
        return None
    return manifest


def _gains(
    final: Path,
    graph: Graph,
    table: Embeddings,
    config: WordTableConfig,
    trained: WordTable,
    goals: ChoosingGoals,
    progress: Progress,
) -> tuple[bool, list[dict[str, Any]]]:
    """Whether the walker is better than the one before, by goals that are not reported; then by those that are."""
    wiki, ways = final.parent.parent, MoveConfig(back=config.back, map=config.map)
    seen = _seen_before(final, graph, table)
    workspace = Workspace(wiki, graph)
    before = workspace.agent(usual_agent(wiki, seen, directing=True), ways, seen)
    turn = trained.compass.turn
    compass = LinearCompass(turn.weight.detach().numpy(), turn.bias.detach().numpy())
    after = CompassWalker(final.name, compass, graph.forward, trained.vectors, ways, workers=threads())
    better = goals.judge(after).score > goals.judge(before).score
    reference = open_baseline(REFERENCE, graph.forward, workspace.units(seen), ways, workers=threads())
    among = held_out_nodes(graph, WITHHELD)
    found: list[Result] = []
    with progress.stage("measure", len(_LENGTHS) * 3 * _EPISODES, "episodes") as stage:
        for steps in _LENGTHS:
            task = TaskConfig(steps=steps, episodes=_EPISODES, seed=config.seed)
            try:
                found += compare(
                    graph.forward,
                    graph.reverse,
                    task,
                    [before, after],
                    reference,
                    goals_among=among,
                    advance=stage.advance,
                )
            except InputError:  # no walk ends there, on a small wiki
                break
    figures = ("success", "failure_ratio", "failure_ratio_ci95", "spl")
    return better, [
        {"agent": result.agent, "steps": result.task.steps}
        | {name: getattr(result.scores, name) for name in figures}
        for result in found
    ]


def _seen_before(final: Path, graph: Graph, table: Embeddings) -> Embeddings:
    """The embeddings that were walked by until now; where these are trained once more, what they began as."""
    wiki = final.parent.parent
    if [name for name in names(wiki) if name != final.name] == [table.name]:
        return table
    usual = Embeddings.open(wiki, None, graph)
    return table if usual.name == final.name else usual
