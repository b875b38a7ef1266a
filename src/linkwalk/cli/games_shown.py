"""What ``linkwalk games`` prints for people."""

from typing import TYPE_CHECKING, Any

from linkwalk.cli.output import print_columns

if TYPE_CHECKING:
    from linkwalk.games.archive import Archive
    from linkwalk.games.checked import RunScores
    from linkwalk.games.scores import GameScores, People

_SHOWN = 5
"""Of what was set aside."""


def told(read: "Archive") -> dict[str, Any]:
    """What was read, and what was set aside."""
    return {
        "articles": read.board.nodes,
        "links": len(read.board.forward.indices),
        "finished": len(read.finished),
        "unfinished": len(read.unfinished),
        "start_is_goal": read.trivial,
        "unknown_articles": dict(read.unknown.most_common()),
        "games_with_unknown_articles": read.lost,
        "bad_lines": len(read.bad),
        "first_bad_lines": [bad._asdict() for bad in read.bad[:_SHOWN]],
    }


def print_read(read: "Archive", untold: int) -> None:
    """The same for people."""
    board = read.board
    print(
        f"{board.snapshot}: {board.nodes:,} articles, {len(board.forward.indices):,} links, {len(read.finished):,} "
        f"finished games, {len(read.unfinished):,} given up"
    )
    notes = [f"{untold} articles are known by their title alone"] if untold else []
    if read.lost:
        named = ", ".join(f"{name} ({count})" for name, count in read.unknown.most_common(_SHOWN))
        more = ", ..." if len(read.unknown) > _SHOWN else ""
        notes.append(f"{read.lost} games name articles that the archive does not have: {named}{more}")
    if read.bad:
        where = ", ".join(f"{bad.file}:{bad.line} ({bad.reason})" for bad in read.bad[:_SHOWN])
        notes.append(f"{len(read.bad)} lines could not be read: {where}{', ...' * (len(read.bad) > _SHOWN)}")
    if read.trivial:
        notes.append(f"{read.trivial} games whose start is the goal are left out")
    for note in notes:
        print(f"  {note}")


def print_games(found: "People", results: "list[GameScores]") -> None:
    """Agents beside people, all games together and by distance."""
    print(f"\n{found.games:,} games on {found.pairs:,} pairs: people {found.human_mean:.2f} clicks, ", end="")
    print(f"shortest paths {found.optimal_mean:.2f}", end="")
    if found.human_success is not None:
        print(f"; people arrived in {100 * found.human_success:.1f} % of all they began", end="")
    print("\n")
    rows: list[tuple[str, ...]] = [
        ("", "arrived %", "clicks", "wins %", "ties %", "losses %", "wins or ties %", "loops %", "ms a game")
    ]
    for result in results:
        rows.append(
            (
                result.agent,
                f"{100 * result.success_30:.1f}",
                _number(result.mean_clicks),
                *(
                    f"{100 * getattr(result, name):.1f}"
                    for name in ("wins", "ties", "losses", "wins_or_ties")
                ),
                f"{100 * result.loops:.1f}",
                f"{result.ms_a_game:.2f}",
            )
        )
    print_columns(rows)
    print("\nby links of the shortest path: arrived %, clicks, wins or ties %\n")
    distances = [at.distance for at in found.by_distance]
    rows = [("", *map(str, distances)), ("games", *(f"{at.games:,}" for at in found.by_distance))]
    people = [f"{_percent(at.success)} {at.mean_clicks:.2f}" for at in found.by_distance]
    rows.append(("people", *people))
    for result in results:
        own = (
            f"{100 * at.success_30:.1f} {_number(at.mean_clicks)} {100 * at.wins_or_ties:.1f}"
            for at in result.by_distance
        )
        rows.append((result.agent, *own))
    print_columns(rows)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def print_scores_of_runs(results: "list[RunScores]") -> None:
    """A line for every player."""
    rows: list[tuple[str, ...]] = [
        ("", "runs", "success %", "", "clicks", "distance", "SPL %", "loops %", "seconds a run")
    ]
    for one in results:
        low, high = one.success_ci95
        rows.append(
            (
                one.agent,
                f"{one.runs:,}",
                f"{100 * one.success:.1f}",
                f"{100 * low:.1f}-{100 * high:.1f}",
                _number(one.mean_clicks),
                _number(one.mean_distance),
                f"{100 * one.spl:.1f}",
                f"{100 * one.loops:.1f}",
                "-" if one.seconds is None else f"{one.seconds:.3g}",
            )
        )
    print_columns(rows)
    if any(one.by_difficulty for one in results):
        levels = [some.difficulty for some in results[0].by_difficulty]
        print("\nsuccess % by difficulty\n")
        rows = [("", *levels)]
        rows += [(one.agent, *(f"{100 * some.success:.1f}" for some in one.by_difficulty)) for one in results]
        print_columns(rows)
