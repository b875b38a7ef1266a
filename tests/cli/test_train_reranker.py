"""``linkwalk train-reranker`` and ``linkwalk tune-reader``, as a user runs them."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from linkwalk import shipped
from linkwalk.artifact.notes import NOTE
from linkwalk.embed.text import goal_sentences
from linkwalk.graph.store import Graph
from linkwalk.navigate.trained_map import MAP, SHIPPED
from linkwalk.policy.checkpoint import save_policy
from linkwalk.policy.heads import HeadConfig, build_head
from linkwalk.retrieve.cross import CrossEncoder, load_cross
from tests.cli.conftest import Ran
from tests.embed.conftest import tiny_bert

Run = Callable[..., Ran]


@pytest.fixture
def wiki(encyclopedia: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(encyclopedia, tmp_path / "wiki"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("reranker") / "tiny", initializer_range=0.2)


@pytest.fixture
def quick(tiny: Path) -> tuple[str, ...]:
    settings = (f"model.encoder={tiny}", "model.rank=2", "updates=3", "warmup=1", "lists=2", "mine.depth=8")
    return (*(part for one in settings for part in ("--set", one)), "--device", "cpu")


def write(path: Path, records: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def claims(path: Path, count: int | None = None) -> Path:
    """The encyclopedia's own claims as a FEVER file."""
    records = [
        {
            "claim": one["claim"],
            "label": one["label"],
            "evidence": [[[one["article"], 0]]],
            "evidence_sentence": one["sentence"],
        }
        for one in shipped.claims()[:count]
    ]
    return write(path, records)


def names(folder: Path) -> list[str]:
    """What is in a folder, but for the note of what has been looked at."""
    return sorted(path.name for path in folder.iterdir() if path.name != NOTE)


LIST = {
    "query": "how many hearts",
    "positives": [["Octopus", "It has three hearts."]],
    "negatives": [["", f"Sentence {i} is about stone."] for i in range(7)],
}
QUESTIONS = [
    {"question": "how many hearts does an octopus have", "answer": ["three"]},
    {"question": "what is the octopus", "answer": ["zyzzyva quux"]},
]


def refused(ran: Ran, *words: str) -> None:
    """One line on standard error, and status 2."""
    assert (ran.status, ran.out) == (2, ""), ran
    assert len(ran.err.strip().splitlines()) == 1, ran.err
    for word in words:
        assert word in ran.err


def test_a_reranker_is_trained_and_ranks(
    run: Run, wiki: Path, quick: tuple[str, ...], tmp_path: Path
) -> None:
    files = [
        claims(tmp_path / "claims.jsonl", 30),
        write(tmp_path / "nq.jsonl", QUESTIONS),
        write(tmp_path / "lists.jsonl", [LIST, LIST | {"negatives": LIST["negatives"][:3]}]),
    ]
    ran = run("train-reranker", wiki, *files, "--name", "mine", *quick, "--json", "-q")
    assert (ran.status, ran.err) == (0, "")
    found = ran.json()
    folder = wiki / "rerankers" / "mine"
    assert found["reranker"] == str(folder)
    there = {path.name for path in folder.iterdir() if not path.name.startswith("events.")}
    assert there == {"cross.json", "cross.safetensors", "metrics.jsonl"}
    assert names(folder.parent) == ["mine"]
    manifest = json.loads((folder / "cross.json").read_bytes())
    assert manifest["data"] == found["data"]
    assert manifest["training"]["updates"] == 3
    assert manifest["training"]["mine"]["depth"] == 8
    assert manifest["config"]["rank"] == 2
    assert manifest["trained_on"] == {
        "snapshot": Graph.open(wiki).snapshot,
        "graph": Graph.open(wiki).fingerprint,
    }
    fever, nq, lists = found["data"]
    assert (fever["kind"], fever["part"], nq["part"]) == ("fever", "tuned", "all")
    assert 0 < fever["used"] == fever["lists"] < 30
    assert (nq["used"], nq["without evidence"]) == (1, 1)
    assert (lists["lists"], lists["used"], lists["too few negatives"]) == (2, 1, 1)
    assert found["last"]["update"] == 3
    assert isinstance(load_cross(folder, device="cpu"), CrossEncoder)
    asked = ("find", wiki, "How many hearts has an octopus?", "--navigation", "none", "--json")
    answer = run(*asked, "--rerank", folder).json()
    assert answer["evidence"]

    again = ("train-reranker", wiki, files[2], "--name", "mine", *quick)
    refused(
        run(*again), "has a reranker named 'mine' of another training (made_from.files was ['claims.jsonl"
    )
    before = (folder / "cross.safetensors").read_bytes()
    shown = run(*again, "--force")
    assert shown.status == 0
    assert "train: 3 updates" in shown.err
    assert "lists.jsonl: 1 of 2 (1 too few negatives)" in shown.out
    assert shown.out.endswith(f"next: linkwalk find {wiki} 'how many hearts' --rerank {folder}\n")
    assert (folder / "cross.safetensors").read_bytes() != before


