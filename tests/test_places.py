"""Places of artefacts: cleared, taken while they are read, and written by libraries that fail."""

from pathlib import Path

import pytest

from linkwalk.artifact import clear, publish, seal, steady, writing
from linkwalk.errors import DamagedError, LinkwalkError


def test_whatever_lies_there_is_cleared(tmp_path: Path) -> None:
    kept, path = tmp_path / "kept", tmp_path / "place"
    kept.mkdir()
    (kept / "file").write_text("of somebody else")
    for make in (
        lambda: path.symlink_to(kept),
        lambda: path.symlink_to(tmp_path / "nowhere"),
        lambda: path.write_text("x"),
        lambda: (path / "a" / "b").mkdir(parents=True),
        lambda: None,
    ):
        make()
        clear(path)
        assert [one.name for one in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").exists()


def put(folder: Path, text: str) -> None:
    new = folder.with_name("new")
    new.mkdir()
    for name in ("a", "b"):
        (new / name).write_text(text)
    seal(new, {"artifact": "test", "text": text})
    publish(new, folder)


@pytest.mark.parametrize("fails", [True, False])
def test_what_is_replaced_while_it_is_opened_is_opened_again(tmp_path: Path, fails: bool) -> None:
    folder, opened = tmp_path / "it", []
    put(folder, "old")

    def opening() -> str:
        first = (folder / "a").read_text()
        if not opened:
            put(folder, "new")
        opened.append(first + (folder / "b").read_text())
        if fails and opened[-1] == "oldnew":
            raise DamagedError(folder / "b", "it is not of the same artefact", "make it again")
        return opened[-1]

    assert steady(folder, opening) == "newnew"
    assert opened == ["oldnew", "newnew"]


def test_what_is_damaged_is_opened_once(tmp_path: Path) -> None:
    opened = []

    def opening() -> None:
        opened.append(1)
        raise DamagedError(tmp_path / "a", "it is empty", "make it again")

    for _ in range(2):  # nothing there, then something
        with pytest.raises(DamagedError):
            steady(tmp_path / "it", opening)
        put(tmp_path / "it", "text")
        opened.append(0)
    assert opened == [1, 0, 1, 0]


def test_a_library_that_cannot_write_is_one_line(tmp_path: Path) -> None:
    line = r"it cannot be written \(RuntimeError: no room\): "
    with pytest.raises(LinkwalkError, match=line) as said, writing(tmp_path / "it"):
        raise RuntimeError("no room\nat all")
    assert len(str(said.value).splitlines()) == 1
    for error in (OSError(28, "no space left"), KeyboardInterrupt(), LinkwalkError("a line of its own")):
        with pytest.raises(type(error)) as same, writing(tmp_path):
            raise error
        assert same.value is error
