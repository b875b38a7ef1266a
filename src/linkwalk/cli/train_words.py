"""``linkwalk train WIKI``: a word table and a compass of the wiki's own, and what they gained."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwalk.cli.output import print_columns, print_json, print_next, print_table
from linkwalk.cli.training import TRAINED_WORDS, refuse_another, stopped, trained_on, up_to_date
from linkwalk.errors import ArtifactError, InputError
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from linkwalk.embed import Embeddings
    from linkwalk.evaluate import Result
    from linkwalk.graph.store import Graph
    from linkwalk.learn.encoders.word_table import ChoosingGoals, WordTable, WordTableConfig
    from linkwalk.navigate import Agent

_LENGTHS, _EPISODES = (5, 10, 20), 1000


class _Outcome(NamedTuple):
    """What came of a training."""

    manifest: dict[str, Any]
    """Of the policy; empty where nothing was gained, and so nothing is kept."""
    gains: list[dict[str, Any]]
    resumed_at: int | None = None
    fresh: bool = True


def train_words(
    final: Path,
    settings: Sequence[str],
    embeddings: str | None,
    *,
    checkpoint_every: int,
    restart: bool,
    force: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Train the wiki's own word table and compass, and tell what they gained."""
    from linkwalk.artifact import locked
    from linkwalk.graph.store import Graph
    from linkwalk.learn.encoders.word_table import WordTableConfig
    from linkwalk.recipes import with_settings

    wiki, progress = final.parent.parent, Progress(quiet=quiet)
    config = with_settings(WordTableConfig(), settings)
    graph = Graph.open(wiki)
    job = _Job(final, config, graph, _word_table(wiki, graph, embeddings, progress), progress)
    with locked(final):
        outcome = None if force else job.made()
        if outcome is None:
            outcome = job.run(checkpoint_every=checkpoint_every, restart=restart, quiet=quiet)
    if json:
        told = {key: outcome.manifest[key] for key in _TOLD if key in outcome.manifest}
        policy = str(final) if outcome.manifest else None
        print_json({"policy": policy, **told, "resumed_at": outcome.resumed_at, "gains": outcome.gains})
        return
    if not outcome.fresh:
        print(up_to_date(final.name, "graph, embeddings and settings"))
    _show(final, outcome)
    if outcome.manifest:
        print_next(f"linkwalk eval {wiki} --goals withheld")


_TOLD = ("recipe", "config", "encoder", "embeddings", "trained_on", "updates", "kept_update")


def _word_table(wiki: Path, graph: "Graph", name: str | None, progress: "Progress") -> "Embeddings":
    """The word table to begin with: the one named, or ``words``, which is made where it is not there."""
    from linkwalk.embed import Embeddings
    from linkwalk.embed.fitted import WORDS
    from linkwalk.embed.job import EmbedConfig, embed

    if name is None:
        embed(wiki, EmbedConfig(encoder=WORDS), progress=progress)
    table = Embeddings.open(wiki, name or WORDS, graph)
    if table.manifest["encoder"] != WORDS:
        raise InputError(
            f"{TRAINED_WORDS} trains a table of {WORDS}, and the embeddings {table.name!r} are by "
            f"{table.manifest['encoder']}: leave the name out, or choose another recipe, such as ours"
        )
    return table


