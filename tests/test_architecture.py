"""Who may import whom. A rule that matters is a test."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "linkwalk"
LAYERS = [
    {
        "arrays",
        "errors",
        "artifact",
        "compiled",
        "device",
        "parts",
        "progress",
        "records",
        "scripts",
        "settings",
    },
    {"graph"},
    {"sources", "embed", "walks"},
    {"build", "policy"},
    {"navigate"},
    {"gpu"},
    {"evaluate"},
    {"envs"},
    {"retrieve"},
    {"learn"},
    {"downstream"},
    {"recipes"},
    {"reproduce"},
    {"shipped"},
    {"wiki"},
    {"trainings"},
    {"games"},
    {"serve"},
    {"adapters"},
    {"cli"},
]
LAYER = {part: number for number, parts in enumerate(LAYERS) for part in parts}
FILES = sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    """Which part of the package a file belongs to."""
    relative = path.relative_to(PACKAGE)
    if relative.name == "__main__.py" and len(relative.parts) == 1:
        return "cli"
    return relative.parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every module a file imports, wherever in it, as (line, full name); for ``from a import b`` also ``a.b``."""
    package = ["linkwalk", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield node.lineno, name
            for alias in node.names:
                yield node.lineno, f"{name}.{alias.name}"


def own_imports(path: Path) -> Iterator[tuple[int, str]]:
    """Parts of the package that a file imports."""
    for line, name in imports(path):
        words = name.split(".")
        if words[0] == "linkwalk" and len(words) > 1 and not words[1].startswith("__"):
            yield line, words[1]


def problems(path: Path) -> list[str]:
    part, found = part_of(path), []
    for line, other in own_imports(path):
        allowed = other == part or (other in LAYER and LAYER[other] < LAYER[part])
        if other in ("errors", "arrays") and LAYER[part] == 0:
            allowed = True
        if not allowed:
            found.append(f"{path.relative_to(PACKAGE.parent)}:{line}: {part} imports {other}")
    return found


def test_every_part_has_its_layer() -> None:
    parts = {part_of(path) for path in FILES} - {"__init__"}
    assert parts <= set(LAYER), "say in LAYERS where the new part belongs"


def test_imports_go_down() -> None:
    found = [problem for path in FILES if part_of(path) in LAYER for problem in problems(path)]
    assert found == []


def test_the_rule_sees_imports_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path / "linkwalk")
    (tmp_path / "linkwalk" / "graph").mkdir(parents=True)
    path = tmp_path / "linkwalk" / "graph" / "bad.py"
    path.write_text(
        "from linkwalk.errors import InputError\n"
        "def f():\n    from linkwalk.sources.site import Site\n"
        "from linkwalk import embed\nimport linkwalk.cli.app\nfrom . import csr\nfrom ..walks import x\n"
    )
    assert {problem.rpartition(" ")[2] for problem in problems(path)} == {"sources", "embed", "cli", "walks"}


def third_party(path: Path) -> set[str]:
    names = {name.split(".")[0] for _, name in imports(path)}
    return names - set(sys.stdlib_module_names) - {"linkwalk", ""}


def test_the_graph_needs_little() -> None:
    allowed = {"numpy", "numba", "matplotlib", "rapidfuzz", "typing_extensions"}
    for path in FILES:
        if part_of(path) == "graph":
            assert third_party(path) <= allowed, path.name


def test_no_pickle_anywhere() -> None:
    forbidden = {"pickle", "cPickle", "dill", "joblib", "cloudpickle", "shelve", "marshal"}
    for path in FILES:
        assert not {name.split(".")[0] for _, name in imports(path)} & forbidden, path
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is False, path
            if isinstance(node, ast.keyword) and node.arg == "weights_only":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is True, path


OPTION = re.compile(r"(?<!\w)--[a-z]")
ALONE = {"cli", "reproduce", "shipped", "trainings"}
"""Parts whose errors only the command line shows."""


def error_lines(path: Path) -> Iterator[tuple[int, str]]:
    """What the errors that a file raises say, without the commands in it; what is filled in is left blank."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
            "InputError",
            "LinkwalkError",
            "ArtifactError",
            "ApiError",
            "not_found",
        ):
            parts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            yield (
                node.lineno,
                re.sub("`[^`]*`", "", " ".join(part for part in parts if isinstance(part, str))),
            )


def test_errors_below_the_command_line_name_no_options() -> None:
    """They are read over HTTP, by language models and in Python, too, where there are none to give."""
    named = [
        f"{path.relative_to(PACKAGE)}:{line}: {said}"
        for path in FILES
        if part_of(path) not in ALONE and path.name != "listening.py"  # which only the command line calls
        for line, said in error_lines(path)
        if OPTION.search(said)
    ]
    assert named == []


HEAVY = {
    "numba",
    "numpy",
    "torch",
    "matplotlib",
    "scipy",
    "fastapi",
    "uvicorn",
    "transformers",
    "rapidfuzz",
    "rich",
    "mcp",
    "pydantic",
    "langchain_core",
    "llama_index",
}


@pytest.mark.parametrize("statement", ["import linkwalk.cli.app", "from linkwalk.cli import main"])
def test_help_is_instant(statement: str) -> None:
    code = f"{statement}; import sys; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & HEAVY, "import heavy modules where they are used"


def test_every_module_says_what_it_is_for() -> None:
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


TWICE = {"WikiRetriever": "each of the two libraries imports its own under this name, as its users expect"}


def test_a_class_name_means_one_thing() -> None:
    where: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                where.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    twice = {name: places for name, places in where.items() if len(places) > 1}
    assert {name: places for name, places in twice.items() if name not in TWICE} == {}
    assert set(TWICE) <= set(twice), "one that is used once needs no excuse"
