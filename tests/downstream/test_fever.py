"""FEVER's files in their official form, matched with the bundled encyclopedia, and written back for its scorer."""

import ast
import inspect
import json
import random
import re
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwalk.downstream
from linkwalk.downstream.benchmark import as_pages
from linkwalk.downstream.dataset import AlignedQuestion
from linkwalk.downstream.fever import WikiPages, match_title, names_of, page_title, split_lines
from linkwalk.downstream.fever_score import read_predictions, score
from linkwalk.downstream.fever_submission import Submission, sentence_ids, write_submission
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.navigate import open_baseline
from linkwalk.retrieve import Bm25, FindConfig, Finder, index
from linkwalk.retrieve.config import NAVIGATION
from tests.downstream.reading import read_claim_file, read_claims

HERE = Path(__file__).parent / "fixtures" / "fever"
DATA = Path(__file__).parents[3] / "shared" / "data"
KOENIGSBERG = unicodedata.normalize("NFD", "Seven_Bridges_of_Königsberg")


@pytest.fixture(scope="module")
def wiki(encyclopedia: Path) -> Path:
    return encyclopedia


@pytest.fixture(scope="module")
def graph(wiki: Path) -> Graph:
    return Graph.open(wiki)


def write(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in records))
    return path


def names(graph: Graph, one: AlignedQuestion) -> list[set[str]]:
    return [{graph.name(node) for node in nodes} for nodes in one.gold]


def as_fever(text: str) -> str:
    """A sentence as FEVER's tokeniser leaves it."""
    text = re.sub(r'"([^"]*)"', r"`` \1 ''", unicodedata.normalize("NFD", text))
    text = re.sub(r"([.,;:?!])(?=\s|$)", r" \1", text).replace("–", "--").replace("'s", " 's")
    for sign, mark in {"(": "-LRB- ", ")": " -RRB-", "[": "-LSB- ", "]": " -RSB-"}.items():
        text = text.replace(sign, mark)
    return text


def test_official_claims_become_blocks(graph: Graph) -> None:
    asked, report, damage, _ = read_claims(HERE / "claims.jsonl", graph, wiki_pages=HERE / "wiki-pages")
    assert {one.id: (names(graph, one), one.group) for one in asked} == {
        "101": ([{"Octopus (0)"}], "lead"),
        "102": ([{"Shark (2)"}], "other"),
        "103": ([{"Copper (1)", "Octopus (0)"}], "two articles"),
        "105": ([{"Mercury (planet) (2)"}], "other"),
        "106": ([{"Shark (0)"}], "lead"),
        "108": ([{"Octopus (0)"}], "lead"),
        "110": ([{"Graph theory (1)"}], "other"),
    }
    assert damage == []
    assert json.loads(json.dumps(report)) == report
    assert (report["claims"], report["asked"]) == (11, 7)
    assert report["labels"] == {"SUPPORTS": 6, "REFUTES": 4, "NOT ENOUGH INFO": 1}
    assert report["left out"] == {
        "NOT ENOUGH INFO": 1,
        "page not in the wiki": 1,
        "no block reaches the threshold": 1,
        "no text of the sentence": 1,
    }
    assert report["groups"] == {"lead": 3, "other": 3, "two articles": 1}
    articles, sentences = report["articles"], report["sentences"]
    assert articles["how"] == {"exact": 3, "encoding": 1, "redirect": 2}
    assert (articles["named"], articles["matched"]) == (7, 6)
    assert articles["not matched"] == ["Soul_Food_-LRB-film-RRB-"]
    assert [sentences[n] for n in ("named", "without text", "of articles in the wiki", "matched")] == [
        13,
        2,
        10,
        9,
    ]
    assert [(s["page"], s["number"]) for s in sentences["not matched"]] == [("Octopus", 4)]


def test_pages_alone_need_no_sentences(graph: Graph) -> None:
    asked, report, _, _ = read_claims(HERE / "claims.jsonl", graph, level="page")
    by_id = {one.id: one for one in asked}
    assert by_id["103"].group == "two articles"
    assert names(graph, by_id["103"]) == [{"Copper (0)", "Octopus (0)"}]
    assert names(graph, by_id["109"]) == [{"Octopus (0)"}]
    assert "107" not in by_id
    assert report["left out"] == {"NOT ENOUGH INFO": 1, "page not in the wiki": 1}
    octopus, copper = graph.find("Octopus (2)"), graph.find("Copper (1)")
    assert by_id["103"].recall(graph, as_pages(graph, [octopus, octopus, copper])) == [
        0.5,
        0.5,
        1.0,
        1.0,
        1.0,
    ]


