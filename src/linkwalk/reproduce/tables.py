"""Tables 1, 2, 4 and 7 of the paper: rows and columns as data, and what a table holds once it has been run.

A column of T steps is walked by policies cloned from walks of T steps, the multistep column by one cloned from walks
of 1 to 20 (sec. 5.1, 5.2). The paper does not say whether its agent may go back to a page it has seen: the rows that
carry the paper's figures are the plain argmax, and each has one beside it that never goes to a page twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from linkwalk.embed.model import RANDOM
from linkwalk.errors import InputError
from linkwalk.evaluate import TaskConfig, paper
from linkwalk.learn.rewards.impala import ImpalaConfig
from linkwalk.navigate import REFERENCE
from linkwalk.recipes import SWEEP
from linkwalk.reproduce.runner import TRAINED, Contender, Runner

MULTISTEP = 20
TRANSFORMER = "paper-transformer"
WEBNAV = 16
"""Steps of the longest task of Nogueira & Cho (2016), which policies of 20 steps walk."""


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """One line of a table."""

    label: str
    who: Contender | None
    """Who walks, but for the settings; None: nobody of ours, the figures are another paper's."""
    paper: str | None = None
    """Which of the paper's rows it stands beside."""
    walks: str | None = None
    """Trajectory distribution of a cloned policy."""
    reward: bool = False
    """Whether the policy learns from reward, the best setting of a sweep; where it has walks, after it was cloned."""
    sentence: bool = False
    """Whether it is tried on sentence search, too."""


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """A table that can be run."""

    name: str
    title: str
    rows: tuple[TableRow, ...]
    columns: dict[str, TaskConfig]
    """What is walked, in the order of the paper's figures."""
    figures: dict[str, paper.Figures]


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much work goes into a table; ``quick`` is one for a CPU."""

    episodes: int = 10_000
    updates: int | None = None
    """None: the recipe's."""
    batch: int | None = None
    seed: int = 0
    transformer: tuple[str, ...] = ()
    """Settings of the transformer over the trajectory (table 4)."""
    encoder: tuple[str, ...] = ()
    """Settings of the encoder's training (table 4)."""
    reader: tuple[str, ...] = ()
    """Settings of the target encoders that are trained with the policies, where they are."""
    reward: tuple[str, ...] = ()
    """Settings of policies that learn from reward."""
    sweep: tuple[tuple[str, ...], ...] = SWEEP
    """Settings of which the best is taken for each figure of theirs."""

    def settings(self) -> tuple[str, ...]:
        """What of it is a setting of a policy's recipe."""
        chosen = {"updates": self.updates, "batch": self.batch, "seed": self.seed}
        return tuple(f"{key}={value}" for key, value in chosen.items() if value is not None)


QUICK = Size(
    episodes=500,
    updates=200,
    batch=64,
    transformer=tuple(f"head.trajectory.{size}" for size in ("layers=2", "heads=4", "inner=512")),
    encoder=("updates=20", "warmup=2", "batch=16", "max_tokens=64"),
    reader=("updates=20", "warmup=2", "batch=16", "negatives=64"),
    reward=("batch=16", "unroll=20"),
    sweep=SWEEP[-1:],
)


def _learned(
    label: str, walks: str | None = None, *, reward: bool = False, sentence: bool = False, **who: Any
) -> tuple[TableRow, TableRow]:
    """The paper's row by the plain argmax, and the same policy where it never goes to a page twice."""
    row = TableRow(
        label=label,
        who=Contender(revisit=True, **who),
        paper=label,
        walks=walks,
        reward=reward,
        sentence=sentence,
    )
    return row, replace(row, label=f"{label} (never revisit)", who=Contender(**who), paper=None)


def _tasks(*steps: int, **more: Any) -> list[TaskConfig]:
    return [TaskConfig(steps=t, **more) for t in steps]


def _columns(labels: tuple[str, ...], *tasks: list[TaskConfig]) -> dict[str, TaskConfig]:
    return dict(zip(labels, chain(*tasks), strict=True))


