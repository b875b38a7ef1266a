"""Tables as lines of cells, for a terminal or for Markdown."""

from collections.abc import Sequence

from linkwalk.evaluate import paper
from linkwalk.evaluate.bound import Bound
from linkwalk.learn.rewards.impala import ImpalaConfig
from linkwalk.reproduce.runner import Contender, Runner
from linkwalk.reproduce.tables import Cell, PaperTable, Size

Line = tuple[str, ...]


def table_lines(cells: Sequence[Sequence[Cell]]) -> list[Line]:
    """The paper's figures | ours."""
    head = ("", *(cell.column.label for cell in cells[0]))
    return [head, *((line[0].row.label, *(_beside(cell) for cell in line)) for line in cells)]


def cost_lines(cells: Sequence[Sequence[Cell]]) -> list[Line]:
    """Table 7: the paper's asymptotic costs, and what a step and an update took us."""
    lines: list[Line] = [("", "cost, O()", "scales", "success %", "ms an update", "us a step")]
    for (cell,) in cells:
        cost, scales, _ = paper.TABLE7[cell.row.paper] if cell.row.paper else ("", "", 0)
        ours = cell.ours or {}
        update = 1e3 * ours["training_seconds"] / ours["updates"] if "updates" in ours else None
        step = 1e6 * ours["seconds"] / ours["agent_steps"] if ours.get("agent_steps") else None
        lines.append((cell.row.label, cost, scales, _beside(cell), _number(update, 2), _number(step, 2)))
    return lines


def bound_lines(found: dict[str, list[Bound]]) -> list[Line]:
    """A policy a line, a trajectory distribution a column: the bound in nats, and its standard error."""
    head = ("policy", *(f"q = {one.distribution}" for one in next(iter(found.values()))))
    rows = (
        (name, *(f"{b.bound:.2f} ± {b.standard_error:.2f}" for b in bounds)) for name, bounds in found.items()
    )
    return [head, *rows]


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
    if any(column.task.sampling == "reverse" for column in table.columns):
        lines.append('"reverse": the goal is drawn uniformly and the start walked back to.')
    if any(column.task.task == "sentence" for column in table.columns):
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


def markdown(lines: Sequence[Line]) -> str:
    """Lines of cells as a table; the first is the head."""
    head, *rest = [[cell.replace(" | ", " / ") for cell in line] for line in lines]
    rows = [head, ["---", *("---:" for _ in head[1:])], *rest]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _beside(cell: Cell) -> str:
    if cell.ours is not None:
        return f"{_number(cell.paper, 1)} | {100 * cell.ours['success']:.1f}"
    if cell.paper is None:
        return "-"
    return f"{_number(cell.paper, 1)} | -"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
