"""Does any damage make linkwalk fall over or lie? Artefacts are damaged at random, and a verb is run on each.

    python bench/faults.py --cases 5000 --json bench/results/faults_HARDWARE_DATE.json

One case: a copy of a workspace with everything in it (graph, embeddings, index, dense index, titles, policies with a
target encoder, a reranker, an unfinished training), one file of it damaged, one verb run on it in a forked process,
then `linkwalk check`. Every second damage is silent: the note that the files have been looked at still holds, as it
does where a disk loses a bit, so that what opens a file cheaply does not see it and the kernels meet it. That is spared
the dense index alone, whose library maps its file and trusts it.

A case fails if the process crashes, hangs, prints a traceback, reports an internal error, or ends in a line that does
not name the file; or if `check` does not find the damage. The script then ends with status 1.
"""

import argparse
import contextlib
import io
import json
import os
import re
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads of a library do not survive a fork
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np

from linkwalk.artifact import contents, notes
from linkwalk.errors import LinkwalkError
from linkwalk.progress import Progress
from report import report

VERBS = ("walk", "find", "eval", "stats", "serve", "train", "score", "split", "diff")
LIMIT_S = 120
FAILURES = ("crash", "hang", "traceback", "internal error", "unnamed")

Rng = np.random.Generator


# What is damaged, and how.


def flip(data: bytearray, rng: Rng) -> bytearray:
    """One bit."""
    if data:
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return data


def flip_many(data: bytearray, rng: Rng) -> bytearray:
    """Up to a hundred bits."""
    for _ in range(int(rng.integers(2, 100))):
        flip(data, rng)
    return data


def overwrite(data: bytearray, rng: Rng) -> bytearray:
    """Bytes at random, over a stretch."""
    start, size = int(rng.integers(len(data) or 1)), int(rng.integers(1, 5000))
    stop = min(len(data), start + size)
    data[start:stop] = rng.bytes(stop - start)
    return data