def test_block_gold_without_any_text_is_refused(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"by number only: give FEVER's wiki-pages.*or count pages"):
        read_claims(HERE / "claims.jsonl", graph)
    write(tmp_path / "wiki-001.jsonl", [{"id": "Elsewhere", "text": "", "lines": "0\tHere ."}])
    with pytest.raises(InputError, match="none of the sentences"):
        read_claims(HERE / "claims.jsonl", graph, wiki_pages=tmp_path)


@pytest.mark.parametrize("bad", [{"threshold": 0}, {"threshold": 101}, {"level": "word"}])
def test_odd_options_are_refused(graph: Graph, bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="choose"):
        read_claims(HERE / "claims.jsonl", graph, wiki_pages=HERE, **bad)


def test_the_shorter_form_with_its_sentence(graph: Graph, tmp_path: Path) -> None:
    sentence = "Octopus blood is blue , because it carries oxygen with a protein built around copper ."
    path = write(
        tmp_path / "short.jsonl",
        [
            {
                "claim": "A.",
                "label": "SUPPORTS",
                "evidence": [[["Octopus", 3]]],
                "evidence_sentence": sentence,
            },
            {
                "claim": "B.",
                "label": "REFUTES",
                "evidence": [[["octopus", 3]]],
                "evidence_sentence": sentence,
            },
            {
                "claim": "C.",
                "label": "REFUTES",
                "evidence": [[["Mercury (planet)", 0]]],
                "evidence_sentence": "X",
            },
        ],
    )
    asked, report, _, _ = read_claims(path, graph)
    assert [(one.id, names(graph, one)) for one in asked] == [
        ("line 1", [{"Octopus (0)"}]),
        ("line 2", [{"Octopus (0)"}]),
    ]
    assert report["articles"]["how"] == {"exact": 2, "case": 1}


def test_every_block_at_the_threshold_is_an_alternative(graph: Graph, tmp_path: Path) -> None:
    sentence = "octopus blue blood copper oxygen"
    record = {
        "claim": "A.",
        "label": "SUPPORTS",
        "evidence": [[["Copper", 0]]],
        "evidence_sentence": sentence,
    }
    path = write(tmp_path / "a.jsonl", [record])
    aligned = [read_claims(path, graph, threshold=threshold) for threshold in (20, 60, 99)]
    counts = [one.report["sentences"]["blocks per sentence"] for one in aligned]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 1
    for one, count in zip(aligned, counts, strict=True):
        assert len(one.questions[0].gold) == count
        assert len(one.questions) == one.report["sentences"]["matched"] == 1


def test_files_without_labels_are_read_and_nothing_is_asked(graph: Graph) -> None:
    claims, damage = read_claim_file(HERE / "test.jsonl")
    assert [(claim.id, claim.label, claim.evidence) for claim in claims] == [
        (f"{i}", None, ()) for i in (201, 202, 203)
    ]
    assert damage == []
    asked, report, _, _ = read_claims(HERE / "test.jsonl", graph)
    assert asked == []
    assert report["left out"] == {"no label": 3}


