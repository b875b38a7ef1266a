"""A tiny archive of games, written as Wikispeedia's files are."""

from collections.abc import Callable
from pathlib import Path

import pytest

ARTICLES = ("Ant", "Bee", "Cat_(animal)", "D%C3%A9j%C3%A0_vu", "Elk", "Star_Trek__Voyager")
LINKS = (
    ("Ant", "Bee"),
    ("Ant", "Cat_(animal)"),
    ("Bee", "Cat_(animal)"),
    ("Cat_(animal)", "D%C3%A9j%C3%A0_vu"),
    ("Cat_(animal)", "Bee"),
    ("D%C3%A9j%C3%A0_vu", "Elk"),
    ("Bee", "Elk"),
    ("Elk", "Star_Trek__Voyager"),
)
FINISHED = (
    "aa\t1227628729\t15\tAnt;Bee;Elk\t1.0",
    "ab\t1227628730\t25\tAnt;Bee;<;Cat_(animal);D%C3%A9j%C3%A0_vu;Elk\tNULL",
    "ac\t1227628731\t5\tBee;Elk\tNULL",
)
UNFINISHED = ("ad\t1297054935\t1804\tAnt;Cat_(animal)\tElk\ttimeout",)

WriteArchive = Callable[..., Path]


@pytest.fixture
def write_archive(tmp_path: Path) -> WriteArchive:
    def write(
        finished: tuple[str, ...] = FINISHED,
        unfinished: tuple[str, ...] = UNFINISHED,
        name: str = "paths_finished.tsv",
    ) -> Path:
        folder = tmp_path / "archive" / "wikispeedia"
        folder.mkdir(parents=True, exist_ok=True)
        files = {
            "articles.tsv": ("# FORMAT: article", "", *ARTICLES),
            "links.tsv": ("# FORMAT: linkSource linkTarget", *("\t".join(link) for link in LINKS)),
            name: finished,
            "paths_unfinished.tsv": unfinished,
        }
        for file, lines in files.items():
            (folder / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return folder.parent

    return write
