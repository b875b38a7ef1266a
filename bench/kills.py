"""Is anything ever lost or spoilt? Verbs are killed at random moments, and run by two processes at once.

    python bench/kills.py --kills 300 --pairs 20 --json bench/results/kills_HARDWARE_DATE.json

A kill: a verb is begun in a process of its own and killed, by the clock together with its workers or alone when it
touches a file, once or up to three times; after each, all that is in the workspace must be whole, and what the verb
makes be absent, the old one or the new one. Then the same command is run to its end: the result must be that of a run
that nobody killed, and nothing may be left over.

A pair: two processes write at once, the second begins while the first is at work. Each must end well or in one line
that says why not, one of the two well; afterwards all is whole, as if one of them had run alone, and a query works.

The wiki is small and everything is done in many small pieces. The script ends with status 1 if anything failed.
"""

import argparse
import contextlib
import fcntl
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from bz2 import compress
from bz2 import open as open_bz2
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads of a library do not survive a fork
sys.path.insert(1, str(Path(__file__).parents[1]))

import numpy as np
from tests.killing import at_touches, kill_at

from faults import LIMIT_S, Started, copy, in_child, run, sentence_of, share_encoder, start
from linkwalk.progress import Progress
from report import report

Look = Callable[[Path], str]
State = list[str | None]
"""What is at the places of what a verb makes; None where there is nothing."""
PAGES = 90


# What is killed, and what is written by two at once.