def test_lists_alone_need_no_index(run: Run, wiki: Path, quick: tuple[str, ...], tmp_path: Path) -> None:
    shutil.rmtree(wiki / "index")
    ran = run("train-reranker", wiki, write(tmp_path / "l.jsonl", [LIST]), *quick, "-q")
    assert ran.status == 0, ran.err
    assert (wiki / "rerankers" / "ours" / "cross.safetensors").is_file()
    ran = run("train-reranker", wiki, claims(tmp_path / "c.jsonl", 5), "--name", "b", *quick, "-q")
    refused(ran, f"no index in {wiki}: run `linkwalk index {wiki}` first")


def test_all_claims_are_more_than_the_tuned(
    run: Run, wiki: Path, quick: tuple[str, ...], tmp_path: Path
) -> None:
    path = claims(tmp_path / "claims.jsonl", 20)
    ran = run("train-reranker", wiki, path, "--part", "all", *quick, "--json", "-q").json()
    assert (ran["data"][0]["part"], ran["data"][0]["lists"]) == ("all", 20)


def test_the_best_weights_are_kept(run: Run, wiki: Path, quick: tuple[str, ...], tmp_path: Path) -> None:
    path = write(tmp_path / "lists.jsonl", [LIST | {"query": f"hearts {i}"} for i in range(6)])
    held_out = ("--set", "held_out=2", "--set", "evaluate_every=1", "--set", "learning_rate=0.1")
    made = run("train-reranker", wiki, path, *quick, *held_out, "-q")
    assert made.status == 0, made.err
    rows = [json.loads(line) for line in (wiki / "rerankers/ours/metrics.jsonl").read_text().splitlines()]
    best = min(rows, key=lambda row: float(row["held_out_loss"]))["update"]
    assert rows[-1]["best"] == best
    assert f"the weights of update {best} were best and are kept" in made.out


def test_a_stopped_one_goes_on(run: Run, wiki: Path, quick: tuple[str, ...], tmp_path: Path) -> None:
    path = write(tmp_path / "lists.jsonl", [LIST])
    base = ("train-reranker", wiki, path, *quick, "--set", "learning_rate=1e30", "--checkpoint-every", "1")
    refused(run(*base, "-q"), "the training has run away")
    assert run(*base).err.startswith("goes on after update ")
    write(path, [LIST, LIST | {"query": "another"}])
    assert run(*base).err.startswith("begins anew: the training in ")
    assert run(*base, "--set", "learning_rate=1e-3", "-q").status == 0
    assert names(wiki / "rerankers") == ["ours"]


