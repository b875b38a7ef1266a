"""The pages say what the program does."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def make_cli() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_cli", ROOT / "docs" / "make_cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_command_line_is_fresh(make_cli: ModuleType) -> None:
    fresh = make_cli.PAGE.read_text(encoding="utf-8") == make_cli.render()
    assert fresh, "docs/cli.md is stale: run `.venv/bin/python docs/make_cli.py`"


def test_every_verb_and_option_is_explained(make_cli: ModuleType) -> None:
    sections = dict(re.findall(r"## `(.*?)`\n\n```text\n(.*?)\n```", make_cli.PAGE.read_text(), re.DOTALL))
    found = 0
    for name, command, context in make_cli.verbs():
        for parameter in command.get_params(context):
            if getattr(parameter, "hidden", False):  # of an earlier version: it says what to give instead
                continue
            assert getattr(parameter, "help", None), f"{name}: {parameter.name} has no help"
            for option in parameter.opts if parameter.param_type_name == "option" else []:
                assert option in sections[name], f"{name} {option} is not in docs/cli.md"
                found += 1
    assert found > 20


def test_every_verb_shows_an_example(make_cli: ModuleType) -> None:
    for name, command, _ in make_cli.verbs():
        if name != "linkwalk" and not getattr(command, "commands", None):
            assert f"Example: {name} " in (command.help or ""), name