_REFERENCE_ROW = TableRow(label=REFERENCE, who=Contender(baseline=REFERENCE), sentence=True)
_BASELINES = tuple(
    TableRow(label=label, who=Contender(baseline=label.lower().replace(" ", "-")), paper=label)
    for label in ("Random", "Greedy", "Random DFS", "Greedy DFS")
)
_FAR = (5, 10, WEBNAV, 20)

TABLE1 = PaperTable(
    name="table1",
    title="Trajectory distributions: success % on the unseen half",
    rows=(
        *_learned("Forward", "forward"),
        *_learned("Reverse", "reverse"),
        *_learned("Shortest path", "shortest"),
        _REFERENCE_ROW,
    ),
    columns=_columns(paper.TABLE1_COLUMNS, _tasks(5, 10, 20), _tasks(5, 10, 20, sampling="reverse")),
    figures=paper.TABLE1,
)

TABLE2 = PaperTable(
    name="table2",
    title="Navigation and sentence search: success % on the unseen half",
    rows=(
        *_learned("RFBC", "forward", sentence=True),
        *_learned("RL", reward=True, sentence=True),
        *_learned("RFBC + RL", "forward", reward=True),
        *_learned("RFBC + RF", "forward", features=RANDOM),
        *_learned("RL + RF", reward=True, features=RANDOM),
        *_BASELINES,
        _REFERENCE_ROW,
    ),
    columns=_columns(
        paper.TABLE2_COLUMNS,
        _tasks(5, 10, 20),
        _tasks(MULTISTEP, task="multistep"),
        _tasks(5, 10, 20, task="sentence"),
    ),
    figures=paper.TABLE2,
)

TABLE4 = PaperTable(
    name="table4",
    title="Fixed and trained embeddings: success % on a wiki that was not trained on",
    rows=(
        *_learned("RoBERTa + Feed-forward", "forward", sentence=True),
        *_learned("RoBERTa + Transformer", "forward", sentence=True, recipe=TRANSFORMER),
        *_learned("Embed train + Feed-forward", "forward", sentence=True, features=TRAINED),
        *_learned(
            "Embed train + Transformer", "forward", sentence=True, features=TRAINED, recipe=TRANSFORMER
        ),
        TableRow(
            label="Embed train + its own policy", who=Contender(features=TRAINED, spans=True), sentence=True
        ),
        TableRow(label="WebNav", who=None, paper="WebNav"),
        _REFERENCE_ROW,
    ),
    columns=_columns(paper.TABLE4_COLUMNS, _tasks(*_FAR), _tasks(*_FAR, task="sentence")),
    figures=paper.TABLE4,
)

TABLE7 = PaperTable(
    name="table7",
    title="Cost, and success % at 5 steps on the unseen half",
    rows=(
        *_learned("RFBC", "forward"),
        *_learned("Backwards BC", "reverse"),
        *_learned("Shortest path BC", "shortest"),
        *_learned("RL", reward=True),
        *_BASELINES,
        _REFERENCE_ROW,
    ),
    columns={"5": TaskConfig(steps=5)},
    figures={name: (success,) for name, (_, _, success) in paper.TABLE7.items()},
)

TABLES = {table.name: table for table in (TABLE1, TABLE2, TABLE4, TABLE7)}


def choose_rows(table: PaperTable, names: Sequence[str]) -> PaperTable:
    """The table with some of its rows; "forward" takes "Forward" and "Forward (never revisit)"."""
    labels = [row.label.lower() for row in table.rows]
    wanted = set[str]()
    for name in (name.strip().lower() for name in names):
        found = {label for label in labels if label == name or label.startswith(f"{name} (")}
        if not found:
            there = ", ".join(row.label for row in table.rows)
            raise InputError(f"{table.name} has no row {name!r}: its rows are {there}")
        wanted |= found
    return replace(table, rows=tuple(row for row in table.rows if not wanted or row.label.lower() in wanted))