def test_damaged_lines_are_named(run: Run, wiki: Path, quick: tuple[str, ...], tmp_path: Path) -> None:
    path = claims(tmp_path / "claims.jsonl", 20)
    path.write_text(path.read_text() + "{\n")
    ran = run("train-reranker", wiki, path, *quick, "--json", "-q")
    assert ran.status == 0
    assert ran.err.startswith(f"warning: {path}: damaged lines left out: 1, the first is line 21 (no JSON")
    assert ran.json()["data"][0]["damaged lines"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["LIST", "--name", "../x"], "'../x' cannot name a reranker"),
        (["LIST", "--part", "all"], "lists are taken whole"),
        (["LIST", "--threshold", "70"], "--threshold and --wiki-pages belong to FEVER claims"),
        (
            ["NQ", "--part", "kept"],
            "no part named 'kept' to learn from: choose one of all, tuned",
        ),
        (["nowhere.jsonl"], "cannot read nowhere.jsonl"),
        (["OTHER"], "holds neither lists (query, positives, negatives) nor claims"),
        (["HOPS"], "holds multi-hop questions: lists are made of FEVER claims and"),
        (["BROKEN"], "line 1: no query with positives and negatives as [title, text]"),
        (["FEW"], "no list can be used: FEW: 0 of 2 (1 without evidence, 1 too few negatives)"),
        (
            ["LIST", "--set", "rank=3"],
            "rank=3: there is no such setting; there are updates,",
        ),
        (["LIST", "--set", "model.rank=0"], "model.rank=0: choose 1 or more"),
        (["LIST", "--set", "seed=-1"], "seed=-1: choose 0 or more"),
        (["LIST", "--set", "held_out=2"], "held_out=2: there are 1 queries"),
        (["LIST", "--set", "mine.depth=0"], "depth=0: choose 1 or more"),
        (["LIST", "--set", "model.encoder=no-such-folder"], "no-such-folder"),
        (["LIST", "--set", "learning_rate=1e30"], "the training has run away"),
    ],
)
def test_a_reranker_that_cannot_be(
    run: Run, wiki: Path, quick: tuple[str, ...], tmp_path: Path, options: list[str], message: str
) -> None:
    files = {
        "LIST": [LIST],
        "NQ": QUESTIONS,
        "OTHER": [{"a": 1}],
        "HOPS": [{"question": "q", "supporting_facts": []}],
        "BROKEN": [LIST | {"positives": [1]}],
        "FEW": [LIST | {"positives": []}, LIST | {"negatives": []}],
    }
    for name, records in files.items():
        write(tmp_path / name, records)
    given = [str(tmp_path / one) if one in files else one for one in options]
    ran = run("train-reranker", wiki, *quick, *given, "-q")
    refused(ran, message)
    assert not list((wiki / "rerankers").glob("*")), "nothing is left behind"


TUNE = [
    *("--set", "updates=2", "--set", "batch=4", "--set", "negatives=5", "--set", "learning_rate=0.01"),
    *("--device", "cpu"),
]


@pytest.fixture
def world(indexed_world: Path, tmp_path: Path) -> Path:
    """Twenty blocks, embedded by MiniLM and indexed, to be written to."""
    return Path(shutil.copytree(indexed_world, tmp_path / "world"))


def asked(wiki: Path, path: Path) -> Path:
    """A claim for each block, with the evidence that it was made from."""
    graph, records = Graph.open(wiki), []
    for node in range(graph.nodes):
        sentence = goal_sentences(graph, node)[0]
        claim = f"{node} {' '.join(sentence.split()[:6])}"
        evidence = [[[graph.title(node), 0]]]
        records.append(
            {"claim": claim, "label": "SUPPORTS", "evidence": evidence, "evidence_sentence": sentence}
        )
    return write(path, records)