GOOD = {"id": 1, "label": "SUPPORTS", "claim": "A.", "evidence": [[[1, 2, "Octopus", 3]]]}
BAD: list[tuple[Any, str]] = [
    ('{"id": 7, "claim": ', "no JSON"),
    ("[1, 2]", "no object"),
    ({**GOOD, "id": 2, "claim": None}, "no text as claim"),
    ({**GOOD, "id": 2, "claim": "  "}, "no text as claim"),
    ({**GOOD, "id": [2]}, "an id"),
    ({**GOOD, "id": True}, "an id"),
    ({**GOOD, "id": 2, "label": "MAYBE"}, "a label"),
    ({**GOOD, "id": 2, "label": ["SUPPORTS"]}, "a label"),
    ({**GOOD, "id": 2, "evidence": "Octopus"}, "no list of lists"),
    ({**GOOD, "id": 2, "evidence": [["Octopus", 3]]}, "neither"),
    ({**GOOD, "id": 2, "evidence": [[["Octopus"]]]}, "neither"),
    ({**GOOD, "id": 2, "evidence": [[[1, 2, 3, 4]]]}, "a page"),
    ({**GOOD, "id": 2, "evidence": [[[1, 2, "Octopus", "3"]]]}, "sentence number"),
    ({**GOOD, "id": 2, "evidence": [[[1, 2, "Octopus", -1]]]}, "sentence number"),
    ({**GOOD, "id": 2, "evidence": [[[1, 2, "Octopus", True]]]}, "sentence number"),
    ({**GOOD, "id": 2, "evidence": [[[1, 2, "Octo\ud800", 1]]]}, "surrogate"),
    ({**GOOD, "id": 2, "evidence_sentence": 5}, "no text as evidence_sentence"),
    ({**GOOD, "id": 2, "evidence": [[["A", 1]], [["B", 1]]], "evidence_sentence": "X"}, "several"),
    (GOOD, "a second time, first in line 1"),
]


@pytest.mark.parametrize(("record", "reason"), BAD)
def test_a_bad_line_is_set_aside_with_its_number(
    graph: Graph, tmp_path: Path, record: Any, reason: str
) -> None:
    path = write(tmp_path / "claims.jsonl", [GOOD, record, {**GOOD, "id": 9}])
    asked, report, damage, _ = read_claims(path, graph, wiki_pages=HERE)
    assert [one.id for one in asked] == ["1", "9"]
    assert [d.line for d in damage] == [2]
    assert reason in damage[0].reason
    assert report["damaged lines"] == 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-2, 5) | st.sampled_from(["Octopus", "", "SUPPORTS"]),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(list(GOOD)), inner),
        max_leaves=12,
    ),
    st.sampled_from([*GOOD, "evidence_sentence"]),
)
def test_no_record_breaks_the_reader(
    tmp_path_factory: pytest.TempPathFactory, value: Any, field: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    write(path, [GOOD, {**GOOD, "id": 2, field: value}])
    claims, damage = read_claim_file(path)
    assert len(claims) + len(damage) == 2


def test_a_file_of_something_else_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no claim of FEVER's: line 1 has no text as claim; give a file"):
        read_claim_file(write(tmp_path / "other.jsonl", [{"topic": "Who?"}]))


def test_evidence_that_names_no_page_cannot_be_found(graph: Graph, tmp_path: Path) -> None:
    half = {**GOOD, "evidence": [[[1, 2, "Octopus", 3], [1, None, None, None]], []]}
    _, report, damage, _ = read_claims(write(tmp_path / "a.jsonl", [half]), graph)
    assert damage == []
    assert report["left out"] == {"no evidence named": 1}


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        (["Octopus", 1], "no text of the sentence"),
        (["Octopus", None], "no text of the sentence"),
        (["Octopus", 4], "no block reaches the threshold"),
        (["Soul_Food_-LRB-film-RRB-", 0], "page not in the wiki"),
    ],
)
def test_a_set_counts_only_if_all_of_it_can_be_found(
    graph: Graph, tmp_path: Path, missing: list[Any], reason: str
) -> None:
    path = write(tmp_path / "a.jsonl", [{**GOOD, "evidence": [[["Octopus", 3], missing]]}])
    asked, report, _, _ = read_claims(path, graph, wiki_pages=HERE)
    assert asked == []
    assert report["left out"] == {reason: 1}


@pytest.mark.parametrize(
    ("page", "title", "how"),
    [
        ("Octopus", "Octopus", "exact"),
        ("Mercury (planet)", "Mercury (planet)", "exact"),
        ("Mercury_-LRB-planet-RRB-", "Mercury (planet)", "encoding"),
        ("sea_turtle", "Sea turtle", "case"),
        ("Whale_shark", "Shark", "redirect"),
        (KOENIGSBERG, "Graph theory", "redirect"),
        ("Atlantis", None, ""),
        ("", None, ""),
    ],
)
def test_titles(graph: Graph, page: str, title: str | None, how: str) -> None:
    found = match_title(graph, page)
    assert (found and (graph.titles[found[0]], found[1])) == (title and (title, how))