def contenders(row: TableRow, task: TaskConfig, size: Size) -> list[Contender]:
    """Of whom the best walks a cell: all settings of a sweep where reward is learned from, else one."""
    assert row.who is not None, "others' rows are not run"
    multistep = f"multistep={str(task.task == 'multistep').lower()}"
    one = row.who
    if row.walks is not None:
        settings = (
            f"walks={row.walks}",
            f"steps={MULTISTEP if task.steps == WEBNAV else task.steps}",
            multistep,
            *size.settings(),
            *(size.transformer if one.recipe == TRANSFORMER else ()),
        )
        one = replace(one, settings=settings)
    if not row.reward:
        return [one]
    updates = None if size.updates is None else max(1, size.updates // (5 if row.walks else 1))
    settings = (
        f"steps={task.steps}",
        multistep,
        *size.reward,
        *replace(size, updates=updates, batch=None).settings(),
    )
    return [
        replace(
            row.who,
            recipe="rl-fine-tune" if row.walks else "rl",
            settings=(*settings, *tried),
            begins=replace(one, revisit=False) if row.walks else None,
        )
        for tried in size.sweep
    ]


def _best(row: TableRow, many: Sequence[Contender], cells: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """The best of some contenders' cells, and what the others reached."""
    found = [next(cells) for _ in many]
    best = max(found, key=lambda cell: cell["success"])
    if not row.reward:
        return best
    swept = [
        {"settings": list(who.settings[-2:]), "success": cell["success"]}
        for who, cell in zip(many, found, strict=True)
    ]
    return best | {"sweep": swept}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The paper's figure and ours."""

    row: TableRow
    column: str
    task: TaskConfig
    paper: float | None
    """In percent."""
    ours: dict[str, Any] | None
    """As ``linkwalk eval --json`` has it, with policy, updates and times; None: still to come."""

    def to_json(self) -> dict[str, Any]:
        """As ``linkwalk reproduce --json`` prints it."""
        return {
            "column": self.column,
            "task": self.task.task,
            "steps": self.task.steps,
            "sampling": self.task.sampling,
            "paper": None if self.paper is None else self.paper / 100,
            **(self.ours or {"success": None}),
        }

    def __str__(self) -> str:
        """The paper's figure | ours."""
        if self.ours is not None:
            return f"{_number(self.paper, 1)} | {100 * self.ours['success']:.1f}"
        return "-" if self.paper is None else f"{self.paper:.1f} | -"


def run_table(runner: Runner, table: PaperTable, size: Size) -> list[list[Cell]]:
    """Run a table column by column, what is known coming from the journal; returns its rows."""
    lines: list[list[Cell]] = [[] for _ in table.rows]
    for place, (column, task) in enumerate(table.columns.items()):
        search = task.task == "sentence"
        running = [
            row
            for row in table.rows
            if row.who is not None
            and not (row.who.spans and runner.trained_name)
            and (not search or (row.sentence and runner.reads))
        ]
        tried = [contenders(row, task, size) for row in running]
        sized = replace(task, episodes=size.episodes, seed=size.seed)
        cells = iter(runner.measure(sized, [one for many in tried for one in many]))
        ours = {row: _best(row, many, cells) for row, many in zip(running, tried, strict=True)}
        for row, line in zip(table.rows, lines, strict=True):
            figure = None if row.paper is None else table.figures[row.paper][place]
            line.append(Cell(row=row, column=column, task=task, paper=figure, ours=ours.get(row)))
    return lines


def table_lines(cells: Sequence[Sequence[Cell]]) -> list[tuple[str, ...]]:
    """The paper's figures | ours."""
    head = ("", *(cell.column for cell in cells[0]))
    return [head, *((line[0].row.label, *map(str, line)) for line in cells)]


def cost_lines(cells: Sequence[Sequence[Cell]]) -> list[tuple[str, ...]]:
    """Table 7: the paper's asymptotic costs, and what a step and an update took us."""
    lines: list[tuple[str, ...]] = [("", "cost, O()", "scales", "success %", "ms an update", "us a step")]
    for (cell,) in cells:
        cost, scales, _ = paper.TABLE7[cell.row.paper] if cell.row.paper else ("", "", 0)
        ours = cell.ours or {}
        update = 1e3 * ours["training_seconds"] / ours["updates"] if "updates" in ours else None
        step = 1e6 * ours["seconds"] / ours["agent_steps"] if ours.get("agent_steps") else None
        lines.append((cell.row.label, cost, scales, str(cell), _number(update, 2), _number(step, 2)))
    return lines


def notes(runner: Runner, size: Size, table: PaperTable | None, *, quick: bool) -> list[str]:
    """What a reader has to know about the figures."""
    config = runner.config(Contender(settings=size.settings()))
    recipe = f"{config.updates:,} updates of {config.batch} walks"
    lines = [
        f"Trained on {runner.train.snapshot} ({runner.train.nodes:,} blocks), walked on "
        f"{runner.eval.snapshot} ({runner.eval.nodes:,} blocks); {runner.embeddings} embeddings; policies: {recipe} "
        "(the paper: 50,000 of 512)."
    ]
    if quick:
        lines.append("A quick run: it shows that everything works, not how well.")
    if table is None:
        return lines
    lines.append(f"{size.episodes:,} episodes a cell, budget {runner.budget}, seed {size.seed}.")
    blocks = "38 million" if table.name == "table4" else "200,000"
    lines.append(f"The paper's graph has {blocks} blocks and RoBERTa embeddings: compare rows, not cells.")
    if table.name == "table4":
        lines += _of_table4(runner)
    if any(row.walks for row in table.rows):
        lines.append(
            'A policy takes its likeliest link; "never revisit": to a page it has not been at, if there is one.'
        )
    if any(task.sampling == "reverse" for task in table.columns.values()):
        lines.append('"reverse": the goal is drawn uniformly and the start walked back to.')
    if any(task.task == "sentence" for task in table.columns.values()):
        if not runner.reads:
            lines.append("No sentence search: random features cannot read one.")
        else:
            how = (
                "a target encoder trained with each"
                if runner.readers
                else "the target encoder in " + str(runner.target_folder)
                if runner.target_folder
                else "the nodes' encoder"
            )
            lines.append(
                f'"sentence": of the goal one random sentence is shown, to policies through {how}, to '
                "greedy-unvisited through the nodes' encoder; policies are those of the columns before."
            )
    if any(row.reward for row in table.rows):
        lines.append(_of_reward(runner, size))
    return lines


def _of_reward(runner: Runner, size: Size) -> str:
    """What a reader has to know about policies that learned from reward."""
    config = runner.config(Contender(recipe="rl", settings=size.reward))
    assert isinstance(config, ImpalaConfig)
    updates = size.updates or config.updates
    return (
        f'"RL": {updates:,} updates of {config.batch} episodes x {config.unroll} steps (the paper: 50,000 of 512 x '
        f"100; after cloning a fifth of them), each figure the best of {len(size.sweep)} settings of entropy cost and "
        "discount (the paper: of 6), chosen on these very episodes, as the paper's are."
    )


def _of_table4(runner: Runner) -> list[str]:
    """What a reader has to know about table 4."""
    webnav = (
        "WebNav (Nogueira & Cho, 2016) shows sentences of a page up to 16 links away, on 12 million pages; the paper "
        "sets its figure beside its own navigation. Columns of 16 steps are walked by the policies of 20."
    )
    if runner.trained_name is not None:
        return [f'"RoBERTa": {runner.embeddings}; "Embed train": {runner.trained_name}.', webnav]
    config, head = runner.trained.config, runner.trained.config.head.head
    return [
        f'"RoBERTa": {runner.embeddings} as it is; "Embed train": trained by the words of links under a {head} head, '
        f"{config.updates:,} updates of {config.batch} decisions (the paper: 3,000,000 of 512), then frozen; policies "
        'are cloned on the table. "Its own policy": the one it was trained with, which scores links by their words.',
        webnav,
    ]


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
