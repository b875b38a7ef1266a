"""Names of one's own parts: what they may look like, and what is said where there is nothing."""

from pathlib import Path

import pytest

from linkwalk.errors import InputError
from linkwalk.parts import import_part, is_part


@pytest.mark.parametrize("name", ["mine:Agent", "a.b.c:Name", "a:B.c"])
def test_what_names_a_part(name: str) -> None:
    assert is_part(name)


@pytest.mark.parametrize(
    "name", ["compass", "C:\\policies\\mine", "a:", ":b", "../a:b", "a b:c", "a:b-c", "", None, 3]
)
def test_what_does_not(name: object) -> None:
    assert not is_part(name)


def test_a_module_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_part_of_a_test.py").write_text("class Outer:\n    inner = 5\n")
    monkeypatch.chdir(tmp_path)
    assert import_part("own_part_of_a_test:Outer.inner", "number") == 5


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no_such_module_here:Name", "no module named 'no_such_module_here', so no agent"),
        ("json:NoSuchName", "json has no NoSuchName"),
        ("plain", "write package.module:Name"),
    ],
)
def test_one_line_where_there_is_nothing(name: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        import_part(name, "agent")


def test_a_module_that_misses_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "part_that_misses.py").write_text("import something_nobody_has\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="part_that_misses needs something_nobody_has"):
        import_part("part_that_misses:Name", "agent")