def number(data: bytearray, rng: Rng) -> bytearray:
    """A number of four bytes somewhere behind an array's header: small, huge or negative."""
    if len(data) > 140:
        at = 128 + 4 * int(rng.integers((len(data) - 128) // 4))
        value = int(rng.choice([0, 1, 900, 70_000, 2**31 - 1, -1, -900, -(2**31)]))
        data[at : at + 4] = value.to_bytes(4, "little", signed=True)
    return data


def zero(data: bytearray, rng: Rng) -> bytearray:
    """A stretch of zeros, as a lost page of a disk."""
    start = int(rng.integers(len(data) or 1)) & ~4095
    stop = min(len(data), start + 4096)
    data[start:stop] = bytes(stop - start)
    return data


def cut(data: bytearray, rng: Rng) -> bytearray:
    """The end is missing."""
    return data[: int(rng.integers(len(data) or 1))]


def empty(data: bytearray, rng: Rng) -> bytearray:
    """Nothing is left."""
    return bytearray()


def longer(data: bytearray, rng: Rng) -> bytearray:
    """Something follows."""
    return data + rng.bytes(int(rng.integers(1, 200)))


def shuffled(data: bytearray, rng: Rng) -> bytearray:
    """Two stretches have changed places."""
    size = max(1, min(512, len(data) // 2))
    a, b = sorted(int(x) for x in rng.integers(max(1, len(data) - size), size=2))
    if b - a >= size:
        data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]
    return data


CHANGES: tuple[Callable[[bytearray, Rng], bytearray], ...] = (
    flip,
    flip,
    flip,
    flip_many,
    overwrite,
    number,
    number,
    zero,
    cut,
    empty,
    longer,
    shuffled,
)


class Case(NamedTuple):
    """One damaged file and the verb that meets it."""

    number: int
    verb: str
    words: tuple[str, ...]
    file: str
    damage: str
    silent: bool


class Outcome(NamedTuple):
    """What came of a case."""

    what: str
    found_by_opening: bool
    found_by_check: bool | None
    """None for files that no manifest lists."""
    said: str


# The workspace that is damaged.


def make(folder: Path) -> None:
    """A workspace with everything in it, and another wiki's beside it; the real command line makes them."""
    folder.mkdir(parents=True, exist_ok=True)
    wiki, other = folder / "wiki", folder / "other"
    asked = folder / "asked.jsonl"
    questions = Path(sys.modules["linkwalk.shipped"].__file__ or "").parent / "questions.jsonl"
    rows = [json.loads(line) for line in questions.read_text().splitlines()[:4]]
    asked.write_text(
        "".join(json.dumps({"question": r["question"], "answer": [r["answer"]]}) + "\n" for r in rows)
    )
    lists = folder / "lists.jsonl"
    lists.write_text(
        "".join(
            json.dumps(
                {
                    "query": row["question"],
                    "positives": [sentence_of(row)],
                    "negatives": [sentence_of(one) for one in rows if one is not row],
                }
            )
            + "\n"
            for row in rows
        )
    )
    small = ("--set", "updates=2", "--set", "batch=4")
    for words in (
        ("build", "demo", "-o", wiki, "--workers", "1"),
        ("build", "demo2", "-o", other, "--workers", "1"),
        ("embed", wiki, "--device", "cpu"),
        ("embed", other, "--encoder", "random"),
        ("index", wiki, "--dense"),
        ("index", other),
        ("train", wiki, "--name", "ours", *small),
        ("train", wiki, "--name", "paper", "--recipe", "paper", *small),
        ("train-reader", wiki, "ours", *small),
        ("train-reranker", wiki, lists, "--name", "own", "--set", "updates=2", "--set", "negatives=2"),
    ):
        code, out = in_child(lambda words=words: run(words))  # type: ignore[misc]
        if code:
            raise SystemExit(f"{' '.join(map(str, words))}: {out}")
    in_child(lambda: begin_training(wiki))
    in_child(lambda: keep_titles(wiki))


def sentence_of(question: dict[str, Any]) -> list[str]:
    """Title and text of a question's evidence."""
    return [question["evidence"][0]["article"], question["evidence"][0]["sentence"]]


def begin_training(wiki: Path) -> None:
    """Leave a training that was stopped after its first checkpoint."""
    from linkwalk.learn import state

    before = state.State.save

    def save_and_stop(self: Any, *arguments: Any) -> None:
        before(self, *arguments)
        os._exit(0)

    state.State.save = save_and_stop  # type: ignore[method-assign]
    run(training("half", wiki))


def training(name: str, wiki: Path | str) -> tuple[str, ...]:
    settings = ("--set", "updates=3", "--set", "batch=4", "--checkpoint-every", "1")
    return ("train", str(wiki), "--name", name, "--device", "cpu", *settings)


def keep_titles(wiki: Path) -> None:
    """Titles are kept by large wikis alone: let this one be large."""
    from linkwalk.graph.store import Graph
    from linkwalk.wiki import titles

    titles._WORTH_KEEPING = 0
    titles.Titles.open(wiki, Graph.open(wiki))


def copy(source: Path, target: Path) -> None:
    """A workspace again."""
    for place, _, files in os.walk(source):
        inner = target / Path(place).relative_to(source)
        inner.mkdir(parents=True)
        for name in files:
            shutil.copyfile(Path(place, name), inner / name)


def damage(case: Case, wiki: Path, other: Path, rng: Rng) -> bool:
    """Spoil the case's file; False where nothing has changed."""
    path = wiki / case.file
    before = path.read_bytes()
    path.unlink()
    if case.damage == "gone":
        return True
    if case.damage == "folder":
        path.mkdir()
        return True
    if case.damage == "foreign":  # the same file of another wiki
        foreign = other / case.file
        if not foreign.exists():
            path.write_bytes(before)
            return False
        path.write_bytes(foreign.read_bytes())
        return path.read_bytes() != before
    change = next(change for change in CHANGES if change.__name__ == case.damage)
    path.write_bytes(change(bytearray(before), rng))
    return path.read_bytes() != before


def hide(wiki: Path, folders: list[Path]) -> None:
    """Let the notes say that everything has been looked at as it is now."""
    notes._TICK_S = 0.0
    for folder in folders:
        try:
            manifest = json.loads((folder / manifest_of(folder)).read_bytes())
            files = [folder / name for name in manifest["files"]]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        notes.note(folder.parent, folder.name, notes.states(files), "sound")


# What meets it.


def draw_words(verb: str, rng: Rng, wiki: str, folder: Path) -> tuple[str, ...]:
    """A verb's command line."""
    agents = ("compass", "greedy-unvisited", "greedy-map", "random", "ours", "paper")
    agent = str(rng.choice(agents))
    if verb == "walk":
        if rng.random() < 0.2:
            return (
                "walk",
                wiki,
                "--from",
                "Octopus",
                "--sentence",
                "copper in blood",
                "--agent",
                "ours",
                "--json",
            )
        return ("walk", wiki, "--from", "Octopus", "--to", "Elephant", "--agent", agent, "--json")
    if verb in ("find", "score"):
        how = (
            (),
            ("--start", "dense"),
            *(("--navigation", way) for way in ("walks", "expand", "none", "lead")),
        )
        rank = ("none", "none", "tfidf", "tfidf", "cross", f"{wiki}/rerankers/own")
        words = (*how[int(rng.integers(len(how)))], "--rerank", str(rng.choice(rank)), "--json")
        if verb == "find":
            return ("find", wiki, "Who wrote the first computer program?", *words)
        return ("score", "nq", wiki, str(folder / "asked.jsonl"), *words, "--quiet")
    if verb == "eval":
        chosen = ("--agent", agent, "--agent", "greedy-unvisited", "--episodes", "30", "--steps", "5")
        return ("eval", wiki, *chosen, "--json", "--quiet")
    if verb == "stats":
        return ("stats", wiki, "--sources", "20", "--json", "--quiet")
    if verb == "train":
        name = str(rng.choice(["half", "new"]))
        return (*training(name, wiki), "--json", "--quiet")
    if verb == "split":
        by = str(rng.choice(["article", "node"]))
        return ("split", wiki, "-o", f"{wiki}-halves", "--by", by, "--json", "--quiet")
    if verb == "diff":
        both = (wiki, str(folder / "other"))
        return ("diff", *(both if rng.random() < 0.5 else both[::-1]), "--json", "--quiet")
    return ("serve", wiki)


def run(words: Any) -> None:
    """The command line, in this process."""
    from linkwalk.cli import main

    main([str(word) for word in words])


def serve(wiki: str) -> None:
    """The application as workers have it, asked one thing after the other; errors are printed as a client sees them."""
    import logging

    from fastapi.testclient import TestClient

    from linkwalk.serve.app import create_app
    from linkwalk.wiki import Wiki, titles

    titles._WORTH_KEEPING = 0
    logging.disable(logging.CRITICAL)
    try:
        app = create_app(Wiki.open(wiki))
    except LinkwalkError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    walk = {"start": "Octopus", "goal": "Elephant"}
    asked: tuple[tuple[str, str, Any], ...] = (
        ("GET", "/api/v1/health", None),
        ("GET", "/api/v1/graph", None),
        ("GET", "/api/v1/titles?q=oct", None),
        ("GET", "/api/v1/block/0", None),
        ("POST", "/api/v1/walk", walk),
        ("POST", "/api/v1/walk", walk | {"agent": "ours"}),
        ("POST", "/api/v1/find", {"query": "Who wrote the first computer program?", "rerank": "tfidf"}),
    )
    answers = []
    with TestClient(app, raise_server_exceptions=False) as client:
        for method, path, body in asked:
            answer = client.request(method, path, json=body)
            if "error" in answer.text[:20]:
                found = answer.json()["error"]
                if found["type"] == "internal":
                    print(f"internal error: {method} {path}: {found['message']}", file=sys.stderr)
                elif answer.status_code >= 400:
                    print(f"error: {found['message']}", file=sys.stderr)
            answers.append(answer.text)
    print(json.dumps(answers))
    sys.stdout.flush()
    sys.exit(2 if any('"error"' in answer[:20] for answer in answers) else 0)


def in_child(work: Callable[[], object]) -> tuple[int, str]:
    """Run something in a forked process; its exit status (minus the signal that ended it) and what it printed."""
    started = start(work)
    while not started.ended():
        time.sleep(0.005)
    return started.code, started.output


class Started:
    """A forked process at work."""

    def __init__(self, pid: int, pipe: int) -> None:
        self.pid, self.pipe, self.began = pid, pipe, time.monotonic()
        self.code, self.output, self._parts = 0, "", []  # type: ignore[var-annotated]

    def ended(self) -> bool:
        """Whether it has come to its end; one that takes too long is killed."""
        while select.select([self.pipe], [], [], 0)[0] and (part := os.read(self.pipe, 1 << 16)):
            self._parts.append(part)
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            if time.monotonic() - self.began > LIMIT_S:
                os.kill(self.pid, signal.SIGKILL)
            return False
        while part := os.read(self.pipe, 1 << 16):
            self._parts.append(part)
        os.close(self.pipe)
        self.code = os.waitstatus_to_exitcode(status)
        self.output = b"".join(self._parts).decode(errors="replace")
        return True


def start(work: Callable[[], object]) -> Started:
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(writing)
        return Started(pid, reading)
    code = 70
    try:
        os.close(reading)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), "utf-8", line_buffering=True)
        sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", closefd=False), "utf-8", line_buffering=True)
        work()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


Steps = Generator[Started, None, Outcome]


# One case.


def manifest_of(folder: Path) -> str:
    return "cross.json" if folder.parent.name == "rerankers" else "manifest.json"


def artefacts(wiki: Path) -> dict[str, list[str]]:
    """Every artefact's folder in the workspace with its files, and what is in no manifest's list."""
    folders = [
        wiki / "graph",
        *sorted((wiki / "embeddings").iterdir()),
        wiki / "index",
        wiki / "index" / "dense",
        *sorted(one for one in (wiki / "policies").iterdir() if not one.name.endswith(".partial")),
        *sorted((wiki / "rerankers").iterdir()),
        wiki / "titles",
    ]
    found = {}
    for folder in folders:
        if folder.is_dir() and not folder.name.startswith("."):
            name = manifest_of(folder)
            found[str(folder.relative_to(wiki))] = [*sorted(contents(folder, name)), name]
    return found


RELEVANT = {
    "walk": ("graph", "embeddings/minilm-walks", "policies/ours", "policies/paper"),
    "find": ("graph", "embeddings/minilm-walks", "index", "index/dense", "rerankers/own"),
    "eval": ("graph", "embeddings/minilm-walks", "policies/ours", "policies/paper"),
    "stats": ("graph",),
    "serve": ("graph", "embeddings/minilm-walks", "index", "policies/ours", "titles"),
    "train": ("graph", "embeddings/minilm-walks"),
    "score": ("graph", "embeddings/minilm-walks", "index", "index/dense", "rerankers/own"),
    "split": ("graph",),
    "diff": ("graph",),
}
UNLISTED = (
    "policies/half.partial/state.safetensors",
    "policies/half.partial/metrics.jsonl",
    ".linkwalk-seen.json",
)


def draw(number: int, seed: int, parts: dict[str, list[str]], folder: Path) -> Case:
    """Every verb in turn; nine files in ten are of artefacts that it reads."""
    rng = np.random.default_rng([seed, number])
    verb = VERBS[number % len(VERBS)]
    chosen = [part for part in RELEVANT[verb] if part in parts] if rng.random() < 0.9 else list(parts)
    files = [f"{part}/{file}" for part in chosen for file in parts[part]]
    if verb == "train":
        files += [name for name in UNLISTED[:2] for _ in range(8)]
    if rng.random() < 0.02:
        files = [UNLISTED[2]]
    file = str(rng.choice(files))
    kinds = [change.__name__ for change in CHANGES] + ["gone", "folder", "foreign"]
    kind = str(rng.choice(kinds))
    silent = (
        bool(rng.random() < 0.5) and not file.startswith("index/dense") and kind not in ("gone", "folder")
    )
    wiki = str(folder / "cases" / str(number) / "wiki")
    words = draw_words(verb, rng, wiki, folder)
    return Case(number, verb, words, file, kind, silent)


def opens(wiki: Path, file: str) -> Iterator[str]:
    """What goes wrong when all that a file may belong to is opened, and nothing else is done."""
    from linkwalk.embed import Embeddings
    from linkwalk.graph.store import Graph
    from linkwalk.policy.checkpoint import load_policy
    from linkwalk.policy.target import load_target
    from linkwalk.retrieve.bm25 import Bm25
    from linkwalk.retrieve.cross import load_cross
    from linkwalk.retrieve.dense import Dense

    def tried(work: Callable[[], Any]) -> Any:
        try:
            return work()
        except LinkwalkError as error:
            return error

    graph = tried(lambda: Graph.open(wiki))
    if isinstance(graph, LinkwalkError):
        yield str(graph)
        return
    table = tried(lambda: Embeddings.open(wiki, "minilm-walks", graph))
    yield str(table)
    if file.startswith("index"):
        yield str(tried(lambda: Bm25.open(wiki, graph)))
    if isinstance(table, LinkwalkError):
        return
    if file.startswith("index/dense"):
        yield str(tried(lambda: Dense.open(wiki, table)))
    if file.startswith("policies"):
        folder = wiki / "policies" / Path(file).parts[1]
        yield str(tried(lambda: load_policy(folder, table.fingerprint)))
        yield str(tried(lambda: load_target(folder, table, device="cpu")))
    if file.startswith("rerankers"):
        yield str(tried(lambda: load_cross(wiki / "rerankers" / "own", device="cpu")))


def checked(wiki: Path, case: Case) -> bool:
    """Whether ``linkwalk check`` finds the damage, and names the file; of a foreign manifest, what it does not fit."""
    from linkwalk.wiki.check import check

    named = {fault.path for one in check(wiki) for fault in one.faults}
    foreign = case.damage == "foreign" and Path(case.file).name == manifest_of(wiki / Path(case.file).parent)
    return wiki / case.file in named or (
        foreign and any((wiki / case.file).parent in p.parents for p in named)
    )


def judge(case: Case, code: int, said: str, expected: tuple[int, str]) -> str:
    """What an outcome is called."""
    if code == -signal.SIGKILL:
        return "hang"
    if code < 0:
        return "crash"
    if "Traceback (most recent" in said or ("panicked at" in said and "error:" not in said):
        return "traceback"
    if "internal error" in said:
        return "internal error"
    if code == 0:
        return "unharmed" if plain(said) == plain(expected[1]) else "other answer"
    lines = [line for line in said.splitlines() if line.startswith("error: ")]
    folder, name = Path(case.file).parent, Path(case.file).name
    named = [line for line in lines if name in line or f"/{folder}" in line or case.damage == "gone"]
    if case.damage == "foreign":  # a manifest that is whole, of another graph
        named += [line for line in lines if "another graph" in line or "older than the graph" in line]
    if code != 2 or not lines or (case.verb != "serve" and len(lines) != 1):
        return "traceback" if code not in (1, 2) else "unnamed"
    return "refused" if named else "unnamed"


_VARYING = re.compile(
    r'(seconds|updates_per_second|questions_per_second)\\?": ?[0-9.]+|"resumed_at": \w+|cases/(expected-)?\d+'
)


def plain(said: str) -> str:
    """Output without what differs from run to run."""
    return _VARYING.sub("", said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="run this case alone and show what it prints")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N of the other answers")
    parser.add_argument("--folder", type=Path, help="keep the workspace here, for the next run")
    parser.add_argument("--json", type=Path, help="write the results here")
    args = parser.parse_args()
    begun = time.monotonic()

    sys.modules["torch"].set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="linkwalk-faults-") as name:
        folder = args.folder or Path(name)
        wiki = folder / "wiki"
        if not (folder / "cases").exists():
            make(folder)
        shutil.rmtree(folder / "cases", ignore_errors=True)
        (folder / "cases").mkdir()
        # Kernels are loaded once, here; every case is forked from this process.
        from linkwalk.wiki import Wiki

        Wiki.open(wiki).walk("Octopus", "Elephant")
        share_encoder()
        parts = artefacts(wiki)
        made = time.monotonic() - begun
        numbers = [args.only] if args.only is not None else range(args.cases)
        outcomes = list(
            cases(numbers, args.seed, parts, folder, max(1, args.jobs), show=args.only is not None)
        )
    results = summary(outcomes)
    results["seconds"], results["seconds_to_make"] = round(time.monotonic() - begun, 1), round(made, 1)
    print(f"faults: {len(outcomes):,} damaged artefacts")
    report("faults", {"cases": len(outcomes), "seed": args.seed}, results, args.json)
    failed = [(case, outcome) for case, outcome in outcomes if is_failure(outcome)]
    for case, outcome in [one for one in outcomes if one[1].what == "other answer"][: args.show]:
        print(f"\nother answer: {case}\n  {outcome.said[:1500]}")
    for case, outcome in failed[:20]:
        print(f"\n{outcome.what}, check {outcome.found_by_check}: {case}\n  {outcome.said[-1500:]}")
    sys.exit(1 if failed else 0)