def test_title_encodings() -> None:
    assert page_title("X-Men-COLON-_Apocalypse") == "X-Men: Apocalypse"
    assert page_title("A_-LSB-b-RSB-_-LCB-c-RCB-_``d''") == 'A [b] {c} "d"'


def test_dashes_of_titles(make: Any) -> None:
    from tests.conftest import P, prose

    graph = make([P("Burr–Hamilton duel", prose(80)), P("Now—then", prose(80))], min_chars=0).graph
    assert match_title(graph, "Burr--Hamilton_duel") == (graph.article("Burr–Hamilton duel"), "encoding")
    assert match_title(graph, "Now--then") == (graph.article("Now—then"), "encoding")


def test_lines_as_published() -> None:
    wiki = WikiPages.open(HERE, ["Octopus", "Shark", "Whale shark"])
    assert wiki.sentence("Octopus", 3) == (
        "Octopus blood is blue , because it carries oxygen with a protein built around copper , "
        "where human blood uses iron ."
    )
    assert wiki.sentence("Octopus", 0).endswith("than ours .")  # type: ignore[union-attr]
    assert [wiki.sentence("Octopus", n) for n in (1, 5, 6, 99)] == [None] * 4
    assert list(wiki.sentences("Octopus")) == [0, 1, 2, 3, 4, 5]
    assert wiki.sentence("Shark", 3) == (
        "Bull sharks have been caught in the Mississippi River as far up as 1984 Illinois , "
        "and in the Amazon River as far up as Iquitos in Peru ."
    )
    assert wiki.sentence("Shark", 4).startswith("Sharks kill")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("lines", "sentences"),
    [
        ("", {}),
        ("0\t", {0: ""}),
        ("0\tA\n1\tB", {0: "A", 1: "B"}),
        ("0\tA\n\n1\tB\n", {0: "A", 1: "B"}),
        ("0\tin\n1984\tlink\tLink\n1\tB", {0: "in 1984", 1: "B"}),
        ("0\tA\n2\tC\n3\tD", {0: "A", 2: "C", 3: "D"}),
        ("0\tA\u2028B\n1", {0: "A B", 1: ""}),
        ("0\tA\u20281\n1\tB", {0: "A 1", 1: "B"}),
        ("lost\n0\tA", {0: "A"}),
        ("0\tA\n0\tB", {0: "A 0"}),
        ("0\tA\n²\tB", {0: "A ²"}),
    ],
)
def test_odd_lines(lines: str, sentences: dict[int, str]) -> None:
    assert split_lines(lines) == sentences


def test_only_pages_asked_for_are_kept() -> None:
    wiki = WikiPages.open(
        HERE / "wiki-pages", ["Mercury (planet)", "Seven Bridges of Königsberg", "Atlantis"]
    )
    assert len(wiki) == 2
    assert wiki.read == 9
    assert wiki.missing == ["Atlantis"]
    assert wiki.id("Mercury (planet)") == "Mercury_-LRB-planet-RRB-"
    assert wiki.id("Seven Bridges of Königsberg") == KOENIGSBERG
    assert "Octopus" not in wiki
    assert wiki.sentences("Octopus") == {}


def test_damaged_wiki_pages_are_told(tmp_path: Path, graph: Graph) -> None:
    page = {"id": "Octopus", "text": "", "lines": "0\tIt swims ."}
    write(
        tmp_path / "wiki-001.jsonl",
        ['{"id": "Octopus", "te', {"text": "", "lines": ""}, {"id": "Octopus", "lines": 3}, "[]", page],
    )
    (tmp_path / "wiki-002.jsonl").write_bytes(b'{"id": "\xff", "lines": ""}\n')
    wiki = WikiPages.open(tmp_path, ["Octopus"])
    assert [damage.line for damage in wiki.damage] == [1, 2, 3, 4, 1]
    assert "wiki-002.jsonl" in wiki.damage[-1].reason
    assert wiki.sentence("Octopus", 0) == "It swims ."
    benchmark = read_claims(
        write(tmp_path / "c.jsonl", [{**GOOD, "evidence": [[[1, 1, "Octopus", 0]]]}]),
        graph,
        wiki_pages=tmp_path,
    )
    assert benchmark.report["damaged lines"] == 5