def content(place: Path) -> str:
    """All files, to the last bit; notes and locks begin with a dot."""
    files = [path for path in sorted(place.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    return digest({str(path.relative_to(place)): path.read_bytes() for path in files})


def weights(place: Path) -> str:
    """What was learnt; beside it are rows that tell seconds."""
    return digest({path.name: path.read_bytes() for path in sorted(place.glob("*.safetensors"))})


def answers(place: Path) -> str:
    """What an index answers, as its segments depend on threads; of one that is of another graph, its manifest."""
    from linkwalk.errors import ArtifactError
    from linkwalk.graph.store import Graph
    from linkwalk.retrieve.bm25 import Bm25

    graph = Graph.open(place.parent)
    try:
        found = Bm25.open(place.parent, graph).search_many(QUESTIONS, 20, threads=1)
    except ArtifactError as error:
        if "older than the graph" not in str(error):
            raise
        return digest({"manifest": (place / "manifest.json").read_bytes()})
    return digest({str(i): nodes.tobytes() for i, (nodes, _) in enumerate(found)})


def neighbours(place: Path) -> str:
    """Whether a dense index answers: the nearest to a block is itself, for nearly all; several threads miss a few."""
    from linkwalk.embed.store import Embeddings
    from linkwalk.graph.store import Graph
    from linkwalk.navigate.cosine import unit_rows
    from linkwalk.retrieve.dense import Dense

    wiki = place.parents[1]
    table = Embeddings.open(wiki, "random", Graph.open(wiki))
    found = Dense.open(wiki, table).nearest_many(unit_rows(table.vectors), 1, threads=1)
    right = sum(one.tolist() == [row] for row, one in enumerate(found))
    return "answers" if right > 0.9 * len(found) else f"{right} right answers of {len(found)}"


def digest(files: dict[str, bytes]) -> str:
    found = hashlib.sha256()
    for name, data in files.items():
        found.update(f"{name} {len(data)}\n".encode() + data)
    return found.hexdigest()[:16]


class Work(NamedTuple):
    """A verb, and what it makes of what."""

    name: str
    start: dict[str, str]
    """What there is before: its place, and where it was made."""
    words: str
    look: Look
    places: str
    """Of what it makes: one, or several in a line."""


class Pair(NamedTuple):
    """Two verbs at once."""

    name: str
    first: Work
    second: Work
    query: tuple[str, ...]

    @property
    def mixed(self) -> bool:
        """Whether they are two, not one twice."""
        return self.first != self.second


QUESTIONS = [
    "Who wrote the first computer program?",
    "an animal with three hearts",
    "copper in blood",
    "the oldest city",
    "light of a star",
    "a river that freezes in winter",
]
LEARN = "--set updates=8 --set batch=4 --set steps=4 --embeddings minilm --checkpoint-every 1 --device cpu"
READ = "--set updates=3 --set batch=4 --set steps=4 --set negatives=16 --set adapter.rank=2 --device cpu"
RANK = "--set updates=3 --set negatives=2 --set model.rank=2 --set lists=2 --set max_tokens=24 --device cpu"
GRAPH = {"wiki/graph": "first/graph"}
TABLE = GRAPH | {"wiki/embeddings/minilm": "first/embeddings/minilm"}
RANDOM = GRAPH | {"wiki/embeddings/random": "first/embeddings/random"}
INDEX = RANDOM | {"wiki/index": "first/index"}
POLICY = TABLE | {"wiki/policies/ours": "first/policies/ours"}
READER = TABLE | {"wiki/policies/ours": "first/policies/reader"}
RERANKER = GRAPH | {"wiki/rerankers/own": "first/rerankers/own"}
OTHER = {"wiki/graph": "second/graph"}
BEHIND = OTHER | {"wiki/index": "first/index"}
SPLIT = GRAPH | {"halves": "halves"}

_build = "build {first} -o {wiki} --workers 1"
_random = "embed {wiki} --encoder random"
_embed = "embed {wiki} --encoder minilm --max-tokens 12 --device cpu"
_dense = "index {wiki} --dense --embeddings random"
_train = f"train {{wiki}} --name ours {LEARN}"
_target = f"train-reader {{wiki}} ours {READ}"
_ours, _own = "wiki/policies/ours", "wiki/rerankers/own"
_halves = "halves/train/graph halves/eval/graph"
_reranker = f"train-reranker {{wiki}} {{lists}} --name own {RANK}"

WORKS = {
    work.name: work
    for work in (
        Work("build", {}, _build, content, "wiki/graph"),
        Work("build, 2 workers", {}, "build {streams} -o {wiki} --workers 2", content, "wiki/graph"),
        Work("build --force", OTHER, f"{_build} --force", content, "wiki/graph"),
        Work("embed random", GRAPH, _random, content, "wiki/embeddings/random"),
        Work("embed", GRAPH, _embed, content, "wiki/embeddings/minilm"),
        Work("embed --force", TABLE, f"{_embed} --tanh --force", content, "wiki/embeddings/minilm"),
        Work("index", GRAPH, "index {wiki}", answers, "wiki/index"),
        Work("index, update", GRAPH | {"wiki/index": "second/index"}, "index {wiki}", answers, "wiki/index"),
        Work("index --force", INDEX, "index {wiki} --force", answers, "wiki/index"),
        Work("index --dense", RANDOM, _dense, neighbours, "wiki/index/dense"),
        Work("index --dense --force", INDEX, f"{_dense} --force", neighbours, "wiki/index/dense"),
        Work("train", TABLE, _train, weights, _ours),
        Work("train --force", POLICY, f"{_train} --set seed=1 --force", weights, _ours),
        Work("train-reader", POLICY, _target, weights, _ours),
        Work("train-reader --force", READER, f"{_target} --set seed=1 --force", weights, _ours),
        Work("train-reranker", GRAPH, _reranker, weights, _own),
        Work("train-reranker --force", RERANKER, f"{_reranker} --set seed=1 --force", weights, _own),
        Work("split", GRAPH, "split {wiki} -o {halves}", content, _halves),
        Work("split again", SPLIT, "split {wiki} -o {halves} --by node", content, _halves),
    )
}

FIND = ("index {wiki} --quiet", "find {wiki} {question} --navigation none --rerank tfidf --json")
WALK = "walk {wiki} --from {start} --to {goal} --json --agent"
READS = (*FIND, f"{WALK} greedy-unvisited")


def pairs() -> list[Pair]:
    """All pairs, and what is asked afterwards."""
    alone = {
        "build": FIND,
        "build --force": FIND,
        "embed": READS,
        "embed random": (f"{WALK} greedy-unvisited --embeddings random",),
        "embed --force": READS,
        "index": FIND,
        "index --force": FIND,
        "index --dense --force": FIND,
        "train --force": (f"{WALK} ours",),
        "train-reader --force": (f"{WALK} ours",),
        "train-reranker --force": (FIND[0], FIND[1].replace("tfidf", "{own}")),
        "split": tuple(words.replace("{wiki}", "{halves}/train") for words in FIND),
    }
    both = (
        ("build --force", "index", BEHIND, FIND),
        ("index --force", "index --dense", INDEX, FIND),
        ("index --force", "index --dense --force", INDEX, FIND),
        ("embed --force", "train", TABLE, READS),
    )
    found = [Pair(name, WORKS[name], WORKS[name], query) for name, query in alone.items()]
    for a, b, there, query in both:
        found.append(
            Pair(f"{a} with {b}", *(WORKS[name]._replace(start=there) for name in (a, b)), query=query)
        )
    return found


# The small wiki, and everything made of it once.


def make(folder: Path) -> None:
    """Two editions of a wiki as dumps, and workspaces of both; the real command line makes them."""
    write_dumps(folder)
    made, halves = folder / "made", folder / "made" / "halves"
    first, second = made / "first", made / "second"
    for words in (
        f"build {folder}/first.xml.gz -o {first} --workers 1",
        f"build {folder}/second.xml.gz -o {second} --workers 1",
        _embed.format(wiki=first),
        _random.format(wiki=first),
        _dense.format(wiki=first),
        f"index {second}",
        _train.format(wiki=first),
        f"{_target.format(wiki=first)} --name reader",
        _reranker.format(wiki=first, lists=folder / "lists.jsonl"),
        f"split {first} -o {halves}",
    ):
        code, out = in_child(partial(run, words.split()))
        if code:
            raise SystemExit(f"{words}: {out}")


def write_dumps(folder: Path) -> None:
    """A part of the bundled encyclopedia's two editions, some pages twice, and lists for a reranker."""
    demo = Path(sys.modules["linkwalk.shipped"].__file__ or "").parent
    for name, source in (("first", "encyclopedia"), ("second", "encyclopedia-2")):
        with open_bz2(demo / f"{source}.xml.bz2") as file:
            head, *found = re.split(rb"(?=<page>)", file.read().partition(b"</mediawiki>")[0])
        chosen = found[:PAGES] + found[:PAGES:3]
        (folder / f"{name}.xml.gz").write_bytes(
            gzip.compress(head + b"".join(chosen) + b"</mediawiki>", mtime=0)
        )
        streams = [head, *(b"".join(chosen[i : i + 4]) for i in range(0, len(chosen), 4)), b"</mediawiki>"]
        (folder / f"{name}.xml.bz2").write_bytes(b"".join(map(compress, streams)))
    rows = [json.loads(line) for line in (demo / "questions.jsonl").read_text().splitlines()[:4]]
    lists = [
        {
            "query": row["question"],
            "positives": [sentence_of(row)],
            "negatives": [sentence_of(one) for one in rows if one is not row],
        }
        for row in rows
    ]
    (folder / "lists.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lists))


def in_small_pieces() -> None:
    """Let a small wiki be worked on in many pieces, as a large one is."""
    from linkwalk.embed import job
    from linkwalk.graph import subgraph
    from linkwalk.learn import clone
    from linkwalk.retrieve import bm25_files, dense
    from linkwalk.sources import packed
    from linkwalk.sources.wikitext import mediawiki

    packed.CHUNK_BYTES, packed.READ_BYTES, mediawiki.RANGE_BYTES = 10_000, 5_000, 3_000
    job.EmbedConfig = partial(job.EmbedConfig, shard_blocks=16)  # type: ignore[misc,assignment]
    subgraph._CHUNK = bm25_files._BLOCKS = dense._ROWS = 16
    clone.LOG_EVERY = 1
    dense.index_dense = partial(dense.index_dense, save_every_s=0.0)


def warm(folder: Path) -> None:
    """Load what every process would load first of all, here once: each is forked from this one."""
    for name in (
        "linkwalk.trainings.rerankers",
        "linkwalk.learn.readers.target",
        "linkwalk.retrieve.dense",
        "torch.utils.tensorboard",
    ):
        import_module(name)
    first, place = folder / "made" / "first", folder / "warm"
    start, goal = ends(folder)
    for words in (
        ("build", folder / "first.xml.gz", "-o", place, "--workers", 1, "--quiet"),
        ("split", first, "-o", f"{place}-halves", "--quiet"),
        ("embed", place, "--encoder", "random", "--quiet"),
        ("walk", first, "--from", start, "--to", goal, "--agent", "ours"),
        ("check", first),
    ):
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
            run(words)
    share_encoder()


@lru_cache
def ends(folder: Path) -> tuple[str, str]:
    """Two articles to walk between."""
    from linkwalk.graph.store import Graph

    titles = Graph.open(folder / "made" / "first").titles
    return titles[0], titles[9]


# One process, begun and killed.


def begin(words: list[str], before: Callable[[], object] = lambda: None) -> Started:
    """The command line in a process that leads a group of its own, as a shell has it."""

    def work() -> None:
        os.setpgid(0, 0)
        before()
        run(words)

    started = start(work)
    with contextlib.suppress(OSError):  # whoever comes first
        os.setpgid(started.pid, started.pid)
    return started


def wait(started: Started, until: float = np.inf) -> bool:
    """Whether a process has ended by then."""
    while not started.ended():
        if time.monotonic() >= until:
            return False
        time.sleep(0.001)
    return True


def kill(started: Started) -> None:
    """A process and its workers; this waits until they are gone."""
    os.killpg(started.pid, signal.SIGKILL)
    wait(started)


class Known(NamedTuple):
    """What a verb comes to when nobody kills it."""

    seconds: float
    touches: int
    """Of files in its workspace."""
    new: State


class Failure(Exception):
    """Something was lost or spoilt; says what, and what was printed."""


class Place:
    """A case's own workspace."""

    def __init__(self, folder: Path, name: str, there: dict[str, str]) -> None:
        self.folder, self.root = folder, folder / "cases" / name
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        for place, source in there.items():
            copy(folder / "made" / source, self.root / place)

    def words(self, words: str) -> list[str]:
        """A command line for this workspace."""
        start, goal = ends(self.folder)
        names = {
            "wiki": self.root / "wiki",
            "halves": self.root / "halves",
            "own": self.root / "wiki" / "rerankers" / "own",
            "first": self.folder / "first.xml.gz",
            "streams": self.folder / "first.xml.bz2",
            "lists": self.folder / "lists.jsonl",
            "question": QUESTIONS[0],
            "start": start,
            "goal": goal,
        }
        return [word.format(**names) for word in words.split()]

    def run(self, words: str, before: Callable[[], object] = lambda: None) -> None:
        """Run something to its end, which must be a good one."""
        started = begin(self.words(words), before)
        wait(started)
        if started.code:
            raise Failure(f"status {started.code} of {words}: {started.output}")

    def see(self, work: Work) -> State:
        """What the verb has made so far; anything in the workspace that is not whole is a failure."""
        code, out = in_child(partial(self._see, work))
        if code:
            raise Failure(f"looking at it: {out}")
        found = json.loads(out.splitlines()[-1])
        if found["faults"]:
            raise Failure(f"damaged: {found['faults']}")
        return found["state"]

    def _see(self, work: Work) -> None:
        from linkwalk.errors import InputError
        from linkwalk.wiki.check import check

        faults: list[str] = []
        for name in ("wiki", "halves"):
            with contextlib.suppress(InputError):  # nothing is there yet
                faults += [
                    f"{fault.path}: {fault.what}" for one in check(self.root / name) for fault in one.faults
                ]
        places = [self.root / place for place in work.places.split()]
        state = [work.look(place) if place.exists() else None for place in places] if not faults else []
        print(json.dumps({"faults": faults, "state": state}))

    def left_over(self) -> list[str]:
        """What nobody needs any more: unfinished files and folders, and locks that somebody holds."""
        found = []
        for path in self.root.rglob("*"):
            if path.name.endswith((".partial", ".old")) or (path.suffix == ".lock" and is_held(path)):
                found.append(str(path.relative_to(self.root)))
        return found

    def finish(self, work: Work, known: Known) -> None:
        """See that the end is that of a run alone."""
        if (state := self.see(work)) != known.new:
            raise Failure(f"another result: {state} instead of {known.new}")
        if left := self.left_over():
            raise Failure(f"left over: {', '.join(left)}")


def is_held(lock: Path) -> bool:
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def know(work: Work, folder: Path) -> Known:
    """Run a verb alone, twice: how long it takes, how often it touches files, and what comes of it."""
    seconds, states, touches = [], [], folder / "touches"
    for _ in range(2):
        place, began = Place(folder, "known", work.start), time.monotonic()
        with touches.open("wb", buffering=0) as file:
            count = partial(at_touches, place.root, partial(os.write, file.fileno(), b"."))
            place.run(work.words, count)
        seconds.append(time.monotonic() - began)
        states.append(place.see(work))
    if states[0] != states[1] or place.left_over():
        raise SystemExit(f"{work.name} makes {states}, and leaves {place.left_over()}")
    return Known(min(seconds), touches.stat().st_size, states[0])


# The cases.


class Outcome(NamedTuple):
    """What came of a case."""

    case: str
    """As ``--only`` takes it."""
    name: str
    found: list[str]
    """What was found after each kill; how each of a pair ended."""
    failure: str = ""


def killed(number: int, seed: int, folder: Path, known: dict[str, Known]) -> Outcome:
    """One verb, killed up to three times, then run to its end."""
    rng = np.random.default_rng([seed, 0, number])
    work = list(WORKS.values())[number % len(WORKS)]
    place = Place(folder, f"k{number}", work.start)
    found: list[str] = []
    try:
        old = place.see(work)
        for before in range(int(rng.choice([1, 1, 1, 2, 3]))):
            share = rng.random() / (1 + before)  # less is to be done each time
            if rng.random() < 0.4:  # the last steps, in which the new takes the place of the old
                share = 1 - 0.15 * rng.random()
            late = not kill_once(place, work, share, known[work.name], by_clock=rng.random() < 0.5)
            state = place.see(work)
            found.append("too late" if late else which(state, old, known[work.name].new))
        place.run(work.words)
        place.finish(work, known[work.name])
    except Failure as error:
        return Outcome(f"k{number}", work.name, found, str(error))
    shutil.rmtree(place.root)
    return Outcome(f"k{number}", work.name, found)


def kill_once(place: Place, work: Work, share: float, known: Known, *, by_clock: bool) -> bool:
    """Begin a verb and kill it at a share of its work, by the clock or as it touches a file; False if it was faster."""
    words = place.words(work.words)
    if by_clock:
        started = begin(words)
        if not wait(started, time.monotonic() + share * known.seconds):
            kill(started)
    else:
        started = begin(words, partial(kill_at, 1 + int(share * known.touches), place.root))
        wait(started)
    if started.code not in (0, -signal.SIGKILL) or time.monotonic() - started.began > LIMIT_S:
        raise Failure(f"status {started.code} of a verb that was to be killed: {started.output}")
    return started.code != 0


def which(state: State, old: State, new: State) -> str:
    """Whether what a verb makes is the old one or the new one; of two one may be this, the other that."""
    kinds = set()
    for is_now, was, will in zip(state, old, new, strict=True):
        if is_now not in (was, will):
            raise Failure(f"neither old nor new: {is_now}, old {was}, new {will}")
        kinds.add("new" if is_now == will != was else "nothing" if was is None else "old")
    return kinds.pop() if len(kinds) == 1 else "one of two"


_REFUSALS = re.compile(r"another process is writing|the index is older than the graph")


def paired(number: int, seed: int, folder: Path, known: dict[str, Known]) -> Outcome:
    """Two verbs at once."""
    rng = np.random.default_rng([seed, 1, number])
    kinds = pairs()
    pair = kinds[number % len(kinds)]
    place = Place(folder, f"p{number}", pair.first.start)
    both = (pair.first, pair.second) if rng.random() < 0.5 else (pair.second, pair.first)
    try:
        at_work = [begin(place.words(both[0].words))]
        over = wait(at_work[0], time.monotonic() + rng.random() * known[both[0].name].seconds)
        at_work.append(begin(place.words(both[1].words)))
        for started in at_work[over:]:
            wait(started)
        ends = [how(started) for started in at_work]
        if "done" not in ends:
            raise Failure(f"neither of the two ended well: {[one.output for one in at_work]}")
        state = place.see(pair.first)
        if (not pair.mixed or ends[both.index(pair.first)] == "done") and state != known[pair.first.name].new:
            raise Failure(f"another result: {state} instead of {known[pair.first.name].new}")
        if left := place.left_over():
            raise Failure(f"left over: {', '.join(left)}")
        for words in pair.query:
            place.run(words)
    except Failure as error:
        return Outcome(f"p{number}", pair.name, [], str(error))
    shutil.rmtree(place.root)
    return Outcome(f"p{number}", pair.name, [" and ".join(sorted(ends))])


def how(started: Started) -> str:
    """How one of two ended; anything but a good end or one line that says why not is a failure."""
    if started.code == 0:
        return "done"
    lines = [line for line in started.output.splitlines() if line.startswith("error: ")]
    if started.code != 2 or len(lines) != 1 or "Traceback" in started.output:
        raise Failure(f"status {started.code}: {started.output}")
    if not _REFUSALS.search(lines[0]):
        raise Failure(f"refused for no good reason: {lines[0]}")
    return "refused"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=30, help="verbs that are killed, each once or more")
    parser.add_argument("--pairs", type=int, default=2, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="CASE", help="run this case alone, as in k17 or p33")
    parser.add_argument("--folder", type=Path, help="keep everything here; what was made is used again")
    parser.add_argument("--json", type=Path, help="write the results here")
    args = parser.parse_args()
    begun = time.monotonic()
    import torch

    import linkwalk.cli.app
    import linkwalk.shipped  # noqa: F401

    torch.set_num_threads(1)
    in_small_pieces()
    with tempfile.TemporaryDirectory(prefix="linkwalk-kills-") as name:
        folder = args.folder or Path(name)
        if not (folder / "made" / "halves").exists():
            folder.mkdir(parents=True, exist_ok=True)
            make(folder)
        warm(folder)
        known = alone(folder)
        outcomes = list(cases(args.kills, args.pairs, args.seed, args.only, folder, known))
    results = summary(outcomes, known) | {"seconds": round(time.monotonic() - begun, 1)}
    print(f"kills: {args.kills:,} verbs killed, {args.pairs:,} pairs of each kind")
    report("kills", {"kills": args.kills, "pairs": args.pairs, "seed": args.seed}, results, args.json)
    failed = [outcome for outcome in outcomes if outcome.failure]
    for one in failed[:20]:
        print(f"\n{one.case}, {one.name}: {one.failure}")
        print(f"  again: python bench/kills.py --seed {args.seed} --only {one.case} --folder FOLDER")
    sys.exit(1 if failed else 0)


def alone(folder: Path) -> dict[str, Known]:
    """Every verb, run by itself."""
    known: dict[str, Known] = {}
    with Progress().stage("alone", len(WORKS), "verbs") as stage:
        for work in WORKS.values():
            known[work.name] = know(work, folder)
            stage.advance()
    return known


def cases(
    kills: int, each: int, seed: int, only: str | None, folder: Path, known: dict[str, Known]
) -> Iterator[Outcome]:
    """Run the cases, one after the other."""
    todo = [(killed, f"k{n}") for n in range(kills)] + [(paired, f"p{n}") for n in range(each * len(pairs()))]
    if only is not None:
        todo = [(killed if only[0] == "k" else paired, only)]
    with Progress().stage("kills", len(todo), "cases") as stage:
        for case, name in todo:
            outcome = case(int(name[1:]), seed, folder, known)
            if outcome.failure:
                print(f"{name}, {outcome.name}: {outcome.failure}", file=sys.stderr, flush=True)
            yield outcome
            stage.advance()


def summary(outcomes: list[Outcome], known: dict[str, Known]) -> dict[str, Any]:
    """Counts by verb and outcome."""
    found: dict[str, Any] = {}
    for title, letter in (("kill", "k"), ("pair", "p")):
        own = [outcome for outcome in outcomes if outcome.case[0] == letter]
        whats = Counter(what for outcome in own for what in outcome.found)
        found[f"{title}s"] = f"{len(own)}: {in_words(whats)}"
        found[f"{title}s failed"] = sum(bool(outcome.failure) for outcome in own)
        for name in dict.fromkeys(outcome.name for outcome in own):
            here = [outcome for outcome in own if outcome.name == name]
            whats = Counter(what for outcome in here for what in outcome.found)
            whats["FAILED"] = sum(bool(outcome.failure) for outcome in here)
            found[f"{title} {name}"] = f"{len(here)}: {in_words(whats)}"
    for name, one in known.items():
        found[f"alone {name}"] = f"{one.seconds:.2f} s, {one.touches:,} touches of files"
    return found


def in_words(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in counts.most_common() if number)


if __name__ == "__main__":
    main()
