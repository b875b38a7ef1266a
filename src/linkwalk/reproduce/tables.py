"""Tables 1, 2, 4 and 7 of the paper: rows and columns as data, and what a table holds once it has been run.

A column of T steps is walked by policies cloned from walks of T steps, the multistep column by one cloned from walks
of 1 to 20 (sec. 5.1, 5.2). The paper does not say whether its agent may go back to a page it has seen: the rows that
carry the paper's figures are the plain argmax, and each has one beside it that never goes to a page twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwalk.errors import InputError
from linkwalk.evaluate import TaskConfig, paper
from linkwalk.navigate import REFERENCE
from linkwalk.recipes import SWEEP
from linkwalk.reproduce.runner import Contender, Runner

MULTISTEP = 20
WEBNAV = 16
"""Steps of the longest task of Nogueira & Cho (2016), which policies of 20 steps walk."""


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """One line of a table."""

    label: str
    paper: str | None = None
    """Which of the paper's rows it stands beside."""
    baseline: str | None = None
    walks: str | None = None
    """Trajectory distribution of a cloned policy."""
    reward: bool = False
    """Whether the policy learns from reward, the best setting of a sweep; where it has walks, after it was cloned."""
    random_features: bool = False
    revisit: bool = False
    sentence: bool = False
    """Whether it is tried on sentence search, too."""
    recipe: str = "paper"
    trained: bool = False
    """Whether it sees embeddings that were trained for navigation."""
    spans: bool = False
    """Whether it is the policy that these were trained with."""
    quoted: bool = False
    """Whether it is another paper's, whose figures are quoted."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """One task, and where in the paper's row its figure stands."""

    label: str
    place: int
    task: TaskConfig


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """A table that can be run."""

    name: str
    title: str
    rows: tuple[TableRow, ...]
    columns: tuple[Column, ...]
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
        """Of the recipe."""
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


def _cloned(label: str, walks: str, **more: Any) -> tuple[TableRow, TableRow]:
    """The paper's row by the plain argmax, and the same policy where it never goes to a page twice."""
    row = TableRow(label=label, paper=label, walks=walks, revisit=True, **more)
    return row, replace(row, label=f"{label} (never revisit)", paper=None, revisit=False)


def _rewarded(label: str, walks: str | None = None, **more: Any) -> tuple[TableRow, TableRow]:
    """The same for a policy that learns from reward, after it was cloned from walks or from nothing."""
    row = TableRow(label=label, paper=label, walks=walks, reward=True, revisit=True, **more)
    return row, replace(row, label=f"{label} (never revisit)", paper=None, revisit=False)


def _columns(kinds: Sequence[tuple[str, TaskConfig]]) -> tuple[Column, ...]:
    return tuple(Column(label=label, place=i, task=task) for i, (label, task) in enumerate(kinds))


_HONEST = TableRow(label=REFERENCE, baseline=REFERENCE, sentence=True)
_NAVIGATION = [(str(t), TaskConfig(task="navigation", steps=t)) for t in (5, 10, 20)]

TABLE1 = PaperTable(
    name="table1",
    title="Trajectory distributions: success % on the unseen half",
    rows=(
        *_cloned("Forward", "forward"),
        *_cloned("Reverse", "reverse"),
        *_cloned("Shortest path", "shortest"),
        _HONEST,
    ),
    columns=_columns(
        [(f"forward {label}", task) for label, task in _NAVIGATION]
        + [(f"reverse {label}", replace(task, sampling="reverse")) for label, task in _NAVIGATION]
    ),
    figures=paper.TABLE1,
)

TABLE2 = PaperTable(
    name="table2",
    title="Navigation and sentence search: success % on the unseen half",
    rows=(
        *_cloned("RFBC", "forward", sentence=True),
        *_rewarded("RL", sentence=True),
        *_rewarded("RFBC + RL", "forward"),
        *_cloned("RFBC + RF", "forward", random_features=True),
        *_rewarded("RL + RF", random_features=True),
        TableRow(label="Random", paper="Random", baseline="random"),
        TableRow(label="Greedy", paper="Greedy", baseline="greedy"),
        TableRow(label="Random DFS", paper="Random DFS", baseline="random-dfs"),
        TableRow(label="Greedy DFS", paper="Greedy DFS", baseline="greedy-dfs"),
        _HONEST,
    ),
    columns=_columns(
        [*_NAVIGATION, ("multistep", TaskConfig(task="multistep", steps=MULTISTEP))]
        + [(f"sentence {label}", replace(task, task="sentence")) for label, task in _NAVIGATION]
    ),
    figures=paper.TABLE2,
)

_FAR = [(str(t), TaskConfig(task="navigation", steps=t)) for t in (5, 10, WEBNAV, 20)]

TABLE4 = PaperTable(
    name="table4",
    title="Fixed and trained embeddings: success % on a wiki that was not trained on",
    rows=(
        *_cloned("RoBERTa + Feed-forward", "forward", sentence=True),
        *_cloned("RoBERTa + Transformer", "forward", sentence=True, recipe="paper-transformer"),
        *_cloned("Embed train + Feed-forward", "forward", sentence=True, trained=True),
        *_cloned(
            "Embed train + Transformer", "forward", sentence=True, trained=True, recipe="paper-transformer"
        ),
        TableRow(label="Embed train + its own policy", spans=True, sentence=True),
        TableRow(label="WebNav", paper="WebNav", quoted=True),
        _HONEST,
    ),
    columns=_columns(
        [*_FAR, *((f"sentence {label}", replace(task, task="sentence")) for label, task in _FAR)]
    ),
    figures=paper.TABLE4,
)

