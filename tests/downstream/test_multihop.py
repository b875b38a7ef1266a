"""Multi-hop questions: their paragraphs become a wiki, its blocks their gold."""

import copy
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from linkwalk.build.build import BuildConfig, build
from linkwalk.build.read import ExtractConfig
from linkwalk.downstream.dataset import AlignedQuestion
from linkwalk.downstream.question_sets import connections, write_wiki
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from tests.conftest import prose
from tests.downstream.reading import read_multihop

ARCHIVE = Path(__file__).parents[3] / "shared" / "data" / "multihop-qa.tar.xz"
RIVER = [
    "Tamsel is a river of the Orla hills.",
    " It rises near Hexby and was first charted by Ida Korhonen.",
]
IDA = ["Ida Korhonen was a Veltish surveyor.", " She was born in Brannow in 1871."]
TOWN = ["Hexby is a town.", " Its market is old."]
LONG = [
    f"{prose(90, 1)} The Long Fair is held in Hexby.",
    f" {prose(110, 2)} Its founder was Ole Strand.",
    " So it is said.",
]


def hotpot() -> list[dict[str, Any]]:
    return [
        {
            "_id": "h1",
            "question": "Where was the surveyor who first charted the Tamsel born?",
            "answer": "Brannow",
            "type": "bridge",
            "level": "easy",
            "supporting_facts": [["Tamsel", 1], ["Ida Korhonen", 1], ["Ida Korhonen", 7]],
            "context": [["Tamsel", RIVER], ["Hexby", TOWN], ["Ida Korhonen", IDA], ["Long fair", LONG]],
        },
        {
            "_id": "h2",
            "question": "Which is older, the market of Hexby or the fair founded by Ole Strand?",
            "answer": "no",
            "type": "comparison",
            "level": "hard",
            "supporting_facts": [["Hexby", 1], ["Long fair", 1]],
            "context": [["hexby", [" Its walls fell long ago, in the flood year, and were not built again."]],
                        ["Hexby", TOWN], ["Long fair", LONG]],
        },
    ]  # fmt: skip


def musique() -> list[dict[str, Any]]:
    texts = [("Tamsel", "".join(RIVER)), ("Long fair", "".join(LONG)), ("Ida Korhonen", "".join(IDA))]
    paragraphs = [
        {"idx": i, "title": title, "paragraph_text": text, "is_supporting": i > 0}
        for i, (title, text) in enumerate(texts)
    ]
    steps = [
        {"id": 1, "question": "q", "answer": "Hexby", "paragraph_support_idx": 1},
        {"id": 2, "question": "q", "answer": "1871", "paragraph_support_idx": 2},
    ]
    first = {
        "id": "2hop__1_2", "question": "When?", "answer": "1871", "answer_aliases": [], "answerable": True,
        "paragraphs": paragraphs, "question_decomposition": steps,
    }  # fmt: skip
    second: dict[str, Any] = copy.deepcopy(first) | {"id": "3hop1__1_2_3", "answerable": False}
    third: dict[str, Any] = copy.deepcopy(first) | {"id": "4hop__9"}
    del third["question_decomposition"]
    return [first, second, third]


def wiki(tmp_path: Path, records: list[dict[str, Any]]) -> tuple[Path, Graph]:
    """A file of questions and the graph of its paragraphs."""
    path = tmp_path / "questions.json"
    path.write_text(json.dumps(records))
    write_wiki(path, tmp_path / "wiki.jsonl")
    config = BuildConfig(extract=ExtractConfig(min_chars=1, keep_list_pages=True))
    return path, Graph.open(build([tmp_path / "wiki.jsonl"], tmp_path / "wiki", config).workspace)


def test_every_paragraph_stands_in_the_wiki_once(tmp_path: Path) -> None:
    path, graph = wiki(tmp_path, hotpot())
    lines = [json.loads(line) for line in (tmp_path / "wiki.jsonl").read_text().splitlines()]
    written = write_wiki(path, tmp_path / "again.jsonl")
    assert (written.articles, written.paragraphs, written.questions, written.damage) == (4, 5, 2, [])
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "wiki.jsonl").read_bytes()
    assert [line["title"] for line in lines] == ["Tamsel", "Hexby", "Ida Korhonen", "Long fair"]
    assert lines[1]["text"].split("\n") == [
        "Hexby is a town. Its market is old.",
        "Its walls fell long ago, in the flood year, and were not built again.",
    ]
    assert graph.articles == 4


