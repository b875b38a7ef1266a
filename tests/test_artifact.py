import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest

from linkwalk.artifact import (
    FORMAT,
    checks,
    checksum,
    digest,
    explain,
    faults,
    folders,
    is_whole,
    locked,
    look_at,
    notes,
    publish,
    read_manifest,
    seal,
    to_json,
    write_piece,
)
from linkwalk.artifact.folders import lock_of
from linkwalk.errors import ArtifactError, DamagedError, InputError, LinkwalkError
from tests.killing import at_touches, is_killed


def test_json_has_one_spelling() -> None:
    value = {"b": [1, "é"], "a": None}
    assert to_json(value) == b'{\n  "a": null,\n  "b": [\n    1,\n    "\xc3\xa9"\n  ]\n}\n'
    assert digest(value) == digest(dict(reversed(value.items()))) != digest({})
    assert json.loads(to_json({"name": "caf\udce9"})) == {"name": "caf\udce9"}


def test_a_checksum_sees_size_and_content(tmp_path: Path) -> None:
    path = tmp_path / "x"
    seen = set()
    for content in (
        b"",
        b"a",
        b"b",
        b"a" * 70_000,
        b"a" * 69_999 + b"b",
        b"b" + b"a" * 69_999,
        b"a" * 9_000_000,
    ):
        path.write_bytes(content)
        seen.add(checksum(path))
        assert checksum(path) in seen
    assert len(seen) == 7