def test_missing_wiki_pages_say_what_to_download(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is no folder: download wiki-pages\.zip from https://fever\.ai"):
        WikiPages.open(tmp_path / "none", [])
    with pytest.raises(InputError, match=r"has no wiki-\*\.jsonl: download"):
        WikiPages.open(tmp_path, [])
    (tmp_path / "wiki-001.jsonl").mkdir()
    with pytest.raises(InputError, match="cannot read"):
        WikiPages.open(tmp_path, [])


def test_there_and_back_over_the_whole_encyclopedia(graph: Graph, tmp_path: Path) -> None:
    """Every article as FEVER would have it: each sentence finds its block at the paper's 80, and its number again."""
    claims, pages, truth = [], [], {}
    for article in range(graph.articles):
        title = graph.titles[article]
        lines: list[str] = []
        for node in graph.article_blocks(article).tolist():
            for sentence in graph.block(node).sentences:
                if len(sentence.split()) < 6:
                    continue
                page = title.replace(" ", "_").replace("(", "-LRB-").replace(")", "-RRB-")
                number = len(lines)
                lines.append(f"{number}\t{as_fever(sentence)}\tlink\tLink")
                truth[page, number] = (node, title, sentence)
                evidence = [[[1, 1, page, number]]]
                claims.append(
                    {**GOOD, "id": len(truth), "claim": f"Claim {len(truth)}.", "evidence": evidence}
                )
        pages.append({"id": page, "text": "", "lines": "\n".join(lines)})
    write(tmp_path / "wiki-001.jsonl", pages)
    path = write(tmp_path / "claims.jsonl", claims)
    asked, report, _, _ = read_claims(path, graph, wiki_pages=tmp_path)
    assert report["articles"]["rate"] == 1
    assert report["sentences"]["rate"] > 0.999
    of_claim = dict(zip((str(i) for i in range(1, len(truth) + 1)), truth.values(), strict=True))
    right = [any(of_claim[one.id][0] in nodes for nodes in one.gold) for one in asked]
    assert sum(right) > 0.999 * len(truth)
    wiki = WikiPages.open(tmp_path, graph.titles.slice(0, graph.articles))
    ids = sentence_ids(wiki, [(title, sentence) for _, title, sentence in truth.values()])
    same = sum(a == b for a, b in zip(ids, truth, strict=True))
    assert same > 0.995 * len(truth)


def test_sentences_back_to_their_numbers(graph: Graph) -> None:
    titles = ["Shark", "Graph theory", "Octopus", "Piano"]
    known = names_of(graph, titles)
    assert known["Graph theory"] == ["Graph theory", "Seven Bridges of Königsberg"]
    wiki = WikiPages.open(HERE, [name for group in known.values() for name in group])
    found = [
        ("Octopus", graph.block(graph.find("Octopus")).sentences[3]),
        ("Octopus", graph.block(graph.find("Octopus (2)")).sentences[1]),
        ("Graph theory", graph.block(graph.find("Graph theory (1)")).sentences[1]),
        ("Piano", graph.block(graph.find("Piano")).sentences[0]),
        ("Shark", "A shark is a fish whose skeleton is made of cartilage instead of bone."),
    ]
    assert sentence_ids(wiki, found, names=known) == [
        ("Octopus", 3),
        None,
        (KOENIGSBERG, 0),
        None,
        ("Shark", 0),
    ]
    assert sentence_ids(wiki, found)[2] is None  # its page has another name there


def test_a_submission_is_what_the_scorer_reads(tmp_path: Path) -> None:
    claims, _ = read_claim_file(HERE / "claims.jsonl")
    evidence = {"103": [("Octopus", 2), ("Copper", 1)], "110": [("Shark", 0), (KOENIGSBERG, 0)]}
    path = tmp_path / "predictions.jsonl"
    write_submission(
        path,
        [
            Submission(
                claim.id,
                evidence.get(claim.id, ()),
                claim.label or "",
                [0.9, 0.5][: 2 * (claim.id in evidence)],
            )
            for claim in claims
        ],
    )
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {"id": 101, "predicted_label": "SUPPORTS", "predicted_evidence": []}
    assert lines[2]["predicted_evidence"] == [["Octopus", 2], ["Copper", 1]]
    predictions = read_predictions(path, HERE / "claims.jsonl")
    assert predictions[2].scores == (0.9, 0.5)
    result = score(predictions)
    assert result.label_accuracy == 1
    assert result.recall == pytest.approx(2 / 10)
    assert result.precision == pytest.approx((8 + 1 + 0.5) / 10)


def test_a_submission_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    with pytest.raises(InputError, match="claim 2 is labelled 'YES'"):
        write_submission(path, [Submission("1", ()), Submission("2", (), "YES")])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="cannot write"):
        write_submission(tmp_path / "none" / "x", [])