TABLE7 = PaperTable(
    name="table7",
    title="Cost, and success % at 5 steps on the unseen half",
    rows=(
        *_cloned("RFBC", "forward"),
        *_cloned("Backwards BC", "reverse"),
        *_cloned("Shortest path BC", "shortest"),
        *_rewarded("RL"),
        TableRow(label="Random", paper="Random", baseline="random"),
        TableRow(label="Greedy", paper="Greedy", baseline="greedy"),
        TableRow(label="Random DFS", paper="Random DFS", baseline="random-dfs"),
        TableRow(label="Greedy DFS", paper="Greedy DFS", baseline="greedy-dfs"),
        _HONEST,
    ),
    columns=_columns(_NAVIGATION[:1]),
    figures={name: (success,) for name, (_, _, success) in paper.TABLE7.items()},
)

TABLES = {table.name: table for table in (TABLE1, TABLE2, TABLE4, TABLE7)}


def choose_rows(table: PaperTable, names: Sequence[str]) -> PaperTable:
    """The table with some of its rows; "forward" takes "Forward" and "Forward (never revisit)"."""
    wanted = [name.strip().lower() for name in names]

    def takes(name: str, row: TableRow) -> bool:
        return row.label.lower() == name or row.label.lower().startswith(f"{name} (")

    for name in wanted:
        if not any(takes(name, row) for row in table.rows):
            labels = ", ".join(row.label for row in table.rows)
            raise InputError(f"{table.name} has no row {name!r}: its rows are {labels}")
    rows = tuple(row for row in table.rows if not wanted or any(takes(name, row) for name in wanted))
    return replace(table, rows=rows)


def contender(row: TableRow, column: Column, size: Size) -> Contender:
    """Who walks a cell."""
    if row.baseline is not None:
        return Contender(baseline=row.baseline)
    if row.spans:
        return Contender(trained=True, spans=True)
    multistep, steps = column.task.task == "multistep", column.task.steps
    settings = (
        f"walks={row.walks}",
        f"steps={MULTISTEP if steps == WEBNAV else steps}",
        f"multistep={str(multistep).lower()}",
        *size.settings(),
        *(size.transformer if row.recipe == "paper-transformer" else ()),
    )
    return Contender(
        recipe=row.recipe,
        settings=settings,
        random_features=row.random_features,
        revisit=row.revisit,
        trained=row.trained,
    )


def contenders(row: TableRow, column: Column, size: Size) -> list[Contender]:
    """Of whom the best walks a cell: all settings of a sweep where reward is learned from, else one."""
    one = contender(replace(row, reward=False), column, size) if row.walks or not row.reward else None
    if not row.reward:
        assert one is not None
        return [one]
    updates = None if size.updates is None else max(1, size.updates // (5 if row.walks else 1))
    settings = (
        f"steps={column.task.steps}",
        f"multistep={str(column.task.task == 'multistep').lower()}",
        *size.reward,
        *replace(size, updates=updates, batch=None).settings(),
    )
    return [
        Contender(
            recipe="rl-fine-tune" if row.walks else "rl",
            settings=(*settings, *tried),
            random_features=row.random_features,
            revisit=row.revisit,
            begins=one and replace(one, revisit=False),
        )
        for tried in size.sweep
    ]


def _best(many: Sequence[Contender], cells: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """The best of some contenders' cells, and what the others reached."""
    found = [next(cells) for _ in many]
    best = max(found, key=lambda cell: cell["success"])
    if not many[0].recipe.startswith("rl"):
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
    column: Column
    paper: float | None
    """In percent."""
    ours: dict[str, Any] | None
    """As ``linkwalk eval --json`` has it, with policy, updates and times; None: still to come."""

    def to_json(self) -> dict[str, Any]:
        """As ``linkwalk reproduce --json`` prints it."""
        task = self.column.task
        where = {
            "column": self.column.label,
            "task": task.task,
            "steps": task.steps,
            "sampling": task.sampling,
        }
        return (
            where
            | {"paper": None if self.paper is None else self.paper / 100}
            | (self.ours or {"success": None})
        )


def run_table(runner: Runner, table: PaperTable, size: Size) -> list[list[Cell]]:
    """Run a table column by column, what is known coming from the journal; returns its rows."""
    ours: dict[tuple[TableRow, Column], dict[str, Any]] = {}
    for column in table.columns:
        search = column.task.task == "sentence"
        if search and not runner.reads:
            continue
        running = [
            row
            for row in table.rows
            if not (row.quoted or (row.spans and runner.trained_name)) and (row.sentence or not search)
        ]
        task = replace(column.task, episodes=size.episodes, seed=size.seed)
        tried = [contenders(row, column, size) for row in running]
        cells = iter(runner.measure(task, [one for many in tried for one in many]))
        ours |= {(row, column): _best(many, cells) for row, many in zip(running, tried, strict=True)}
    return [
        [
            Cell(
                row=row,
                column=column,
                paper=None if row.paper is None else table.figures[row.paper][column.place],
                ours=ours.get((row, column)),
            )
            for column in table.columns
        ]
        for row in table.rows
    ]