@pytest.mark.slow
def test_a_target_encoder_is_tuned(run: Run, world: Path, tmp_path: Path) -> None:
    path = asked(world, tmp_path / "claims.jsonl")
    bundled = Path(shutil.copytree(shipped.policy_path(), tmp_path / "elsewhere"))
    shutil.copyfile(SHIPPED, bundled / MAP)
    base = ("tune-reader", world, bundled, path, "--part", "all")
    made = run(*base, "--name", "asked", *TUNE, "--json", "-q")
    assert (made.status, made.err) == (0, "")
    found, folder = made.json(), world / "policies" / "asked"
    assert (found["policy"], found["copied_from"]) == (str(folder), str(bundled))
    manifest = json.loads((folder / "target.json").read_bytes())
    was = json.loads((bundled / "target.json").read_bytes())
    del was["format"]
    was["adapter"] = {"rank": 16, "turn": True}  # it only turned; what is tuned may do more
    assert {name: manifest[name] for name in was} == was, "how it was trained before is not forgotten"
    assert manifest["tuned"]["on"]["file"] == "claims.jsonl"
    assert manifest["tuned"]["on"]["part"] == "all"
    assert manifest["tuned"]["on"]["pairs"] > 0
    assert manifest["tuned"]["config"]["updates"] == found["last"]["update"] == 2
    for name in ("weights.safetensors", MAP):
        assert (folder / name).read_bytes() == (bundled / name).read_bytes()
    # A step from the bundled one, not from nothing.
    now, before = (load_file(place / "target.safetensors") for place in (folder, bundled))
    assert now.keys() == before.keys()
    assert 0 < float((now["turn"].float() - before["turn"].float()).abs().max()) < 0.05
    assert all(0 <= float(now[name].abs().max()) < 0.05 for name in now if name.endswith(".up"))

    options = ("--agent", "asked", "--threshold", "80", "--rerank", "tfidf", "--json", "-q")
    assert run("score", "fever", world, path, *options).status == 0
    refused(
        run("tune-reader", world, "asked", path, *TUNE),
        "the policy 'asked' has a target encoder: add --force",
    )
    paper = run(
        *("tune-reader", world, "asked", path, "--recipe", "paper", "--force"),
        *("--set", "updates=1", "--set", "batch=4", "--device", "cpu"),
    )
    assert paper.status == 0, paper.err
    assert "train: 1 updates" in paper.err
    assert "claims.jsonl, part tuned:" in paper.out
    expected = f"next: linkwalk score fever {world} {path} --agent asked --part kept --threshold 80\n"
    assert paper.out.endswith(expected)
    config = json.loads((folder / "target.json").read_bytes())["tuned"]["config"]
    assert (config["learning_rate"], config["contrastive"], config["batch"]) == (1e-6, 0, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["plain"],
            "the policy 'plain' has no target encoder to tune: train one first with `linkwalk",
        ),
        (["nobody"], "no policy named 'nobody'"),
        (["--recipe", "residual"], "no recipe named 'residual': choose one of ours, paper"),
        (["--set", "trust=1"], "trust=1: there is no such setting"),
        (["--set", "temperature=0"], "temperature=0: choose more than 0"),
        (["--set", "max_tokens=1"], "max_tokens=1: choose 3 or more"),
        (["--part", "kept"], "no part named 'kept' to learn from"),
        (["--set", "learning_rate=1e30"], "the training has run away"),
        (["LIST"], "holds lists for a reranker"),
        (["FAR"], "nothing of"),
    ],
)
def test_a_target_encoder_that_cannot_be_tuned(
    run: Run, world: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    config = HeadConfig(head="compass")
    bundled = json.loads((shipped.policy_path() / "manifest.json").read_bytes())
    manifest = {name: bundled[name] for name in ("encoder", "encoder_name")}
    save_policy(world / "policies" / "plain", build_head(config), config, manifest)
    files = {
        "LIST": write(tmp_path / "LIST", [LIST]),
        "FAR": write(tmp_path / "FAR", [{"claim": "c", "label": "SUPPORTS", "evidence": [[["Nowhere", 0]]]}]),
    }
    policy = options.pop(0) if options[0] in ("plain", "nobody") else "compass"
    path = (
        files[options.pop(0)] if options and options[0] in files else asked(world, tmp_path / "claims.jsonl")
    )
    ran = run("tune-reader", world, policy, path, *TUNE, *options, "-q")
    refused(ran, message)
    assert names(world / "policies") == ["plain"]


def test_tuning_needs_an_index(run: Run, world: Path, tmp_path: Path) -> None:
    shutil.rmtree(world / "index")
    path = asked(world, tmp_path / "claims.jsonl")
    refused(run("tune-reader", world, "compass", path, *TUNE, "-q"), "no index in")
