"""A build that is killed anywhere goes on where it was, and ends in the very same bytes."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from linkwalk.build.build import BuildConfig, build
from linkwalk.build.read import ExtractConfig
from linkwalk.errors import InputError, LinkwalkError
from linkwalk.graph.store import Graph
from linkwalk.sources import packed
from tests.build.test_workers import alive
from tests.conftest import P, assert_same_files, graph_files, prose, shown, world, write_dump

# Small chunks, so that a small dump makes many shards; the rest is the real command line.
_SCRIPT = """
import sys
from linkwalk.sources import packed
from linkwalk.sources.wikitext import mediawiki
packed.CHUNK_BYTES, packed.READ_BYTES, mediawiki.RANGE_BYTES = 40_000, 20_000, 20_000
from linkwalk.cli import main
if __name__ == "__main__":
    main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("script") / "run.py"
    path.write_text(_SCRIPT)
    return path


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_dump(tmp_path_factory.mktemp("dump") / "x.xml.gz", world(articles=160))


def start(script: Path, *args: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(script), "build", *map(str, args), "--json", "--quiet"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(script: Path, *args: object) -> dict[str, object]:
    with start(script, *args) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def expected(script: Path, dump: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    workspace = tmp_path_factory.mktemp("whole") / "wiki"
    run(script, dump, "-o", workspace, "--workers", 1)
    assert shown(workspace) == ["graph"]
    return {path.name: path.read_bytes() for path in sorted((workspace / "graph").iterdir())}


def kill_when(process: subprocess.Popen[str], reached: Callable[[], bool]) -> bool:
    """Kill a process once something holds; False where it came to its end before."""
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if reached():
            process.send_signal(signal.SIGKILL)
            process.communicate()
            return True
        time.sleep(0.001)
    process.communicate()
    return False


def start_and_kill(reached: Callable[[], bool], script: Path, *args: object) -> None:
    """Begin a build and kill it once something holds; on a busy machine that may take more than one attempt."""
    for _ in range(5):
        with start(script, *args) as process:
            if kill_when(process, reached):
                return
        shutil.rmtree(Path(str(args[args.index("-o") + 1])))
    pytest.fail("the build was always faster")


def check_resumed(
    script: Path, dump: Path, workspace: Path, expected: dict[str, bytes], workers: int
) -> None:
    run(script, dump, "-o", workspace, "--workers", workers)
    assert shown(workspace) == ["graph"]
    files = {path.name: path.read_bytes() for path in sorted((workspace / "graph").iterdir())}
    assert_same_files(files, expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "count", "workers"),
    [
        ("shard-*.npz", 1, 1),
        ("shard-*.npz", 6, 2),
        ("links-*.npz", 1, 1),
        ("counts-*.npz", 4, 1),
        ("edges-*.npz", 3, 1),
        ("graph/text.bin", 1, 1),
    ],
)
def test_killed_in_a_stage(
    script: Path,
    dump: Path,
    expected: dict[str, bytes],
    tmp_path: Path,
    pattern: str,
    count: int,
    workers: int,
) -> None:
    workspace = tmp_path / "wiki"
    partial = workspace / "graph.partial"
    start_and_kill(
        lambda: len(list(partial.glob(pattern))) >= count, script, dump, "-o", workspace, "--workers", workers
    )
    assert not (workspace / "graph").exists()
    before = {path.name: path.stat().st_mtime_ns for path in partial.glob("shard-*.npz")}
    assert before
    check_resumed(script, dump, workspace, expected, workers=1)


@pytest.mark.slow
def test_killed_again_and_again_at_random(
    script: Path, dump: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    workspace, rng = tmp_path / "wiki", random.Random(11)
    for _ in range(4):
        until = time.monotonic() + rng.uniform(0.3, 1.2)
        with start(script, dump, "-o", workspace, "--workers", 1) as process:
            kill_when(process, lambda until=until: time.monotonic() > until)  # type: ignore[misc]
        if (workspace / "graph").exists():
            Graph.open(workspace)
    check_resumed(script, dump, workspace, expected, workers=1)


def test_finished_shards_are_not_made_again(script: Path, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "x.xml", [P(f"Page {i}", prose(900, i)) for i in range(120)])
    workspace = tmp_path / "wiki"
    partial, args = workspace / "graph.partial", (dump, "-o", workspace, "--workers", 1)
    start_and_kill(lambda: len(list(partial.glob("shard-*.npz"))) >= 3, script, *args)
    shard = partial / "shard-000001.npz"
    before = shard.stat().st_mtime_ns
    with start(script, *args) as process:
        assert kill_when(process, lambda: len(list(partial.glob("shard-*.npz"))) >= 6)
    assert shard.stat().st_mtime_ns == before


@pytest.fixture(scope="module")
def unfinished(script: Path, dump: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose build was killed in its last stage; copied before it goes on."""
    workspace = tmp_path_factory.mktemp("unfinished") / "wiki"
    partial = workspace / "graph.partial"
    reached = lambda: len(list(partial.glob("edges-*.npz"))) >= 4  # noqa: E731
    start_and_kill(reached, script, dump, "-o", workspace, "--workers", 1)
    return workspace


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["shard", "links", "edges"])
def test_a_shard_that_a_power_failure_cut_short_is_made_again(
    script: Path, dump: Path, unfinished: Path, expected: dict[str, bytes], tmp_path: Path, stage: str
) -> None:
    workspace = Path(shutil.copytree(unfinished, tmp_path / "wiki"))
    shard = workspace / "graph.partial" / f"{stage}-000002.npz"
    shard.write_bytes(shard.read_bytes()[:1000] if stage == "links" else b"")
    check_resumed(script, dump, workspace, expected, workers=1)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_interrupted_from_the_keyboard(
    script: Path, dump: Path, expected: dict[str, bytes], tmp_path: Path, workers: int
) -> None:
    workspace = tmp_path / "wiki"
    partial = workspace / "graph.partial"
    for _ in range(5):  # on a busy machine the build may be done before the signal reaches it
        with start(script, dump, "-o", workspace, "--workers", workers) as process:
            while process.poll() is None and not list(partial.glob("shard-*.npz")):
                time.sleep(0.001)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        if process.returncode != 0:
            break
        shutil.rmtree(workspace)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines() == ["interrupted: run the same command again to go on from what is finished"]
    check_resumed(script, dump, workspace, expected, workers=1)


@pytest.mark.slow
def test_other_options_discard_what_was_begun(script: Path, dump: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "wiki"
    partial = workspace / "graph.partial"
    start_and_kill(
        lambda: len(list(partial.glob("shard-*.npz"))) >= 3, script, dump, "-o", workspace, "--workers", 1
    )
    run(script, dump, "-o", workspace, "--block-words", 40, "--workers", 1)
    run(script, dump, "-o", tmp_path / "fresh", "--block-words", 40, "--workers", 1)
    assert_same_files(graph_files(workspace), graph_files(tmp_path / "fresh"))


@pytest.mark.slow
def test_the_old_graph_stays_readable_until_the_new_one_is_there(
    script: Path, dump: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    for attempt in range(5):
        workspace = tmp_path / f"wiki{attempt}"
        build([write_dump(tmp_path / "old.xml", [P("Old page", prose(60))])], workspace)
        old, text = Graph.open(workspace), workspace / "graph.partial" / "graph" / "text.bin"
        with start(script, dump, "-o", workspace, "--force", "--workers", 1) as process:
            if kill_when(process, text.exists):
                break
    assert Graph.open(workspace).titles[0] == "Old page"
    with start(script, dump, "-o", workspace, "--force", "--workers", 1) as process:
        seen, missed = set(), 0
        while process.poll() is None:
            try:
                seen.add(Graph.open(workspace).articles)
            except LinkwalkError:  # in the instant between two renames
                missed += 1
            time.sleep(0.02)
        process.communicate()
    assert missed <= 2
    assert seen <= {1, json.loads(expected["manifest.json"])["counts"]["articles"]}
    assert old.block(0).title == "Old page"
    assert shown(workspace) == ["graph"]
    files = {path.name: path.read_bytes() for path in sorted((workspace / "graph").iterdir())}
    assert_same_files(files, expected)


def test_two_builds_at_once(script: Path, dump: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "wiki"
    partial = workspace / "graph.partial"
    with start(script, dump, "-o", workspace, "--workers", 1) as process:
        try:
            while not list(partial.glob("shard-*.npz")):
                assert process.poll() is None
                time.sleep(0.001)
            process.send_signal(signal.SIGSTOP)
            with pytest.raises(LinkwalkError, match="another process is writing"):
                build([dump], workspace)
        finally:
            process.send_signal(signal.SIGCONT)
            _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    Graph.open(workspace)


def test_a_build_that_finds_its_graph_leaves_one_at_work_alone(
    script: Path, dump: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    workspace = tmp_path / "wiki"
    run(script, dump, "-o", workspace, "--workers", 1)
    with start(script, dump, "-o", workspace, "--force", "--workers", 1) as process:
        while not list((workspace / "graph.partial").glob("shard-*.npz")):
            assert process.poll() is None
            time.sleep(0.001)
        assert not build([dump], workspace).fresh
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert_same_files({p.name: p.read_bytes() for p in sorted((workspace / "graph").iterdir())}, expected)


def test_a_second_build_is_up_to_date_and_tidies_up(tmp_path: Path) -> None:
    path, workspace = write_dump(tmp_path / "x.xml", [P("A", prose(60))]), tmp_path / "wiki"
    first = build([path], workspace)
    before = {p: p.stat().st_mtime_ns for p in (workspace / "graph").iterdir()}
    for left_over in ("graph.old", "graph.partial"):  # as a build does that was killed at its very end
        (workspace / left_over).mkdir()
        (workspace / left_over / "x").touch()
    second = build([path], workspace)
    assert (first.fresh, second.fresh) == (True, False)
    assert (first.manifest, first.ledger) == (second.manifest, second.ledger)
    assert {p: p.stat().st_mtime_ns for p in (workspace / "graph").iterdir()} == before
    assert shown(workspace) == ["graph"]


def test_another_graph_is_replaced_by_force_only(tmp_path: Path) -> None:
    path, workspace = write_dump(tmp_path / "x.xml", [P("A", prose(60))]), tmp_path / "wiki"
    build([path], workspace)
    other = BuildConfig(extract=ExtractConfig(block_words=30))
    with pytest.raises(InputError, match=r"other input or options: .*--force` replaces it"):
        build([path], workspace, other)
    assert build([path], workspace, other, force=True).fresh
    write_dump(path, [P("B", prose(60))])
    with pytest.raises(InputError, match=r"other input or options: .*--force` replaces it"):
        build([path], workspace, other)
    build([path], workspace, other, force=True)
    (workspace / "graph" / "manifest.json").write_text("[1, 2]")
    with pytest.raises(InputError, match=r"this version cannot read: .*--force` replaces it"):
        build([path], workspace, other)
    build([path], workspace, other, force=True)


@pytest.mark.parametrize("name", ["ledger.json", "text.bin", "out_targets.npy", "titles_offsets.npy"])
def test_a_damaged_graph_of_the_same_input_is_made_again(tmp_path: Path, name: str) -> None:
    path, workspace = write_dump(tmp_path / "x.xml", [P("B", prose(60))]), tmp_path / "wiki"
    build([path], workspace)
    whole = graph_files(workspace)
    damaged = bytearray(whole[name])
    damaged[-1] ^= 1
    (workspace / "graph" / name).write_bytes(damaged)
    assert build([path], workspace).fresh
    assert_same_files(graph_files(workspace), whole)
    assert not build([path], workspace).fresh
    assert Graph.open(workspace).titles[0] == "B"


def test_killed_between_the_two_renames(tmp_path: Path) -> None:
    path, workspace = write_dump(tmp_path / "x.xml", [P("A", prose(60))]), tmp_path / "wiki"
    build([path], workspace)
    whole = graph_files(workspace)
    os.rename(workspace / "graph", workspace / "graph.old")
    (workspace / "graph.partial").mkdir()
    build([path], workspace)
    assert_same_files(graph_files(workspace), whole)
    assert shown(workspace) == ["graph"]


_SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "genuine-dump-samples.tar.xz"


@pytest.fixture
def latgalian(tmp_path: Path) -> Path:
    if not _SAMPLES.exists():
        pytest.skip(f"needs {_SAMPLES.name} beside the project")
    with tarfile.open(_SAMPLES) as samples:
        member = samples.extractfile("xml_fixtures/dumpster-dive-smallwiki.xml.bz2")
        assert member is not None
        path = tmp_path / "ltgwiki.xml.bz2"
        path.write_bytes(member.read())
    return path


def test_a_genuine_dump_in_many_pieces_and_killed(
    latgalian: Path, tmp_path: Path, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = tmp_path / "killed" / "graph.partial"
    children: list[int] = []

    def reached() -> bool:
        if Path(f"/proc/{process.pid}/task/{process.pid}/children").exists():
            listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            children[:] = map(int, listed)
        return len(list(partial.glob("shard-*.npz"))) >= 20

    with start(script, latgalian, "-o", tmp_path / "killed", "--workers", 2) as process:
        assert kill_when(process, reached)
    deadline = time.monotonic() + 20
    while any(map(alive, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, children))
    run(script, latgalian, "-o", tmp_path / "killed", "--workers", 2)
    assert packed.CHUNK_BYTES > 1 << 20
    result = build([latgalian], tmp_path / "whole")
    assert_same_files(graph_files(tmp_path / "killed"), graph_files(tmp_path / "whole"))
    pages = result.ledger["pages"]
    assert pages["read"] == pages["kept"] + sum(pages["skipped"].values()) == 2004
    assert pages["kept"] > 500


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plan.json", "read.json", "shard-000001.npz", "links-000002.npz"])
@pytest.mark.parametrize("damage", ["flipped", "empty", "cut"])
def test_what_is_damaged_in_an_unfinished_build_is_made_again(
    script: Path,
    dump: Path,
    unfinished: Path,
    expected: dict[str, bytes],
    tmp_path: Path,
    name: str,
    damage: str,
) -> None:
    workspace = Path(shutil.copytree(unfinished, tmp_path / "wiki"))
    path = workspace / "graph.partial" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes({"flipped": content, "empty": b"", "cut": content[: len(content) // 3]}[damage])
    check_resumed(script, dump, workspace, expected, 1)


def test_any_change_of_a_large_dump_is_noticed(tmp_path: Path) -> None:
    path, workspace = write_dump(tmp_path / "x.xml", [P("A", prose(60))]), tmp_path / "wiki"
    with path.open("ab") as file:  # blanks behind the last page, far more than samples of it would see
        file.write(b" " * 50_000_000)
    build([path], workspace)
    assert not build([path], workspace).fresh
    state = path.stat()
    with path.open("r+b") as file:
        file.seek(20_500_000)
        file.write(b"\n" * 1000)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    with pytest.raises(InputError, match="other input or options"):
        build([path], workspace)
