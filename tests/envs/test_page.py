"""What docs/environment.md shows runs as it stands there."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "environment.md"


def test_the_programs_of_the_page_run(random_world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    programs = re.findall("```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(programs) == 3
    known: dict[str, object] = {}
    for program in programs:
        here = program.replace("out/demo", str(random_world)).replace("16384", "8").replace("cuda", "cpu")
        exec(here, known)
    assert capsys.readouterr().out.startswith("goal  ")
