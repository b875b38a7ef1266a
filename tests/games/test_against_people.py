from pathlib import Path

import numpy as np
import pytest

from linkwalk.games.against_people import PlayedPairs, part_of, sample, score_games, score_people
from linkwalk.games.archive import Board, read_archive
from linkwalk.games.play import AgentGames, end_at_the_link
from linkwalk.navigate import Episodes, open_baseline
from tests.games.conftest import WriteArchive

SHARED = Path(__file__).parents[3] / "shared" / "data" / "wikispeedia-games.tar.xz"


def test_a_player_clicks_the_goal_where_it_sees_it() -> None:
    board = Board.of(["a", "b", "c", "d"], [(0, 1), (1, 2), (1, 3), (2, 1), (3, 0)], "ring")
    episodes = Episodes.of([0, 0, 0], [2, 1, 3])
    vectors = np.eye(4, dtype=np.float32)[:, :2]  # d looks like nothing at all
    journeys = open_baseline("greedy-unvisited", board.forward, vectors).run(episodes, budget=9)
    end_at_the_link(board, episodes, journeys)
    assert journeys.success.all()
    assert [journeys.path(at).tolist() for at in range(3)] == [[0, 1, 2], [0, 1], [0, 1, 3]]
    assert journeys.choices[0].tolist() == [0, 0, *[-2] * 7]
    assert journeys.choices[2].tolist() == [0, 1, *[-2] * 7]


def test_wins_ties_and_losses_by_hand(write_archive: WriteArchive) -> None:
    archive = read_archive(write_archive())
    finished, unfinished = part_of(archive, "all")
    pairs = PlayedPairs.of(archive.board, finished, unfinished)
    assert len(pairs.starts) == 2  # Ant to Elk, Bee to Elk
    assert pairs.distances[pairs.finished].tolist() == [2, 2, 1]
    vectors = np.eye(6, dtype=np.float32)
    vectors[1, 4] = 0.5  # Bee is a little like Elk
    agent = open_baseline("greedy-unvisited", archive.board.forward, vectors)
    done = AgentGames("greedy", agent.run(pairs.episodes(), budget=30), 1.0)
    found = score_games(done, pairs)
    assert (found.success_30, found.mean_clicks) == (1, pytest.approx(5 / 3))
    assert (found.wins, found.ties, found.losses) == pytest.approx((1 / 3, 2 / 3, 0))
    assert (found.with_unfinished, found.with_back_clicks, found.pairs_wins_or_ties) == (1, 1, 1)
    assert [(at.distance, at.games, at.wins) for at in found.by_distance] == [(1, 1, 0), (2, 2, 0.5)]
    told = score_people(pairs, 30)
    assert (told.human_mean, told.optimal_mean, told.human_success) == pytest.approx((2, 5 / 3, 3 / 4))
    assert told.human_mean_with_back == pytest.approx(8 / 3)
    slow = done._replace(journeys=done.journeys._replace(steps=np.array([3, 2], np.int32)))
    found = score_games(slow, pairs)
    assert (found.wins_or_ties, found.pairs_wins_or_ties) == pytest.approx((1 / 3, 1 / 4))
    lost = done._replace(journeys=done.journeys._replace(success=np.zeros(2, np.bool_)))
    assert score_games(lost, pairs).losses == 1
    assert score_games(lost, pairs).with_unfinished == 0


def test_parts_are_apart_and_samples_repeat(write_archive: WriteArchive) -> None:
    archive = read_archive(write_archive())
    tuned, kept = part_of(archive, "tuned")[0], part_of(archive, "kept")[0]
    assert sorted([*tuned, *kept]) == sorted(archive.finished)
    assert not {game[:2] for game in tuned} & {game[:2] for game in kept}
    assert sample(range(100), 7, 3) == sample(range(100), 7, 3)  # type: ignore[arg-type,comparison-overlap]
    assert len(sample(archive.finished, 9, 0)) == 3


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/data/wikispeedia-games.tar.xz")
@pytest.mark.slow
def test_people_as_the_study_counted_them() -> None:
    archive = read_archive(SHARED)
    assert (archive.board.nodes, len(archive.board.forward.indices)) == (4604, 119882)
    assert (len(archive.finished), archive.trivial, len(archive.bad)) == (51301, 11, 0)
    pairs = PlayedPairs.of(archive.board, archive.finished, [])
    told = score_people(pairs, 30)
    assert (told.human_mean, told.optimal_mean) == pytest.approx((4.949, 2.846), abs=0.001)