def share_encoder() -> None:
    """Read MiniLM's weights once for all cases: they are in its package, not in the workspace."""
    import copy as copying
    from functools import lru_cache

    from linkwalk.embed import encoder

    load = lru_cache(encoder._load)
    folder = sys.modules["linkwalk.embed.model"].find_model("minilm").path
    load(folder, sys.modules["torch"].device("cpu"))
    encoder._load = lambda *arguments: copying.deepcopy(load(*arguments))


def is_failure(outcome: Outcome) -> bool:
    return outcome.what in FAILURES or outcome.found_by_check is False


def cases(
    numbers: Any, seed: int, parts: dict[str, list[str]], folder: Path, jobs: int, *, show: bool
) -> Iterator[tuple[Case, Outcome]]:
    """Run the cases, some at once."""
    known: dict[tuple[str, ...], tuple[int, str]] = {}
    waiting = iter(numbers)
    at_work: list[tuple[Case, Steps, Started]] = []
    with Progress().stage("faults", len(numbers), "cases") as stage:
        while True:
            while len(at_work) < jobs and (number := next(waiting, None)) is not None:
                case = draw(number, seed, parts, folder)
                steps = one(case, folder, seed, parts, known, show=show)
                at_work.append((case, steps, next(steps)))
            if not at_work:
                return
            time.sleep(0.001)
            for entry in list(at_work):
                case, steps, started = entry
                if not started.ended():
                    continue
                at_work.remove(entry)
                try:
                    at_work.append((case, steps, next(steps)))
                except StopIteration as end:
                    yield case, end.value
                    stage.advance()


