"""Natural Questions: gold passages become blocks, answers are looked for, damaged rows are located."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from linkwalk.build.build import BuildConfig, build
from linkwalk.build.read import ExtractConfig
from linkwalk.downstream.align_passages import Placement, align_passage, answerable
from linkwalk.downstream.dataset import AlignedQuestion, GoldPassage, answer_phrases, holds
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.records import BadLine
from tests.conftest import Maker, P, pack, prose, write_dump
from tests.downstream.reading import read_questions

NQ_OPEN = Path(__file__).parents[3] / "shared" / "data" / "nq-open-dev.jsonl"
LAMP = (
    "The miner's lamp of Orla was made in 1911 by Ida Korhonen, who sold it to every pit of the northern coast. "
    "It burned for nine hours on a cup of oil and was carried at the belt. "
)
LATER = (
    "In later years the works were led by her daughter Saga, and a museum at the old gate tells of Ida Korhonen and "
    "her eleven patents. It is open on Sundays. "
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """An article of several blocks, two of which name the inventor, a redirect, and some others."""
    folder = tmp_path_factory.mktemp("lamps")
    pages = [
        P("Miner's lamp", f"{LAMP}{prose(60, 1)}\n\n{prose(110, 2)}\n\n{LATER}{prose(70, 3)}"),
        P("Orla lamp", "#REDIRECT [[Miner's lamp]]", redirect="Miner's lamp"),
        P('Pit "Nine"', f"Pit Nine was dug in 1870 and closed by José Ahlö. {prose(50, 4)}"),
        P("Coast", f"The coast is long. {prose(60, 5)}"),
    ]
    config = BuildConfig(extract=ExtractConfig(min_chars=0))
    return Graph.open(build([write_dump(folder / "lamps.xml", pages)], folder / "wiki", config).workspace)


def passage(title: str, text: str, **more: Any) -> dict[str, Any]:
    return {"title": title, "text": text, "score": 1000, "title_score": 1, "passage_id": "1", **more}


def question(text: str, answers: list[str], *positives: dict[str, Any]) -> dict[str, Any]:
    negative = passage("Coast", "The coast is long.")
    return {
        "dataset": "nq_dev_psgs_w100",
        "question": text,
        "answers": answers,
        "positive_ctxs": list(positives),
        "negative_ctxs": [negative] * 3,
        "hard_negative_ctxs": [negative],
    }


def block_with(graph: Graph, words: str) -> int:
    found = [node for node in range(graph.nodes) if words in graph.texts[node]]
    assert len(found) == 1
    return found[0]


def test_the_block_most_like_the_passage_of_those_with_the_answer(graph: Graph) -> None:
    """Appendix C.2: two blocks have the answer, the passage tells which is meant, wherever the answer stands first."""
    first, later = block_with(graph, "northern coast"), block_with(graph, "eleven patents")
    answers = ["ida korhonen"]
    assert align_passage(graph, GoldPassage("Miner's lamp", LAMP), answers).nodes == (first,)
    assert align_passage(graph, GoldPassage("Miner's lamp", LATER), answers).nodes == (later,)
    # Most like the passage, but without the answer: the next one has it.
    assert align_passage(graph, GoldPassage("Miner's lamp", LATER), ["1911"]).nodes == (first,)


@pytest.mark.parametrize("title", ["Miner's lamp", "miner's_lamp", "Orla lamp", "Miner&#39;s lamp"])
def test_articles_are_found_by_title_redirect_and_spelling(graph: Graph, title: str) -> None:
    placed = Placement((block_with(graph, "1911"),), 100.0, verbatim=True)
    assert align_passage(graph, GoldPassage(title, LAMP), ["1911"]) == placed


def test_what_does_not_match_says_why(graph: Graph) -> None:
    assert align_passage(graph, GoldPassage("Lantern", LAMP), ["1911"]) == Placement(
        reason="title not in the wiki"
    )
    expected = Placement(reason="no block of the article has an answer")
    assert align_passage(graph, GoldPassage("Miner's lamp", LAMP), ["1912"]) == expected
    assert align_passage(graph, GoldPassage("Miner's lamp", LAMP), ["The"]) == expected


def gold_file() -> list[dict[str, Any]]:
    distant = passage("Miner's lamp", LATER, score=12.5, title_score=0)
    return [
        question("who made the lamp of orla", ["Ida Korhonen"], passage("Orla lamp", LAMP), distant),
        question("who closed pit nine", ["Jose Ahlo"], passage('Pit "Nine"', "Pit Nine was dug in 1870")),
        question("who lit it", ["Nobody"], passage("Miner's lamp", LAMP)),
        question("where is it", ["Here"], passage("Lantern", "It is here.")),
        question("what is left", ["Nothing"]),
    ]


@pytest.mark.parametrize("form", ["json", "jsonl", "json.gz"])
def test_gold_passages(graph: Graph, tmp_path: Path, form: str) -> None:
    records = gold_file()
    text = "\n".join(map(json.dumps, records)) if form == "jsonl" else json.dumps(records, indent=1)
    asked, report, damage, _ = read_questions(pack(text.encode(), tmp_path / f"nq.{form}"), graph)
    assert damage == []
    lamp, pit = ((frozenset((node,)),) for node in (block_with(graph, "1911"), graph.find('Pit "Nine"')))
    assert asked == [
        AlignedQuestion(id="1", text="who made the lamp of orla", gold=lamp, answers=("Ida Korhonen",)),
        AlignedQuestion(id="2", text="who closed pit nine", gold=pit, answers=("Jose Ahlo",)),
    ]
    assert report["measure"] == "gold passage"
    assert (report["questions"], report["asked"], report["without_passage"]) == (5, 2, 1)
    assert report["articles"] == {"matched": 3, "of": 4, "rate": 75.0, "paper": 100.0}
    assert report["passages"] == {"matched": 2, "of": 4, "rate": 50.0, "paper": 99.3}
    assert report["passages_of_matched_articles"]["rate"] == 66.7
    assert report["answer_letter_by_letter"] == 1  # "Jose Ahlo" has lost its accents
    assert report["unmatched"] == {"no block of the article has an answer": 1, "title not in the wiki": 1}
    assert [(e["line"], e["title"]) for e in report["examples"]] == [(3, "Miner's lamp"), (4, "Lantern")]
    assert json.loads(json.dumps(report)) == report


def test_all_positives_are_alternatives(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "nq.json"
    path.write_text(json.dumps(gold_file()))
    asked, report, _, _ = read_questions(path, graph, all_positives=True)
    first, later = block_with(graph, "1911"), block_with(graph, "eleven patents")
    assert asked[0].gold == (frozenset((first,)), frozenset((later,)))
    assert asked[0].recall(graph, [later]) == [1] * 5
    assert (report["positives"], report["passages"]["of"]) == ("all", 5)


def test_answers_alone(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "open.jsonl"
    rows: list[dict[str, Any]] = [
        {"question": "who made it", "answer": ["Nobody", "ida KORHONEN"]},
        {"question": "where", "answer": "In the attic", "id": 17},
        {"question": "who closed it", "answers": ["José Ahlö"]},
        {"question": "which letter", "answer": ["A"]},
        {"question": "what hour", "answer": ["nine hour"]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    asked, report, damage, _ = read_questions(path, graph)
    assert damage == []
    assert [one.group for one in asked] == [
        "answerable", "unanswerable", "answerable", "unanswerable", "unanswerable",
    ]  # fmt: skip
    assert [one.id for one in asked] == ["1", "17", "3", "4", "5"]
    assert asked[0].answers == ("Nobody", "ida KORHONEN")
    assert not any(one.gold for one in asked)
    assert (report["measure"], report["answerable"]) == (
        "answer string",
        {"matched": 2, "of": 5, "rate": 40.0},
    )
    assert [e["question"] for e in report["examples"]] == ["where", "which letter", "what hour"]
    unscanned = read_questions(path, graph, scan=False)
    assert {one.group for one in unscanned.questions} == {"all"}
    assert "answerable" not in unscanned.report


def test_tables(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "nq-dev.qa.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(['who made "it"', str(["Ida Korhonen", 'the "Orla" people', "it's"])])
        writer.writerow(["when", str(["1911"])])
    with path.open("a") as file:
        file.write("\"a stray mark\t['x']\nno answers\nwho\t['x', \n\nwho\t[\"1870\"]\nwho\t[]\nwho\t[1]\n")
    asked, _, damage, _ = read_questions(path, graph)
    assert [(one.text, one.group) for one in asked] == [
        ('who made "it"', "answerable"),
        ("when", "answerable"),
        ("who", "answerable"),
    ]
    assert asked[0].answers == ("Ida Korhonen", 'the "Orla" people', "it's")
    assert [(d.line, d.reason) for d in damage] == [
        (3, "unexpected end of data"),
        (4, "has 1 cells, not question and answers"),
        (5, "has answers that are no list"),
        (8, "has no answer"),
        (9, "has answers that are no list of texts"),
    ]


def test_a_table_with_commas_and_a_header(graph: Graph, tmp_path: Path) -> None:
    path = pack(b"\xef\xbb\xbfquestion,answers\r\nwhen,\"['1911', '1912']\"\r\n", tmp_path / "nq.csv.gz")
    (one,) = read_questions(path, graph).questions
    assert (one.text, one.answers, one.id) == ("when", ("1911", "1912"), "2")


def test_damaged_objects_are_located(graph: Graph, tmp_path: Path) -> None:
    good = question("who made the lamp of orla", ["Ida Korhonen"], passage("Orla lamp", LAMP))
    records: list[Any] = [
        good,
        {**good, "question": " "},
        {**good, "answers": [None]},
        {**good, "answers": []},
        {**good, "positive_ctxs": {}},
        {**good, "positive_ctxs": [{"title": "Coast"}]},
        {"answers": ["x"]},
        {"question": "q"},
        7,
        {"question": "q", "answers": ["x"]},
    ]
    path = tmp_path / "nq.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    asked, report, damage, _ = read_questions(path, graph)
    assert [one.id for one in asked] == ["1"]
    assert damage == [
        BadLine(2, "has a question that is no text"),
        BadLine(3, "has answers that are no list of texts"),
        BadLine(4, "has no answer"),
        BadLine(5, "has `positive_ctxs` that are no list"),
        BadLine(6, "has a passage without `title` and `text`"),
        BadLine(7, "has no 'question'"),
        BadLine(8, "has no 'answer'"),
        BadLine(9, "no object but int"),
        BadLine(10, "has no `positive_ctxs`"),
    ]
    assert report["damaged"] == 9


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            {"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": []},
            "holds FEVER, not Natural Questions: `linkwalk score fever` reads it",
        ),
        ({"_id": "1", "question": "q", "answer": "a", "supporting_facts": []}, "holds multi-hop questions"),
        (
            {"example_id": 1, "question_text": "q", "annotations": []},
            "holds Natural Questions with whole pages",
        ),
        ({"title": "t", "text": "x"}, "holds no questions with answers: line 1 has no 'question'"),
    ],
)
def test_files_of_another_kind_get_one_line(
    graph: Graph, tmp_path: Path, record: dict[str, Any], message: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(InputError, match=message) as error:
        read_questions(path, graph)
    assert "\n" not in str(error.value)


def test_an_empty_table_and_a_missing_file(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("\n")
    with pytest.raises(InputError, match="holds no questions with answers"):
        read_questions(path, graph)
    with pytest.raises(InputError, match="cannot read"):
        read_questions(tmp_path / "none.tsv", graph)


def test_the_scan_agrees_with_looking_into_every_block(make: Maker) -> None:
    """Answers of one to three words, taken from the text and invented."""
    graph = make([P(f"Page {i}", prose(120, i)) for i in range(12)], min_chars=0).graph
    words = " ".join(graph.texts[node] for node in range(graph.nodes)).split()
    answers = [" ".join(words[at : at + n]) for n in (1, 2, 3) for at in range(0, len(words), 41)]
    answers += [" ".join((words[at], words[-at])) for at in range(1, len(words), 17)]
    asked = [
        AlignedQuestion(id=str(i), text="q", answers=tuple(answers[i : i + 2]))
        for i in range(0, len(answers), 2)
    ]
    expected = [
        any(holds(graph.texts[node], answer_phrases(one.answers)) for node in range(graph.nodes))
        for one in asked
    ]
    assert answerable(graph, [one.answers for one in asked]) == expected
    assert 0 < sum(expected) < len(expected)


@pytest.mark.skipif(not NQ_OPEN.exists(), reason="needs the NQ-open questions in ../shared/data")
def test_the_published_questions_are_read_whole(graph: Graph) -> None:
    asked, report, damage, _ = read_questions(NQ_OPEN, graph)
    assert (len(asked), damage) == (1738, [])
    assert all(one.answers for one in asked)
    assert report["answerable"]["matched"] < 300
