"""``linkwalk score`` and the tables of evidence, as a user runs them."""

import json
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linkwalk import shipped
from linkwalk.build.build import build
from linkwalk.downstream.fever_score import read_predictions, score
from linkwalk.graph.store import Graph
from tests.cli.conftest import Ran
from tests.downstream.reading import read_claims
from tests.retrieve.stand_in import by_hand, stand_in

Run = Callable[..., Ran]
FEVER = Path(__file__).parents[1] / "downstream" / "fixtures" / "fever"
CLAIMS, PAGES = FEVER / "claims.jsonl", FEVER / "wiki-pages"
PLAIN = ("--navigation", "none", "--rerank", "tfidf", "-q")


@pytest.fixture(scope="module")
def tiny(indexed_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty blocks, embedded and indexed, with a place for results."""
    return Path(shutil.copytree(indexed_world, tmp_path_factory.mktemp("score") / "wiki"))


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in records))
    return path


def questions_of(wiki: Path) -> list[dict[str, Any]]:
    """A question for each block: some of its words; the answer is the last of them."""
    graph = Graph.open(wiki)
    found = []
    for node in range(graph.nodes):
        words = [word.strip(".,()«»") for word in graph.texts[node].split()]
        passage = {"title": graph.title(node), "text": graph.texts[node]}
        answer = max(words, key=len)
        question = " ".join(words[2:7])
        found.append({"id": node, "question": question, "answers": [answer], "positive_ctxs": [passage]})
    return found


def test_fever_by_its_sentences_is_what_its_scorer_says(encyclopedia: Path, tmp_path: Path, run: Run) -> None:
    save, submission = tmp_path / "save.jsonl", tmp_path / "submission.jsonl"
    ran = run(
        *(
            "score",
            "fever",
            encyclopedia,
            CLAIMS,
            "--wiki-pages",
            PAGES,
            "--navigation",
            "expand",
            "--rerank",
            "tfidf",
            "--json",
        ),
        *("--save", save, "--submission", submission, "-q"),
    ).json()
    (result,) = ran["results"]
    assert (result["agent"], result["navigation"], result["rerank"]) == (None, "expand", "tfidf")
    official = score(read_predictions(submission, CLAIMS))
    for name in ("claims", "verifiable", "precision", "recall", "f1", "submitted"):
        assert result["metrics"]["fever"]["all"][name] == pytest.approx(getattr(official, name), abs=1e-4)
    assert 0 < official.recall < 1
    chosen = result["metrics"]["fever"]["thresholded"]
    assert chosen["kept"]["submitted"] < chosen["kept_fixed"]["submitted"]
    assert "evidence alone" in result["metrics"]["fever"]["labels"]
    graph = Graph.open(encyclopedia)
    gold = {one.id: one for one in read_claims(CLAIMS, graph, wiki_pages=PAGES).questions}
    saved = lines_of(save)
    assert [line["id"] for line in saved] == [str(claim["id"]) for claim in lines_of(CLAIMS)]
    judged = [line for line in saved if line["id"] in gold]
    for line in judged:
        assert line["recall"] == gold[line["id"]].recall(graph, line["nodes"])
        assert line["group"] == gold[line["id"]].group
        assert line["ranked"] == [graph.name(node) for node in line["nodes"]]
    assert all(line["recall"] is None for line in saved if line["id"] not in gold)
    at_5 = sum(line["recall"][-1] for line in judged) / len(judged)
    assert result["metrics"]["recall"][-1] == pytest.approx(at_5, abs=1e-4)
    assert sum(group["questions"] for group in result["metrics"]["groups"].values()) == len(judged)
    assert (ran["asked"], ran["judged"], ran["damaged"]) == (11, 7, 0)


def shuffled(records: list[dict[str, Any]], keep: set[str]) -> list[dict[str, Any]]:
    """Everything but ``keep`` handed to another record."""
    moved = [{name: value for name, value in one.items() if name not in keep} for one in records]
    random.Random(1).shuffle(moved)
    return [
        {name: one[name] for name in one if name in keep} | other
        for one, other in zip(records, moved, strict=True)
    ]


def test_no_gold_reaches_the_finder_of_fevers_claims(encyclopedia: Path, tmp_path: Path, run: Run) -> None:
    other = write(tmp_path / "shuffled.jsonl", shuffled(lines_of(CLAIMS), {"id", "claim"}))
    found = []
    for number, file in enumerate((CLAIMS, other)):
        save, submission = tmp_path / f"save{number}", tmp_path / f"submission{number}"
        ran = run(
            *(
                "score",
                "fever",
                encyclopedia,
                file,
                "--wiki-pages",
                PAGES,
                "--navigation",
                "expand",
                "--rerank",
                "tfidf",
            ),
            *("--json", "-q", "--save", save, "--submission", submission),
        ).json()
        ranked = [(line["id"], line["nodes"]) for line in lines_of(save)]
        found.append((ranked, submission.read_bytes(), ran["results"][0]["metrics"]))
    assert found[0][0] == found[1][0]
    assert found[0][1] == found[1][1]
    assert found[0][2]["fever"]["all"]["recall"] > found[1][2]["fever"]["all"]["recall"]
    assert found[0][2]["recall"][-1] > found[1][2]["recall"][-1]


def test_no_gold_reaches_any_way_of_retrieval(tiny: Path, tmp_path: Path, run: Run) -> None:
    records = questions_of(tiny)
    gold = write(tmp_path / "gold.jsonl", records)
    others = {
        "gold": write(tmp_path / "other.jsonl", shuffled(records, {"id", "question"})),
        "answers": write(
            tmp_path / "open.jsonl",
            [{"id": r["id"], "question": r["question"], "answer": ["orbit"]} for r in records],
        ),
    }

    def ways(file: Path) -> tuple[dict[Any, Any], list[Any]]:
        ran = run(
            *("score", "nq", tiny, file, "--rows", "--rerank", "tfidf", "--candidates", 4, "--json", "-q"),
            *("--save", tmp_path / "save"),
        ).json()
        saved = {(line["id"], line["way"]): line["nodes"] for line in lines_of(tmp_path / "save")}
        return saved, [(one["way"], one["metrics"]["recall"]) for one in ran["results"]]

    right, figures = ways(gold)
    assert {way for _, way in right} >= {
        "BM25",
        "BM25 + walks + TF-IDF",
        "BM25 + navigation + TF-IDF",
        "hybrid",
    }
    assert len(right) == len(records) * len(figures)
    scores = {}
    for name, other in others.items():
        wrong, scores[name] = ways(other)
        assert wrong == right
        assert scores[name] != figures
    for way in ("BM25", "BM25 + TF-IDF", "BM25 + navigation + TF-IDF", "hybrid"):
        assert dict(figures)[way][0] > dict(scores["gold"])[way][0], way


def test_rows_side_by_side(tiny: Path, tmp_path: Path, run: Run) -> None:
    file = write(tmp_path / "gold.jsonl", questions_of(tiny))
    options = ("--rows", "--rerank", "tfidf", "--candidates", 4, "-q")
    results = run("score", "nq", tiny, file, *options, "--json").json()["results"]
    assert {one["metrics"]["blocks"] for one in results if one["navigation"] == "tabs"} == {4}
    assert all(one["metrics"]["blocks"] <= 4 for one in results)
    by_way = {one["way"]: one for one in results}
    against = by_way["BM25 + navigation + TF-IDF"]["against_reference"]["all"]
    assert by_way["BM25 + navigation + TF-IDF"]["reference"] == "BM25 + TF-IDF"
    assert against["reference"] == by_way["BM25 + TF-IDF"]["metrics"]["recall"][-1]
    assert against["difference_ci95"][0] <= against["difference"] <= against["difference_ci95"][1]
    alone = run(
        *(
            "score",
            "nq",
            tiny,
            file,
            "--start",
            "bm25",
            "--rerank",
            "tfidf",
            "--candidates",
            4,
            "-q",
            "--json",
        ),
    ).json()["results"][0]
    assert alone["agent"] == "compass"
    alone["metrics"].pop("questions_per_second")
    assert alone["metrics"] == by_way["BM25 + navigation + TF-IDF"]["metrics"]
    shown = run("score", "nq", tiny, file, *options).out
    assert "passages matched" in shown
    assert "the paper 99.3 %" in shown
    assert "BM25 + navigation + TF-IDF" in shown
    table = run("reproduce", "table6", tiny, "--file", file, "--rerank", "tfidf", "--quick", "-q").out
    assert "ours: BM25 " in table
    assert "+42.3 %" in table


def test_with_a_reader_of_blocks(tiny: Path, tmp_path: Path, run: Run) -> None:
    folder = stand_in(tmp_path / "blocks", ranking=by_hand())
    file = write(tmp_path / "gold.jsonl", questions_of(tiny)[:4])
    asked = ("score", "nq", tiny, file, "--rerank", folder, "--candidates", 4, "--json", "-q")
    (alone,) = run(*asked).json()["results"]
    rows = {one["way"]: one for one in run(*asked, "--rows").json()["results"]}
    assert len(rows) == 28
    usual = rows["hybrid + navigation + cross-encoder"]
    assert usual["metrics"]["recall"] == alone["metrics"]["recall"]
    assert usual["rerank"] == alone["rerank"] == str(folder)


@pytest.mark.slow
def test_table6_with_a_cross_encoder(tiny: Path, tmp_path: Path, run: Run) -> None:
    from linkwalk.embed.model import find_model
    from linkwalk.embed.transformer import open_transformer
    from linkwalk.retrieve.cross import CrossConfig
    from linkwalk.retrieve.cross_torch import CrossModel, save_cross

    config = CrossConfig(rank=2)  # untrained: the cosine
    weights = CrossModel(open_transformer(config.encoder, device="cpu").model, config.rank).weights()
    save_cross(tmp_path / "cross", weights, config, find_model(config.encoder).fingerprint, {})
    file = write(tmp_path / "gold.jsonl", questions_of(tiny)[:4])
    options = ("--file", file, "--rerank", tmp_path / "cross", "--candidates", 4, "-q")
    found = run("reproduce", "table6", tiny, *options, "--json").json()
    assert found["rerank"] == str(tmp_path / "cross")
    rows = {ours["row"]: ours for row in found["rows"] for ours in row["ours"]}
    assert list(rows) == [
        "BM25",
        "BM25 + cross-encoder",
        "BM25 + walks + cross-encoder",
        "BM25 + navigation + cross-encoder",
    ]
    gained = rows["BM25 + navigation + cross-encoder"]["gained"]
    assert [one["ours"] for one in gained] == rows["BM25 + navigation + cross-encoder"]["metrics"]["recall"]
    assert [one["reference"] for one in gained] == rows["BM25 + cross-encoder"]["metrics"]["recall"]


def test_answers_alone_are_the_weaker_measure(tiny: Path, tmp_path: Path, run: Run) -> None:
    records = [{"question": r["question"], "answer": r["answers"]} for r in questions_of(tiny)[:4]]
    file = write(tmp_path / "open.jsonl", [*records, {"question": "who?", "answer": ["xylophonist"]}])
    found = run("score", "nq", tiny, file, *PLAIN, "--json").json()
    metrics = found["results"][0]["metrics"]
    assert found["measure"] == "answer string (weaker)"
    assert metrics["groups"]["answerable"]["questions"] == 4
    assert metrics["recall"][-1] == pytest.approx(metrics["groups"]["answerable"]["recall"][-1] * 0.8)
    shown = run("score", "nq", tiny, file, *PLAIN).out
    assert "The weaker measure" in shown
    assert "answerable  4 of 5 (80.0 %)" in shown
    refused = run("score", "nq", tiny, file, *PLAIN, "--plots", tmp_path / "plots")
    assert (refused.status, "NQ-open has answers alone" in refused.err) == (2, True)


def test_multihop_counts_questions_with_everything_found(
    encyclopedia: Path, tmp_path: Path, run: Run
) -> None:
    graph = Graph.open(encyclopedia)
    lead = {name: graph.texts[graph.find(name)] for name in ("Octopus", "Copper", "Shark", "Iron")}

    def ask(number: int, text: str, *titles: str) -> dict[str, Any]:
        context = [[title, [lead[title]]] for title in titles]
        facts = [[title, 0] for title in titles]
        return {"_id": f"q{number}", "question": text, "context": context, "supporting_facts": facts}

    file = write(
        tmp_path / "hotpot.jsonl",
        [
            ask(1, "Has an octopus three hearts and copper in its blood?", "Octopus", "Copper"),
            ask(2, "three hearts of the octopus", "Octopus", "Shark"),
        ],
    )
    metrics = run("score", "multihop", encyclopedia, file, *PLAIN, "--json").json()["results"][0]["metrics"]
    assert metrics["questions"] == 2
    assert metrics["complete"][-1] < metrics["recall"][-1], (
        "half of the paragraphs is not a question answered"
    )
    assert "paragraphs matched  4 of 4" in run("score", "multihop", encyclopedia, file, *PLAIN).out


def test_a_file_is_opened_once(encyclopedia: Path, tmp_path: Path, run: Run) -> None:
    """Claims are read, aligned, halved and scored by FEVER's own measures; a question's file, too, is read once."""
    claims = tmp_path / "once.jsonl"
    claims.write_bytes(CLAIMS.read_bytes())
    questions = write(tmp_path / "questions.jsonl", [{"question": "who?", "answer": ["copper"]}])
    opened: list[str] = []
    watching = True

    def hook(event: str, given: tuple[object, ...]) -> None:
        if watching and event == "open":
            opened.append(str(given[0]))

    sys.addaudithook(hook)  # it stays as long as the process, and is told to look away
    ran = run("score", "fever", encyclopedia, claims, "--wiki-pages", PAGES, "--part", "kept", *PLAIN)
    assert ran.status == run("score", "nq", encyclopedia, questions, *PLAIN).status == 0
    watching = False
    assert (opened.count(str(claims)), opened.count(str(questions))) == (1, 1)


def test_halves_share_no_page(encyclopedia: Path, tmp_path: Path, run: Run) -> None:
    ids: dict[str, set[str]] = {}
    pages: dict[str, set[str]] = {}
    claims = {str(claim["id"]): claim for claim in lines_of(CLAIMS)}
    for part in ("tuned", "kept", "all"):
        save = tmp_path / part
        found = run(
            *(
                "score",
                "fever",
                encyclopedia,
                CLAIMS,
                "--level",
                "page",
                "--part",
                part,
                "--save",
                save,
                *PLAIN,
            ),
            "--json",
        ).json()
        assert found["part"] == part
        ids[part] = {line["id"] for line in lines_of(save)}
        evidence = [claims[name]["evidence"] for name in ids[part]]
        pages[part] = {entry[2] for groups in evidence for group in groups for entry in group}
    assert ids["tuned"] | ids["kept"] == ids["all"]
    assert ids["tuned"]
    assert ids["kept"]
    assert not pages["tuned"] & pages["kept"]
    shown = run("score", "fever", encyclopedia, CLAIMS, "--level", "page", "--limit", 2, *PLAIN)
    assert "2 asked, the first 2 alone" in shown.out


def test_claims_without_labels_make_a_submission(encyclopedia: Path, tmp_path: Path, run: Run) -> None:
    file, out = FEVER / "test.jsonl", tmp_path / "out.jsonl"
    options = ("--wiki-pages", PAGES, *PLAIN)
    none = run("score", "fever", encyclopedia, file, *options)
    assert (none.status, "can be asked" in none.err, len(none.err.splitlines())) == (2, True, 1)
    ran = run("score", "fever", encyclopedia, file, *options, "--submission", out, "--json").json()
    assert ran["results"][0]["metrics"].keys() == {"questions_per_second"}
    assert [line["id"] for line in lines_of(out)] == [201, 202, 203]
    assert all(len(line["predicted_evidence"]) <= 5 for line in lines_of(out))
    assert run("score", "fever", encyclopedia, file, *options, "--submission", out).status == 0


def test_damaged_lines_are_counted_and_located(encyclopedia: Path, tmp_path: Path, run: Run) -> None:
    good = lines_of(CLAIMS)
    file = write(
        tmp_path / "damaged.jsonl", [good[0], "{broken", good[1], {"id": 9, "claim": ""}, *["[1]"] * 5]
    )
    ran = run("score", "fever", encyclopedia, file, "--level", "page", *PLAIN, "--json")
    assert ran.status == 0
    assert (ran.json()["damaged"], ran.json()["asked"]) == (7, 2)
    assert len(ran.err.splitlines()) == 1
    assert "7 damaged" in ran.err
    assert "line 2: no JSON" in ran.err
    assert "line 4: no text as claim" in ran.err
    assert "and 2 more" in ran.err


def test_distances_from_search_to_evidence(encyclopedia: Path, tmp_path: Path, run: Run) -> None:
    pytest.importorskip("matplotlib")
    ran = run(
        *(
            "score",
            "fever",
            encyclopedia,
            CLAIMS,
            "--wiki-pages",
            PAGES,
            "--plots",
            tmp_path / "plots",
            *PLAIN,
        )
    )
    assert "(the paper: 4.3)" in ran.out
    assert (tmp_path / "plots" / "distances_fever.png").stat().st_size > 1000


def test_table5(encyclopedia: Path, tmp_path: Path, run: Run) -> None:
    options = ("--rows", "BM25 + TF-IDF", "--rerank", "tfidf", "-q")
    pages = ("--wiki-pages", PAGES)
    found = run("reproduce", "table5", encyclopedia, "--file", CLAIMS, *pages, *options, "--json").json()
    first = found["rows"][0]
    assert (first["row"], first["paper"]) == ("BM25 + TF-IDF", [0.33, 0.40, 0.36])
    same = run("score", "fever", encyclopedia, CLAIMS, *pages, *PLAIN, "--json").json()["results"][0][
        "metrics"
    ]
    assert first["ours"][0]["metrics"]["fever"] == same["fever"]
    shown = run(
        "reproduce", "table5", encyclopedia, "--file", CLAIMS, "--level", "page", *options, "--markdown"
    )
    assert "page recall@5" in shown.out
    assert "Without --wiki-pages" in shown.out
    assert "| BM25 + RFBC + BigBird" in shown.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["trivia", "{wiki}", "{claims}"],
            "no data set named 'trivia': choose one of fever, nq, multihop, links, or",
        ),
        (["nq", "{wiki}", "{claims}"], "holds FEVER, not Natural Questions: `linkwalk score fever` reads it"),
        (["multihop", "{wiki}", "{claims}"], "`linkwalk score fever` reads it"),
        (["fever", "{wiki}", "{open}"], "`linkwalk score nq` reads it"),
        (
            ["fever", "{wiki}", "{claims}"],
            "which have their text, or count pages instead of blocks (level page)",
        ),
        (
            ["fever", "{wiki}", "{claims}", "--wiki-pages", "{tmp}/none"],
            "is no folder: download wiki-pages.zip",
        ),
        (["fever", "{wiki}", "{empty}"], "is empty"),
        (["fever", "{wiki}", "{tmp}/missing.jsonl"], "cannot read"),
        (["fever", "{wiki}", "{broken}"], "has no usable line: line 1"),
        (["fever", "{wiki}", "{claims}", "--level", "word"], "choose block or page"),
        (["fever", "{wiki}", "{claims}", "--level", "page", "--part", "half"], "no part named 'half'"),
        (["fever", "{wiki}", "{far}", "--level", "page"], "page not in the wiki (1); give a wiki that holds"),
        (["fever", "{wiki}", "{claims}", "--level", "page", "--wiki-pages", "{tmp}"], "choose one of them"),
        (["nq", "{wiki}", "{open}", "--level", "page"], "level page belongs to FEVER"),
        (["nq", "{wiki}", "{open}", "--submission", "x"], "--submission is for FEVER"),
        (["nq", "{wiki}", "{open}", "--rows"], "leave the options that choose one away"),
        (["nq", "{wiki}", "{open}", "--save", "{tmp}/none/x"], "is no folder: make it first"),
        (
            ["nq", "{wiki}", "{open}", "--expand"],
            "--expand is now --navigation expand (see `linkwalk score --help`)",
        ),
        (["nq", "{stale}", "{open}"], "run `linkwalk index"),
        (["nq", "{tmp}/nowhere", "{open}"], "nowhere"),
    ],
)
def test_bad_input(
    encyclopedia: Path, tiny: Path, tmp_path: Path, run: Run, arguments: list[str], message: str
) -> None:
    stale = tmp_path / "stale"
    if "{stale}" in arguments:
        build([shipped.dump_path("demo")], stale)
        (stale / "index").symlink_to(tiny / "index")
    far = {"id": 1, "claim": "Far.", "label": "SUPPORTS", "evidence": [[[1, 1, "Nowhere_at_all", 0]]]}
    names = {
        "wiki": encyclopedia,
        "claims": CLAIMS,
        "tmp": tmp_path,
        "stale": stale,
        "open": write(tmp_path / "open.jsonl", [{"question": "who?", "answer": ["copper"]}]),
        "empty": write(tmp_path / "empty.jsonl", []),
        "broken": write(tmp_path / "broken.jsonl", ["{", "[]"]),
        "far": write(tmp_path / "far.jsonl", [far]),
    }
    ran = run("score", *(argument.format(**names) for argument in arguments), *PLAIN)
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1), ran.err
    assert message in ran.err


def test_tables_need_a_file(encyclopedia: Path, run: Run) -> None:
    for table, whose in (("table5", "FEVER's claims"), ("table6", "Natural Questions")):
        ran = run("reproduce", table, encyclopedia)
        assert (ran.status, f"{table} needs a file: give {whose}" in ran.err) == (2, True)
    ran = run("reproduce", "table1", encyclopedia, "--file", CLAIMS)
    assert (ran.status, "belong to table5, table6 and traces" in ran.err) == (2, True)
    ran = run("reproduce", "traces", encyclopedia, "--file", encyclopedia / "none.jsonl")
    assert (ran.status, "none.jsonl" in ran.err) == (2, True)