def test_gold_of_hotpot(tmp_path: Path) -> None:
    path, graph = wiki(tmp_path, hotpot())
    asked, report, damage, _ = read_multihop(path, graph)
    founder = [node for node in range(graph.nodes) if "Ole Strand" in graph.texts[node]]
    assert len(graph.article_blocks(graph.article("Long fair") or 0)) > 1  # so it matters which of them it is
    assert asked == [
        AlignedQuestion(
            id="h1",
            text="Where was the surveyor who first charted the Tamsel born?",
            gold=(frozenset((graph.find("Tamsel"), graph.find("Ida Korhonen"))),),
            group="bridge",
        ),
        AlignedQuestion(
            id="h2",
            text="Which is older, the market of Hexby or the fair founded by Ole Strand?",
            gold=(frozenset((graph.find("Hexby"), founder[0])),),
            group="comparison",
        ),
    ]
    assert damage == []
    assert report["asked_by_group"] == {"bridge": 1, "comparison": 1}
    assert report["paragraphs"] == {"supporting": 4, "matched": 4, "rate": 100.0, "with_several_blocks": 0}


def test_gold_of_musique(tmp_path: Path) -> None:
    """The block with the step's answer; any block of the paragraph where the steps are not told."""
    path, graph = wiki(tmp_path, musique())
    asked, report, _, _ = read_multihop(path, graph)
    ida, fair = graph.find("Ida Korhonen"), graph.article_blocks(graph.article("Long fair") or 0).tolist()
    town = [node for node in fair if "Hexby" in graph.texts[node]]
    assert [(one.id, one.group) for one in asked] == [("2hop__1_2", "2hop"), ("4hop__9", "4hop")]
    assert len(town) == 1
    assert asked[0].gold == (frozenset((ida, town[0])),)
    assert set(asked[1].gold) == {frozenset((ida, node)) for node in fair}
    assert len(fair) > 1
    assert (report["questions"], report["unanswerable"], report["asked"]) == (3, 1, 2)
    assert report["paragraphs"]["with_several_blocks"] == 1


def test_a_file_may_begin_with_what_cannot_be_answered(tmp_path: Path) -> None:
    records = musique()
    nothing = {**records[1], "id": "2hop__0", "paragraphs": []}
    path, graph = wiki(tmp_path, [nothing, *records])
    asked, report, _, _ = read_multihop(path, graph)
    assert ([one.id for one in asked], report["unanswerable"]) == (["2hop__1_2", "4hop__9"], 2)


def test_alternatives_that_are_not_kept_are_counted(tmp_path: Path) -> None:
    """Two paragraphs of 17 blocks, of which any will do, are 289 ways to have both; short ones are one."""
    records = hotpot()
    long = [["Long fair", [prose(1700, 3)]], ["Hexby", [prose(1700, 4)]]]
    facts = [["Long fair", 5], ["Hexby", 5]]  # beyond the end: no sentence is marked
    records.append(hotpot()[0] | {"_id": "h3", "context": long, "supporting_facts": facts})
    path, graph = wiki(tmp_path, records)
    asked, report, _, _ = read_multihop(path, graph)
    assert [len(one.gold) for one in asked] == [1, 1, 256]
    assert report["more_alternatives_than_kept"] == 1


def test_the_columns_of_other_editions_say_the_same(tmp_path: Path) -> None:
    path, graph = wiki(tmp_path, hotpot())
    expected = read_multihop(path, graph).questions
    records = hotpot()
    for record in records:
        record["id"] = record.pop("_id")
        record["context"] = dict(
            zip(("title", "sentences"), zip(*record["context"], strict=True), strict=True)
        )
        facts = zip(*record["supporting_facts"], strict=True)
        record["supporting_facts"] = dict(zip(("title", "sent_id"), facts, strict=True))
    path.write_text("\n".join(map(json.dumps, records)))
    assert read_multihop(path, graph).questions == expected