def one(
    case: Case,
    folder: Path,
    seed: int,
    parts: dict[str, list[str]],
    known: dict[tuple[str, ...], tuple[int, str]],
    *,
    show: bool,
) -> Steps:
    """One case, process after process: damage a copy, run the verb, open everything, check everything."""
    wiki = folder / "cases" / str(case.number) / "wiki"
    yield start(lambda: prepare(case, folder, seed, parts))
    key = tuple(word.replace(str(wiki), "WIKI") for word in case.words)
    if key not in known:  # what the same command line prints where nothing is damaged
        place = folder / "cases" / f"expected-{case.number}" / "wiki"
        copy(folder / "wiki", place)
        yield (plainly := start(work_of(case.verb, tuple(word.replace("WIKI", str(place)) for word in key))))
        if plainly.code:
            raise SystemExit(f"fails without damage: {' '.join(key)}\n{plainly.output}")
        known[key] = plainly.code, plainly.output
        shutil.rmtree(place.parent)
    yield (ran := start(work_of(case.verb, case.words)))
    if show:
        print(case, ran.code, ran.output, sep="\n")
    what, said = judge(case, ran.code, ran.output, known[key]), ran.output
    again, name = wiki.parent / "again" / "wiki", Path(case.file).name
    yield (opening := start(lambda: print("\n".join(opens(again, case.file)))))
    if opening.code:
        what, said = "traceback" if opening.code > 0 else "crash", opening.output
    found = opening.output
    by_opening = (name in found and "is damaged" in found) or (case.damage == "gone" and "run `" in found)
    by_check: bool | None = None
    if case.file not in UNLISTED:
        yield (checking := start(lambda: sys.exit(0 if checked(again, case) else 3)))
        by_check = checking.code == 0
        if checking.code not in (0, 3):
            what, said = "traceback" if checking.code > 0 else "crash", checking.output
    shutil.rmtree(wiki.parent)
    return Outcome(what, by_opening, by_check, said_by(what, said, known[key][1]))


