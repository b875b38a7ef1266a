"""A picture of agents beside people: clicks and success by the length of the shortest path, and who won."""

from collections.abc import Sequence
from pathlib import Path

from linkwalk.games.scores import GameScores, People
from linkwalk.graph.plots import FILL, INK, MARK, blank_figure, save_figure

_COLOURS = (FILL, MARK, "#6b9a5b", "#8d6cab", "#b08b3e", "#5d6b78")
_FEW = 10
"""Games below which a point says nothing."""


def plot_games(found: People, results: Sequence[GameScores], snapshot: str, path: Path) -> Path:
    """Draw clicks by distance on the left, wins, ties and losses on the right."""
    figure, (clicks, outcomes) = blank_figure(f"{snapshot}: {found.games:,} games of people", 2)
    shown = [at for at in found.by_distance if at.games >= _FEW]
    distances = [at.distance for at in shown]
    clicks.plot(distances, distances, ":", color=INK, linewidth=1.2, label="shortest path")
    people = [at.mean_clicks for at in shown]
    clicks.plot(distances, people, "o--", color=INK, linewidth=1.6, label="people")
    for result, colour in zip(results, _COLOURS, strict=False):
        own = {at.distance: at.mean_clicks for at in result.by_distance if at.mean_clicks is not None}
        at = [distance for distance in distances if distance in own]
        clicks.plot(at, [own[d] for d in at], "o-", color=colour, linewidth=1.6, label=result.agent)
    clicks.set(xlabel="Links of the shortest path", ylabel="Mean clicks of games that arrived")
    clicks.set_title("Clicks by distance", loc="left")
    clicks.set_xticks(distances)
    clicks.legend(frameon=False, fontsize=9)
    rows = range(len(results))
    left = [0.0] * len(results)
    for name, colour in (("wins", FILL), ("ties", "#b9cfe2"), ("losses", MARK)):
        shares = [100 * getattr(result, name) for result in results]
        outcomes.barh(rows, shares, left=left, color=colour, label=name, height=0.6)
        for row, share in zip(rows, shares, strict=True):
            if share >= 4:
                outcomes.text(
                    left[row] + share / 2, row, f"{share:.0f}", ha="center", va="center", fontsize=9
                )
        left = [a + b for a, b in zip(left, shares, strict=True)]
    outcomes.set_yticks(rows, [result.agent for result in results])
    outcomes.invert_yaxis()
    outcomes.set(xlabel="% of the games", xlim=(0, 100))
    outcomes.set_title("Against the person who played", loc="left")
    outcomes.legend(frameon=False, fontsize=9, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return save_figure(figure, path)