class _Job:
    """What is to be trained, and where it goes."""

    def __init__(
        self,
        final: Path,
        config: "WordTableConfig",
        graph: "Graph",
        table: "Embeddings",
        progress: "Progress",
    ) -> None:

        self.final, self.config, self.graph, self.table = final, config, graph, table
        self.wiki, self.progress = final.parent.parent, progress
        self.partial = final.with_name(final.name + ".partial")
        self.job = {"config": asdict(config), "graph": graph.fingerprint, "began_as": table.fingerprint}

    def made(self) -> _Outcome | None:
        """The policy that is there, if the same training made it; another one is an error."""
        from linkwalk.embed import Embeddings
        from linkwalk.policy.checkpoint import load_compass, read_policy

        if not self.final.exists():
            return None
        manifest = read_policy(self.final)
        was = {
            "config": manifest.get("config"),
            "graph": trained_on(manifest).get("graph"),
            "began_as": manifest.get("began_as"),
        }
        refuse_another(self.final, was, self.job)
        try:
            table = Embeddings.open(self.wiki, self.final.name, self.graph)
            load_compass(self.final, table.fingerprint)
        except ArtifactError:  # one without the other is no use
            return None
        return _Outcome(manifest, manifest.get("gains", []), fresh=False)

    def run(self, *, checkpoint_every: int, restart: bool, quiet: bool) -> _Outcome:
        """Train, from where it was stopped; what is better than what there was takes its place."""
        from linkwalk.artifact import clear
        from linkwalk.embed.fitted import Fitted
        from linkwalk.embed.word_tables import put_word_table
        from linkwalk.learn.encoders.word_table import ChoosingGoals, train_word_table
        from linkwalk.learn.metrics import read_rows
        from linkwalk.learn.state import FILE
        from linkwalk.policy.checkpoint import put_policy
        from linkwalk.policy.heads import HeadConfig

        graph, config = self.graph, self.config
        goals = ChoosingGoals(graph, config.seed)
        resume = stopped(self.partial, self.job, config.updates, restart=restart, quiet=quiet)
        trained = train_word_table(
            graph,
            Fitted.open(self.table.folder, self.table.width),
            config,
            goals,
            folder=self.partial,
            job=self.job,
            resume=resume,
            checkpoint_every=checkpoint_every,
            progress=self.progress,
        )
        rows = read_rows(self.partial) or [{"update": config.updates}]
        kept_update = rows[-1].get("best", rows[-1]["update"])
        better, gains = self._gained(trained, goals)
        resumed_at = resume.update if resume else None
        if not (better and kept_update):
            clear(self.partial)
            return _Outcome({}, gains, resumed_at)
        origin = {"snapshot": graph.snapshot, "graph": graph.fingerprint}
        embedded = put_word_table(
            self.wiki, self.table, self.final.name, trained.fitted, trained.vectors, origin
        )
        manifest = {
            "recipe": TRAINED_WORDS,
            "config": self.job["config"],
            "map": asdict(config.map),
            "encoder": embedded["encoder_fingerprint"],
            "encoder_name": f"WIKI/embeddings/{self.final.name}",
            "embeddings": self.final.name,
            "began_as": self.table.fingerprint,
            "trained_on": origin,
            "updates": rows[-1]["update"],
            "kept_update": kept_update,
            "gains": gains,
        }
        head = HeadConfig(head="compass", width=self.table.width, temperature=config.temperature)
        sealed = put_policy(self.partial, self.final, trained.compass, head, manifest, leave=(FILE,))
        return _Outcome(sealed, gains, resumed_at)

    def _gained(self, trained: "WordTable", goals: "ChoosingGoals") -> tuple[bool, list[dict[str, Any]]]:
        """Whether the walker is better than the one before, by goals that are not reported; then by those that are."""
        from linkwalk.evaluate import TaskConfig, compare
        from linkwalk.graph.held_out import WITHHELD, held_out_nodes
        from linkwalk.navigate import REFERENCE, open_baseline
        from linkwalk.navigate.compass import CompassWalker
        from linkwalk.navigate.ways import Ways
        from linkwalk.policy.compass import LinearCompass
        from linkwalk.wiki.workspace import threads

        graph, ways = self.graph, Ways(back=self.config.back, map=self.config.map)
        before, units = self._before(ways)
        turn = trained.compass.turn
        compass = LinearCompass(turn.weight.detach().numpy(), turn.bias.detach().numpy())
        after = CompassWalker(
            self.final.name, compass, graph.forward, trained.vectors, ways, workers=threads()
        )
        better = goals.judge(after).score > goals.judge(before).score
        reference = open_baseline(REFERENCE, graph.forward, units, ways, workers=threads())
        among = held_out_nodes(graph, WITHHELD)
        found: list[Result] = []
        with self.progress.stage("measure", len(_LENGTHS) * 3 * _EPISODES, "episodes") as stage:
            for steps in _LENGTHS:
                task = TaskConfig(steps=steps, episodes=_EPISODES, seed=self.config.seed)
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
        return better, [_gain(result) for result in found]

    def _before(self, ways: Any) -> "tuple[Agent, Any]":
        """Who walked here until now, and what it looks at."""
        from linkwalk.embed.store import Embeddings, names
        from linkwalk.wiki.agents import usual_agent
        from linkwalk.wiki.workspace import Workspace

        others = [name for name in names(self.wiki) if name != self.final.name]
        table = self.table if others == [self.table.name] else Embeddings.open(self.wiki, None, self.graph)
        if table.name == self.final.name:  # trained once more: what it began as
            table = self.table
        workspace = Workspace(self.wiki, self.graph)
        agent = usual_agent(self.wiki, table, directing=True)
        return workspace.agent(agent, ways, table), workspace.units(table)


def _gain(result: "Result") -> dict[str, Any]:
    """A row of what was gained."""
    scores = result.scores
    return {
        "agent": result.agent,
        "steps": result.task.steps,
        "success": scores.success,
        "failure_ratio": scores.failure_ratio,
        "failure_ratio_ci95": scores.failure_ratio_ci95,
        "spl": scores.spl,
    }


def _show(final: Path, outcome: _Outcome) -> None:
    """Tell people what came of it."""
    if outcome.gains:
        print(
            "goals in articles that were not trained towards; failures beside those of greedy-unvisited before:"
        )
        rows: list[tuple[str, ...]] = [("", "T", "success %", "failure ratio", "SPL %")]
        for gain in outcome.gains:
            ratio = "-" if gain["failure_ratio"] is None else f"{gain['failure_ratio']:.2f}"
            rows.append(
                (
                    gain["agent"],
                    str(gain["steps"]),
                    f"{100 * gain['success']:.1f}",
                    ratio,
                    f"{100 * gain['spl']:.1f}",
                )
            )
        print_columns(rows)
    else:
        print("no walk ends in the articles that are withheld, so nothing can be said of what was gained")
    if not outcome.manifest:
        print("the walker before is as good: nothing was changed")
        return
    print_table(
        [
            ("policy", str(final)),
            ("embeddings", str(final.parent.parent / "embeddings" / final.name)),
            ("trained", f"{outcome.manifest['updates']:,} updates, kept {outcome.manifest['kept_update']:,}"),
        ]
    )