def work_of(verb: str, words: tuple[str, ...]) -> Callable[[], object]:
    return lambda: serve(words[1]) if verb == "serve" else run(words)


def prepare(case: Case, folder: Path, seed: int, parts: dict[str, list[str]]) -> None:
    """The damaged copy, and a copy of that for what comes after the verb."""
    wiki = folder / "cases" / str(case.number) / "wiki"
    copy(folder / "wiki", wiki)
    rng = np.random.default_rng([seed, case.number, 1])
    if not damage(case, wiki, folder / "other", rng):
        flip(data := bytearray((wiki / case.file).read_bytes() or b"x"), rng)
        (wiki / case.file).unlink()
        (wiki / case.file).write_bytes(data)
    copy(wiki, wiki.parent / "again" / "wiki")
    if case.silent:
        hide(wiki, [wiki / part for part in parts])


def said_by(what: str, output: str, expected: str) -> str:
    """What is kept of a case's output: of other answers, where they begin to differ."""
    if what != "other answer":
        return "" if what in ("refused", "unharmed") else output
    a, b = plain(output), plain(expected)
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return f"...{a[max(0, at - 60) : at + 60]!r} instead of ...{b[max(0, at - 60) : at + 60]!r}"


def summary(outcomes: list[tuple[Case, Outcome]]) -> dict[str, Any]:
    """Outcomes by verb, by damage and by artefact."""
    found: dict[str, Any] = {"failed": sum(is_failure(outcome) for _, outcome in outcomes)}
    for what, number in Counter(outcome.what for _, outcome in outcomes).most_common():
        found[what] = number
    listed = [(case, outcome) for case, outcome in outcomes if outcome.found_by_check is not None]
    found["listed in a manifest"] = len(listed)
    found["found by check"] = sum(bool(outcome.found_by_check) for _, outcome in listed)
    found["found by opening"] = sum(outcome.found_by_opening for _, outcome in listed)
    found["silent"] = sum(case.silent for case, _ in outcomes)
    for verb in VERBS:
        counts = Counter(outcome.what for case, outcome in outcomes if case.verb == verb)
        found[f"verb {verb}"] = f"{sum(counts.values())}: " + ", ".join(
            f"{n} {w}" for w, n in counts.most_common()
        )
    for kind in sorted({case.damage for case, _ in outcomes}):
        counts = Counter(outcome.what for case, outcome in outcomes if case.damage == kind)
        found[f"damage {kind}"] = ", ".join(f"{n} {w}" for w, n in counts.most_common())
    return found


if __name__ == "__main__":
    main()
