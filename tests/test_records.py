"""Benchmark files, whole and damaged."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwalk import records
from linkwalk.errors import InputError
from linkwalk.records import BadLine, kind_of, open_packed, read_records, stream_records, text_lines
from tests.conftest import pack

OBJECTS: list[dict[str, Any]] = [
    {"question": "who?", "n": [1, 2.5, None]},
    {},
    {"a": {"b": 'ü ] } " \\ 漢'}},
]


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("form", ["lines", "array", "indented", "bom lines", "bom array"])
def test_the_same_objects_in_every_form_and_packing(tmp_path: Path, form: str, suffix: str) -> None:
    text = {
        "lines": "\n".join(map(json.dumps, OBJECTS)),
        "array": json.dumps(OBJECTS, ensure_ascii=False),
        "indented": "\n " + json.dumps(OBJECTS, indent=2) + "\n\n",
        "bom lines": "\ufeff" + "".join(json.dumps(o, ensure_ascii=False) + "\r\n" for o in OBJECTS),
        "bom array": "\ufeff" + json.dumps(OBJECTS, indent=1),
    }[form]
    path = pack(text.encode(), tmp_path / f"file.json{suffix}")
    records, damage = read_records(path)
    assert records == list(enumerate(OBJECTS, 1))
    assert damage == []
    with open_packed(path) as file:
        assert file.read() == text.encode()


def test_damaged_lines_are_located_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": 1}\n\n{"a": \n[1]\n"text"\n{"a": "\xff"}\n' + b"[" * 100_000 + b'\n{"a": 2}')
    records, damage = read_records(path)
    assert records == [(1, {"a": 1}), (8, {"a": 2})]
    assert [d.line for d in damage] == [3, 4, 5, 6, 7]
    assert damage[0] == BadLine(3, "no JSON (Expecting value)")
    assert damage[1] == BadLine(4, "no object but list")


def test_values_of_an_array_that_are_no_objects_are_located(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"a": 1}, 12345, "b", {"a": 2}]')
    records, damage = read_records(path)
    assert records == [(1, {"a": 1}), (4, {"a": 2})]
    assert damage == [BadLine(2, "no object but int"), BadLine(3, "no object but str")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"[]", "is empty"),
        (b"[ \n ]\n", "is empty"),
        (b"claim,label\n", "has no usable line: line 1 is no JSON"),
        (b'[["a", "b"]]\n', "has no usable line: line 1 is no object but list"),
        (b'[{"a": 1}, {"a": 2', "is no JSON from object 2 on"),
        (b'[{"a": 1}, {"a": "two', "is no JSON from object 2 on: Unterminated string"),
        (b'[{"a": 1}', "is no JSON behind object 1: it breaks off"),
        (b"[", "is no JSON from object 1 on"),
        (b'[{"a": 1} {"a": 2}]', "is no JSON behind object 1: a comma is missing"),
        (b'[{"a": 1},]', "is no JSON from object 2 on"),
        (b'[{"a": 1}]\n{"a": 2}\n', "goes on behind the end of its array of 1 objects"),
        (b'[{"a": "\xff"}]', "is not UTF-8"),
        (b'[{"a": 1}, {"a": ' + b"[" * 100_000, "nested too deeply in object 2"),
    ],
)
def test_files_that_cannot_be_used_get_one_line(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(text)
    with pytest.raises(InputError, match=message) as error:
        read_records(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_packed_files_that_are_cut_or_of_another_packing(tmp_path: Path, suffix: str) -> None:
    noise = random.Random(1).randbytes(30_000).hex()
    path = pack(json.dumps([{"a": noise}]).encode(), tmp_path / f"x.json{suffix}")
    path.write_bytes(path.read_bytes()[:-8000])
    with pytest.raises(InputError, match="cannot read"):
        read_records(path)
    path.write_bytes(b'{"a": 1}\n')
    with pytest.raises(InputError, match="cannot read"):
        read_records(path)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError, match="cannot read"):
            read_records(path)
        with pytest.raises(InputError, match="cannot read"):
            list(text_lines(path))


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(st.text(max_size=4), _json, max_size=3), min_size=1),
    st.integers(1, 9),
    st.booleans(),
)
def test_an_array_read_in_small_pieces(
    tmp_path_factory: pytest.TempPathFactory, objects: list[dict[str, Any]], chunk: int, ascii_only: bool
) -> None:
    """However the pieces fall (within a number, an escape, a character), the objects are those of the whole."""
    path = tmp_path_factory.mktemp("pieces") / "x.json"
    path.write_text(json.dumps(objects, ensure_ascii=ascii_only), encoding="utf-8", errors="replace")
    expected = json.loads(path.read_text(encoding="utf-8"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "_CHUNK", chunk)
        assert [record for _, record in read_records(path).records] == expected


def test_what_stands_before_a_broken_place_is_given_out(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    good = json.dumps({"a": "x" * 1000})
    path.write_text("[" + ",".join([good] * 2000) + ", {broken}, " + ",".join([good] * 2000) + "]")
    records = stream_records(path, [])
    assert [next(records)[0] for _ in range(2000)] == list(range(1, 2001))
    with pytest.raises(InputError, match="from object 2001 on: Expecting property name"):
        next(records)


def test_an_array_is_streamed(tmp_path: Path) -> None:
    """A file of 40 MB needs far less memory."""
    import tracemalloc

    path = tmp_path / "x.json"
    record = json.dumps({"question": "q", "negative_ctxs": [{"text": "x" * 500}] * 40})
    path.write_text("[" + ",\n".join([record] * 2000) + "]")
    tracemalloc.start()
    count = sum(1 for _ in stream_records(path, []))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 2000
    assert peak < path.stat().st_size / 4


def test_kinds_of_benchmarks() -> None:
    assert kind_of({"id": 1, "claim": "c", "label": "SUPPORTS"}) == "fever"
    assert kind_of({"question": "q", "supporting_facts": []}) == "multihop"
    assert kind_of({"question": "q", "paragraphs": []}) == "multihop"
    assert kind_of({"question": "q", "positive_ctxs": []}) == "nq"
    assert kind_of({"title": "t"}) is None
