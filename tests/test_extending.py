"""The files of docs/extending.md, written down and run as a reader would."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
LONGEST = 40


def files() -> dict[str, str]:
    """The Python files of the page, each under its name: the comment in its first line."""
    blocks = re.findall(
        r"^```python\n# (\w+\.py)\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return {name: f"# {name}\n{text}" for name, text in blocks}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with all of them, which one is in."""
    known = set(sys.modules)
    for name, text in files().items():
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - known:  # the next test writes its own
        if name in {Path(file).stem for file in files()}:
            del sys.modules[name]


@pytest.mark.parametrize("name", files())
def test_a_part_is_one_short_file(name: str) -> None:
    assert len(files()[name].splitlines()) < LONGEST
