"""docs/reading.md names files, functions and folders that are there, in an order that can be followed."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "linkwalk"
PAGE = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8")
STEPS = re.compile(r"^\d+\. `([\w/]+\.py):([\w.]+)`", re.MULTILINE)
PATHS = {
    part.partition("\n")[0]: STEPS.findall(part)
    for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)
    if STEPS.search(part)
}


def defined(tree: ast.AST, name: str) -> bool:
    """Whether a module, or a class in it, defines a dotted name."""
    first, _, rest = name.partition(".")
    found = [n for n in getattr(tree, "body", []) if getattr(n, "name", None) == first]
    return bool(found) and (not rest or any(defined(one, rest) for one in found))


def test_there_are_three_paths() -> None:
    assert [len(steps) > 3 for steps in PATHS.values()] == [True] * 3


@pytest.mark.parametrize("path", PATHS)
def test_every_step_is_there(path: str) -> None:
    for file, name in PATHS[path]:
        assert defined(ast.parse((PACKAGE / file).read_text(encoding="utf-8")), name), f"{file}:{name}"


@pytest.mark.parametrize("path", PATHS)
def test_no_path_comes_back_to_a_folder_it_has_left(path: str) -> None:
    folders = [file.partition("/")[0] for file, _ in PATHS[path]]
    visits = [folder for at, folder in enumerate(folders) if not at or folders[at - 1] != folder]
    assert len(visits) == len(set(visits)), visits


def test_it_takes_an_afternoon() -> None:
    files = {file for steps in PATHS.values() for file, _ in steps}
    lines = sum(len((PACKAGE / file).read_text(encoding="utf-8").splitlines()) for file in files)
    assert len(files) <= 34
    assert lines <= 6800


def test_every_file_it_names_is_there() -> None:
    for name in re.findall(r"`([\w/]+(?:\.py|/))`", PAGE):
        assert (PACKAGE / name).exists() or (ROOT / name).exists(), name


def test_every_folder_is_told_of() -> None:
    told = re.findall(r"^\| `(\w+)/` \|", PAGE, re.MULTILINE)
    assert sorted(told) == sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