def test_what_is_found_does_not_depend_on_the_gold(wiki: Path, graph: Graph) -> None:
    index(wiki, graph)
    vectors = np.random.default_rng(0).standard_normal((graph.nodes, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    agent = open_baseline("greedy", graph.forward, vectors)
    asked = read_claims(HERE / "claims.jsonl", graph, wiki_pages=HERE).questions
    golds = [one.gold for one in asked]
    random.Random(0).shuffle(golds)
    shuffled = [one._replace(gold=gold, group="?") for one, gold in zip(asked, golds, strict=True)]
    assert [one.gold for one in shuffled] != [one.gold for one in asked]
    for way in NAVIGATION:
        finder = Finder(
            graph, Bm25.open(wiki, graph), FindConfig(navigation=way), agent=agent, vectors=vectors
        )
        found = [
            finder.find_many(texts, meanings=vectors[[len(text) for text in texts]])
            for texts in ([claim.text for claim in claims] for claims in (asked, shuffled))
        ]
        assert found[0] == found[1]
        assert all(one.sentences for one in found[0])


def told(source: str) -> list[str]:
    """Calls of something that searches, with gold, labels, answers, evidence or ready hits among the arguments."""
    searching = set(
        "find find_many find_waves hits readings search search_many blocks_by_words blocks_by_meaning "
        "nearest_many rerank tfidf run read_on".split()
    )
    found = []
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
            parts = [part for argument in arguments for part in ast.walk(argument)]
            used = {getattr(part, "attr", getattr(part, "id", "")) for part in parts}
            given = name == "find_many" and any(keyword.arg == "hits" for keyword in call.keywords)
            if name in searching and (given or used & {"gold", "label", "answers", "evidence"}):
                found.append(f"line {call.lineno}: {name}")
    return found


def test_nothing_that_retrieves_is_given_gold() -> None:
    assert set(inspect.signature(Finder.find).parameters) == {"self", "query", "count", "meaning"}
    many = {"self", "queries", "count", "meanings", "sought", "hits", "clock"}
    assert set(inspect.signature(Finder.find_many).parameters) == many
    assert set(inspect.signature(Finder.find_waves).parameters) == {"self", "query", "count", "meaning"}
    assert told("finder.find(one.text, meaning=embed(sorted(one.gold)))") == ["line 1: find"]
    assert told("finder.find_many(texts, hits=those_that_help)") == ["line 1: find_many"]
    assert told("one.recall(one.gold)\nfinder.find(one.text)") == []
    for path in Path(linkwalk.downstream.__path__[0]).glob("*.py"):
        assert told(path.read_text(encoding="utf-8")) == [], path.name


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the shared data: FEVER's development claims")
def test_the_real_files_are_read_whole(graph: Graph) -> None:
    claims, damage = read_claim_file(DATA / "fever-dev.jsonl.xz")
    assert (len(claims), damage) == (5053, [])
    assert all(bool(claim.evidence) == (claim.label != "NOT ENOUGH INFO") for claim in claims)
    for name, count in {
        "fever-train-in-schools2007.jsonl": 1503,
        "fever-dev-in-schools2007.jsonl": 241,
    }.items():
        claims, damage = read_claim_file(DATA / name)
        assert (len(claims), damage) == (count, [])
        assert all(claim.evidence for claim in claims)
    report = read_claims(DATA / "fever-train-in-schools2007.jsonl", graph, threshold=70).report
    assert report["articles"]["matched"] > 20