def test_a_wiki_of_another_date(tmp_path: Path) -> None:
    """Reworded paragraphs are known by their likeness; others are reported, and what needs them is not asked."""
    path, graph = wiki(tmp_path, hotpot())
    records = hotpot()
    records[0]["context"][2][1] = ["Ida Korhonen (surveyor, Veltish) was born 1871 in Brannow, she was."]
    records[0]["supporting_facts"] = [["Tamsel", 1], ["Ida Korhonen", 0]]
    records[1]["context"][1:] = [
        ["Hexby", ["Nothing of it is known to anybody here."]],
        ["Long Fair II", LONG],
    ]
    records[1]["supporting_facts"] = [["Hexby", 0], ["Long Fair II", 1]]
    path.write_text(json.dumps(records))
    asked, report, _, _ = read_multihop(path, graph)
    assert [one.gold for one in asked] == [(frozenset((graph.find("Tamsel"), graph.find("Ida Korhonen"))),)]
    assert report["unmatched"] == {"text not in the article": 1, "title not in the wiki": 1}
    assert [(e["id"], e["title"]) for e in report["examples"]] == [("h2", "Hexby"), ("h2", "Long Fair II")]
    assert report["paragraphs"]["rate"] == 50.0


def test_how_evidence_is_connected(tmp_path: Path) -> None:
    """Tamsel's paragraph names Ida Korhonen, who names nobody: the way there counts, the way back need not exist."""
    path, graph = wiki(tmp_path, hotpot())
    asked = read_multihop(path, graph).questions
    tamsel, ida, hexby = (graph.find(name) for name in ("Tamsel", "Ida Korhonen", "Hexby"))
    assert {ida, hexby} <= set(graph.forward.row(tamsel).tolist())
    found = connections(graph, asked)
    assert (found.questions, found.connected) == (2, 2)
    three = AlignedQuestion(id="3", text="q", gold=(frozenset((tamsel, ida, hexby)),))
    back = AlignedQuestion(id="4", text="q", gold=(frozenset((ida, hexby)),))
    assert connections(graph, [asked[0], three, back]) == (3, 2, {1: 2})


def test_damaged_questions_are_located(tmp_path: Path) -> None:
    path, graph = wiki(tmp_path, hotpot())
    good = hotpot()[0]
    records: list[Any] = [
        good,
        {**good, "context": 3},
        {**good, "supporting_facts": [["Nowhere", 0]]},
        {**good, "supporting_facts": []},
        {key: value for key, value in good.items() if key != "question"},
        {**musique()[0], "paragraphs": [{"title": "t"}]},
        {**good, "question": ["a"]},
    ]
    path.write_text("\n".join(map(json.dumps, [*records, good])) + "\nno JSON\n")
    asked, report, damage, _ = read_multihop(path, graph)
    assert len(asked) == 2
    assert [d.line for d in damage] == [2, 3, 4, 5, 6, 7, 9]
    assert damage[1].reason == "has no paragraph of 'Nowhere', which supports it"
    assert damage[2].reason == "has no supporting paragraph"
    assert damage[3].reason == "has no 'question'"
    assert report["damaged"] == 7
    assert [d.line for d in write_wiki(path, tmp_path / "x.jsonl").damage] == [2, 3, 4, 5, 6, 7, 9]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": 1, "claim": "c", "evidence": []}, "holds FEVER, not multi-hop questions"),
        ({"question": "q", "answers": ["a"], "positive_ctxs": []}, "holds Natural Questions, not"),
        ({"question": "q", "answer": "a", "type": "bridge"}, "holds Natural Questions, not"),
        (
            {"title": "t", "text": "x"},
            "holds no multi-hop questions with their paragraphs: object 1 has no 'context'",
        ),
    ],
)
def test_files_of_another_kind_get_one_line(tmp_path: Path, record: dict[str, Any], message: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(InputError, match=message) as error:
        write_wiki(path, tmp_path / "wiki.jsonl")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "wiki.jsonl").exists()


def test_a_wiki_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(hotpot()))
    with pytest.raises(InputError, match="cannot write"):
        write_wiki(path, tmp_path)


@pytest.mark.skipif(not ARCHIVE.exists(), reason="needs the multi-hop questions in ../shared/data")
@pytest.mark.parametrize(
    ("name", "supporting", "linked"), [("hotpotqa_train.json", 200, 0.5), ("musique_train.json", 237, 0.1)]
)
def test_every_supporting_paragraph_of_published_questions_is_found(
    tmp_path: Path, name: str, supporting: int, linked: float
) -> None:
    """And the builder's entity links connect a good part of the evidence."""
    with tarfile.open(ARCHIVE) as archive:
        member = archive.extractfile(next(m for m in archive.getmembers() if Path(m.name).name == name))
        assert member is not None
        path, graph = wiki(tmp_path, json.load(member))
    asked, report, damage, _ = read_multihop(path, graph)
    assert (len(asked), damage) == (100, [])
    assert report["paragraphs"]["matched"] == report["paragraphs"]["supporting"] == supporting
    assert connections(graph, asked).connected > linked * len(asked)
