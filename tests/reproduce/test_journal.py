"""Results that outlive the run that made them."""

from pathlib import Path

from linkwalk.reproduce.journal import Journal


def test_what_was_noted_is_known(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "results.jsonl"
    journal = Journal(path)
    assert journal.get({"steps": 5}) is None
    assert not path.exists()
    journal.add({"steps": 5, "agent": "é"}, {"success": 0.5})
    journal.add({"agent": "é", "steps": 10}, {"success": 0.25})
    for known in (journal, Journal(path)):
        assert known.get({"agent": "é", "steps": 5}) == {"success": 0.5}
        assert known.get({"agent": "e", "steps": 5}) is None
    journal.add({"agent": "é", "steps": 5}, {"success": 0.75})
    assert Journal(path).get({"agent": "é", "steps": 5}) == {"success": 0.75}


def test_a_line_that_was_cut_off_costs_that_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    Journal(path).add("a", {"n": 1})
    with path.open("a") as file:
        file.write('{"key": "half a li')
    Journal(path).add("b", {"n": 2})
    path.write_text(path.read_text() + "[]\n3\n")
    found = Journal(path)
    assert (found.get("a"), found.get("b")) == ({"n": 1}, {"n": 2})
