import json
from pathlib import Path

import pytest

from linkwalk.artifact import FORMAT, digest, fingerprint_file, finish, read_manifest, seal, to_json
from linkwalk.errors import ArtifactError


def test_json_has_one_spelling() -> None:
    value = {"b": [1, "é"], "a": None}
    assert to_json(value) == b'{\n  "a": null,\n  "b": [\n    1,\n    "\xc3\xa9"\n  ]\n}\n'
    assert digest(value) == digest(dict(reversed(value.items()))) != digest({})
    assert json.loads(to_json({"name": "caf\udce9"})) == {"name": "caf\udce9"}


def test_a_fingerprint_sees_size_and_content(tmp_path: Path) -> None:
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
        seen.add(fingerprint_file(path))
        assert fingerprint_file(path) in seen
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


def test_the_new_takes_the_place_of_the_old(tmp_path: Path) -> None:
    final = tmp_path / "graph"
    for version in ("1", "2"):
        partial = tmp_path / "graph.partial"
        partial.mkdir()
        (partial / "version").write_text(version)
        (tmp_path / "graph.old").mkdir()  # left by a run that was killed
        finish(partial, final)
        assert (final / "version").read_text() == version
        assert [path.name for path in tmp_path.iterdir()] == ["graph"]