def test_manifests_that_cannot_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    with pytest.raises(ArtifactError, match=r"no graph in .*: run `make it` first"):
        read_manifest(folder, "graph", "make it")
    folder.mkdir()
    for content, expected in (
        (b"", "manifest.json is damaged"),
        (b"{", "manifest.json is damaged"),
        (b"[]", "a JSON list, not an object"),
        (b'{"artifact": "index", "format": 1}', "it is not a graph's manifest"),
        (b'{"artifact": "graph", "format": 99}', "it has format 99"),
        (b'{"artifact": "graph", "format": 2}', "it is not as it was written"),
        (b"\xff\xfe", "manifest.json is damaged"),
        (b"[" * 100_000, "manifest.json is damaged"),
    ):
        (folder / "manifest.json").write_bytes(content)
        with pytest.raises(ArtifactError, match=expected):
            read_manifest(folder, "graph", "make it")
    seal(folder, {"artifact": "graph"})
    assert read_manifest(folder, "graph", "make it")["format"] == FORMAT
    assert [path.name for path in folder.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("at_once", [True, False])
def test_the_new_takes_the_place_of_the_old(
    tmp_path: Path, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not at_once:  # a system that cannot let two folders change places
        monkeypatch.setattr(folders, "_swap", lambda a, b: False)
    final = tmp_path / "graph"
    for version in ("1", "2"):
        partial = tmp_path / "graph.partial"
        partial.mkdir()
        (partial / "version").write_text(version)
        (tmp_path / "graph.old").mkdir()  # left by a run that was killed
        publish(partial, final)
        assert (final / "version").read_text() == version
        assert [path.name for path in tmp_path.iterdir()] == ["graph"]


def make(folder: Path) -> dict[str, Any]:
    """An artefact of a few files, one of them in a folder."""
    (folder / "inner").mkdir(parents=True)
    (folder / "a.bin").write_bytes(bytes(range(256)) * 10)
    (folder / "inner" / "b.json").write_bytes(to_json({"x": [1, 2, 3]}))
    (folder / "empty").touch()
    return seal(folder, {"artifact": "thing", "graph": "abc", "counts": {"é": 3}})


def wrong(folder: Path) -> list[tuple[str, str]]:
    return [(str(fault.path.relative_to(folder)), fault.what) for fault in faults(folder, "thing")]


def test_every_bit_of_an_artefact_is_checked(tmp_path: Path) -> None:
    folder = tmp_path / "thing"
    manifest = make(folder)
    assert list(manifest["files"]) == ["a.bin", "empty", "inner/b.json"]
    assert manifest["files"]["a.bin"]["sha256"] == hashlib.sha256(bytes(range(256)) * 10).hexdigest()
    assert wrong(folder) == []
    rng = np.random.default_rng(0)
    for name in ("manifest.json", "a.bin", "inner/b.json"):
        path = folder / name
        whole = path.read_bytes()
        bits = range(8 * len(whole)) if name == "manifest.json" else rng.integers(8 * len(whole), size=60)
        for bit in map(int, bits):
            data = bytearray(whole)
            data[bit // 8] ^= 1 << bit % 8
            path.write_bytes(data)
            assert [found for found, _ in wrong(folder)] == [name], bit
        for data in (b"", whole[:-1], whole + b"\n", whole[: len(whole) // 2]):
            path.write_bytes(data)
            assert [found for found, _ in wrong(folder)] == [name]
        path.unlink()
        assert [found for found, _ in wrong(folder)] == [name]
        path.mkdir()
        assert [found for found, _ in wrong(folder)] == [name]
        path.rmdir()
        path.write_bytes(whole)
    assert wrong(folder) == []


def test_what_is_looked_at_when_opened(tmp_path: Path) -> None:
    folder, looks = tmp_path / "thing", []
    manifest = make(folder)
    time.sleep(0.15)  # what has just been written is not noted as looked at
    for _ in range(3):
        look_at(folder, manifest, "mend it", structure=lambda: looks.append(1))
    assert len(looks) == 1
    data = bytearray((folder / "a.bin").read_bytes())
    state = (folder / "a.bin").stat()
    data[7] ^= 1
    (folder / "a.bin").write_bytes(data)
    os.utime(
        folder / "a.bin", ns=(state.st_atime_ns, state.st_mtime_ns)
    )  # setting the date back hides nothing
    with pytest.raises(DamagedError, match=r"a\.bin is damaged \(its checksum is not .*\): mend it"):
        look_at(folder, manifest, "mend it")
    (folder / "a.bin").write_bytes(b"")
    with pytest.raises(DamagedError, match=r"a\.bin is damaged \(0 bytes instead of 2,560\): mend it"):
        look_at(folder, manifest, "mend it")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"thing": 3}', b'{"thing": {"files": [[1]]}}', b"\xff"]
)
def test_a_note_that_cannot_be_read_is_none(tmp_path: Path, content: bytes) -> None:
    folder, looks = tmp_path / "thing", []
    manifest = make(folder)
    (tmp_path / notes.NOTE).write_bytes(content)
    look_at(folder, manifest, "mend it", structure=lambda: looks.append(1))
    assert looks == [1]


def test_a_killed_note_leaves_nothing_for_long(tmp_path: Path) -> None:
    file = tmp_path / "thing"
    file.write_text("x")
    time.sleep(2 * notes._TICK_S)
    states = notes.states([file])
    for step in range(1, 100):
        killed = is_killed(step, tmp_path, lambda: notes.note(tmp_path, "killed", states, 1))
        notes.note(tmp_path, "whole", states, step)
        assert notes.recall(tmp_path, "whole", states) == step
        assert {path.name for path in tmp_path.iterdir()} == {"thing", notes.NOTE}
        if not killed:
            break
    assert notes.recall(tmp_path, "killed", states) == 1
    assert step > 4


def test_an_error_is_explained_by_the_damage_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_OPENED", {})  # what other tests have opened, and spoilt
    folder = tmp_path / "thing"
    look_at(folder, make(folder), "mend it")
    assert explain(KeyError("x")) is None
    data = bytearray((folder / "a.bin").read_bytes())
    data[0] ^= 128
    (folder / "a.bin").write_bytes(data)
    found = explain(IndexError("index out of bounds"))
    assert str(found) == (
        f"{folder / 'a.bin'} is damaged (its checksum is not the one it was written with): mend it"
    )
    assert explain(KeyboardInterrupt()) is None
    assert explain(InputError("known")) is not found


def test_pieces_tell_whether_they_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "piece"
    assert not is_whole(path)
    for content in (b"", b"x", os.urandom(3 << 20)):
        write_piece(path, lambda file, content=content: file.write(content))  # type: ignore[misc]
        assert is_whole(path)
        whole = path.read_bytes()
        assert whole[: len(content)] == content
        for at in {0, len(whole) // 2, len(whole) - 1}:
            data = bytearray(whole)
            data[at] ^= 4
            path.write_bytes(data)
            assert not is_whole(path)
        for data in (whole[:-1], whole + b"x", b""):
            path.write_bytes(data)
            assert not is_whole(path)

    def fails(file: BinaryIO) -> None:
        file.write(b"half")
        raise OSError("no more room")

    path.unlink()
    with pytest.raises(OSError, match="no more room"):
        write_piece(path, fails)
    assert list(tmp_path.iterdir()) == []


_HOLD = """
import sys, time
from pathlib import Path
from linkwalk.artifact import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_at_a_time(tmp_path: Path) -> None:
    final = tmp_path / "new" / "wiki" / "graph"
    with locked(final):
        assert final.parent.is_dir()
        with (
            pytest.raises(LinkwalkError, match=r"another process is writing .*graph at this moment"),
            locked(final),
        ):
            pass
        with locked(final.with_name("index")):
            pass
    assert not (tmp_path / "new").exists(), "nothing came of it, and nothing is left"
    process = subprocess.Popen([sys.executable, "-c", _HOLD, str(final)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(LinkwalkError, match="another process"), locked(final):
        pass
    process.kill()
    process.communicate()
    with locked(final):  # however it ended
        (final.parent / "kept").touch()
    assert [path.name for path in final.parent.iterdir()] == ["kept"]


def test_a_folder_that_another_takes_away(tmp_path: Path) -> None:
    """Another one has made the folder, makes nothing in it and removes it, just before it is written to."""
    child = os.fork()
    if not child:
        try:
            final, once = tmp_path / "new" / "thing", [True]
            at_touches(lock_of(final), lambda: once and once.pop() and final.parent.rmdir())
            with locked(final):
                os._exit(0 if lock_of(final).exists() else 3)
        finally:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_many_take_turns(tmp_path: Path) -> None:
    """Threads that take the lock whenever they can never hold it together."""
    inside, most, turns = 0, 0, 0

    def work() -> None:
        nonlocal inside, most, turns
        for _ in range(200):
            try:
                with locked(tmp_path / "graph"):
                    inside += 1
                    most = max(most, inside)
                    time.sleep(0.0001)
                    inside -= 1
                    turns += 1
            except LinkwalkError:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert turns > 10
    assert list(tmp_path.iterdir()) == []
