import tarfile
from pathlib import Path

import pytest

from linkwalk.errors import InputError
from linkwalk.games.archive import read_archive
from tests.games.conftest import FINISHED, WriteArchive


def test_an_archive_is_read_from_a_folder_and_from_a_tar(write_archive: WriteArchive, tmp_path: Path) -> None:
    folder = write_archive()
    packed = tmp_path / "games.tar.xz"
    with tarfile.open(packed, "w:xz") as tar:
        tar.add(folder, "x")
    for archive in (read_archive(folder), read_archive(packed)):
        board = archive.board
        assert board.names[3:] == ("Déjà vu", "Elk", "Star Trek Voyager")
        assert [board.name(node) for node in board.forward.row(board.find("Cat_(animal)"))] == [
            "Bee",
            "Déjà vu",
        ]
        assert (len(archive.finished), len(archive.unfinished)) == (3, 1)
    assert read_archive(folder).board.fingerprint == read_archive(packed).board.fingerprint


def test_back_clicks_are_undone_and_counted(write_archive: WriteArchive) -> None:
    archive = read_archive(write_archive())
    game = archive.finished[1]
    assert [archive.board.name(node) for node in game.path] == ["Ant", "Cat (animal)", "Déjà vu", "Elk"]
    assert (game.links, game.clicks, game.seconds) == (3, 5, 25.0)
    (given_up,) = archive.unfinished
    assert archive.board.name(given_up.goal) == "Elk"


def test_every_layout_of_finished_games(write_archive: WriteArchive) -> None:
    heading = "path_id\thashedIpAddress\ttimestamp\tdurationInSec\tpath\trating"
    write_archive((heading, "0\taa\t12\t15\tAnt;Bee;Elk\t1.0"), name="paths_finished_unique.tsv")
    folder = write_archive()
    assert len(read_archive(folder).finished) == 3
    write_archive(("# remarks", "Ant;Bee;Elk", "Bee;Elk"), name="paths_finished_all.tsv")
    archive = read_archive(folder)
    assert [game.seconds for game in archive.finished] == [None, None]


def test_what_cannot_be_used_is_counted(write_archive: WriteArchive) -> None:
    more = (
        "no columns\tat all",
        "ae\t1\tsoon\tAnt;Bee\tNULL",
        "af\t1\t2\t<;Bee\tNULL",
        "ag\t1\t2\tAnt\tNULL",
    )
    unknown = ("ah\t1\t2\tAnt;Yeti\tNULL",)
    archive = read_archive(write_archive((*FINISHED, *more, *unknown), ("ai\t1\t2\tAnt\tYeti\trestart",)))
    assert [bad.line for bad in archive.bad] == [4, 5, 6]
    assert archive.bad[0].reason == "2 columns instead of 1, 5 or 6"
    assert (archive.trivial, archive.lost, archive.unknown) == (1, 2, {"Yeti": 2})
    assert len(archive.games) == 3


def test_an_archive_without_games_is_refused(write_archive: WriteArchive, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no game .*line 1, 2 columns"):
        read_archive(write_archive(("a\tb",), ()))
    with pytest.raises(InputError, match=r"no archive of games: it has no articles.tsv"):
        read_archive(Path(__file__).parent)
    (write_archive() / "wikispeedia" / "links.tsv").write_text("# none\n")
    with pytest.raises(InputError, match="has no link"):
        read_archive(tmp_path / "archive")
    with pytest.raises(InputError, match="no such file"):
        read_archive(tmp_path / "nothing")
    (tmp_path / "x.tar").write_bytes(b"no tar")
    with pytest.raises(InputError, match="cannot read"):
        read_archive(tmp_path / "x.tar")
