"""Does damage ever cost a page in silence? Reads and builds thousands of damaged dumps (damage.py).

python bench/mutations.py --reading 20000 --builds 1000 --seed 0 --json FILE
python bench/mutations.py --seed 0 --only reading:17        one case again, told in words

What must hold of reading, for every case:
- It ends in time, in pages and damage or in a LinkwalkError of one line.
- The result is the same wherever the dump is cut: sizes of chunks, of ranges and, if the packing is whole, of blocks.
- Damage is counted if and only if the file is not whole. That is judged apart, by a strict parser of whole files.
  (Pages taken out from tag to tag, or from the middle of one text to the middle of another, leave a whole file with
  fewer pages: there is nothing to be seen.) Only what is not whole, or has another header, is refused.
- A page whose bytes are all there, one after the other, is read word for word, whatever stands around it; packed
  in several streams, a page whose stream is there.
- If the packing is whole: pages and damage together are no fewer than page tags that begin something, or end
  something that none began; in JSON, than lines. So no more pages are missing from the books than have lost both
  their tags, or a line break.

What must hold of a build: the same of how it ends; it has the pages and the damage of reading; pages read are kept or
left out with a reason, links seen are resolved or not; ``strict`` refuses if and only if there is damage; the graph
opens, and its edges lead to blocks; now and then two workers build it, too: the same, byte for byte.
"""

import argparse
import bz2
import gzip
import json
import lzma
import multiprocessing
import random
import re
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from damage import MUTATIONS, MUTATIONS_OF_BYTES, Case, Source, draw_case, read_sources
from linkwalk.build.build import BuildConfig, ExtractConfig, build
from linkwalk.errors import InputError, LinkwalkError
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress
from linkwalk.sources import packed
from linkwalk.sources.documents import Document, mend
from linkwalk.sources.formats import open_source
from linkwalk.sources.jsonlines import parse_lines
from linkwalk.sources.wikitext import mediawiki
from linkwalk.sources.wikitext.export import parse_pages
from report import report

#: Seconds a case may take before it counts as hanging.
LIMITS = {"reading": 60.0, "build": 180.0}
SPACE = b" \t\r\n"
SEVERAL = "several of them"

Result = dict[str, Any]


# Whether a file is whole, judged strictly, and apart from the code that is tested.

FOREIGN_HEAD = re.compile(rb"\A\s*<mediawiki\b[^<>]*>\s*(?:<siteinfo\b.*?</siteinfo>)?", re.DOTALL)


def unpack(packing: str, file: bytes) -> bytes | None:
    """What is in a file, or None where any of it is damaged."""
    if packing == "plain":
        return file
    try:
        return gzip.decompress(file) if packing[0] == "g" else _unpack_streams(packing, file)
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        return None


def _unpack_streams(packing: str, file: bytes) -> bytes:
    unpacked, rest = [], file
    while rest:
        decoder: Any = lzma.LZMADecompressor(lzma.FORMAT_XZ) if packing[0] == "x" else bz2.BZ2Decompressor()
        unpacked.append(decoder.decompress(rest))
        if not decoder.eof:
            raise EOFError
        rest = decoder.unused_data
        if packing[0] == "x" or not rest.strip(b"\0"):  # padding
            rest = rest.lstrip(b"\0")
    return b"".join(unpacked)


def is_whole(format: str, data: bytes) -> bool:
    """Whether this is an undamaged dump: one or several exports, or lines of JSON."""
    if format == "jsonl":
        return all(map(_is_whole_line, data.split(b"\n")))
    exports = data.split(b"</mediawiki>")
    if len(exports) < 2 or exports[-1].strip(SPACE):
        return False
    # What a second export in a file says of itself is not used.
    exports[1:] = [FOREIGN_HEAD.sub(b"<mediawiki>", export) for export in exports[1:]]
    return all(_is_whole_export(export + b"</mediawiki>") for export in exports[:-1])


def _is_whole_line(line: bytes) -> bool:
    if not line.strip():
        return True
    try:
        pairs = json.loads(line.decode("utf-8-sig", "surrogatepass"), object_pairs_hook=list)
        record = dict(pairs)
        text = record["title"] + "" + record["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    forbidden = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", text)
    is_object = line.lstrip(b"\xef\xbb\xbf" + SPACE)[:1] == b"{"
    return is_object and len(record) == len(pairs) and forbidden is None


class _Judge:
    """Follows an XML parser through an export, and notes what no export has."""

    leaves = frozenset(("title", "ns", "text", "timestamp", "model"))

    def __init__(self) -> None:
        self.path: list[str] = []
        self.seen: Counter[str] = Counter()
        self.title = ""
        self.pages = 0
        self.fine = True

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Follow into an element."""
        depth = len(self.path)
        self.fine &= name not in self.leaves or self.leaves.isdisjoint(self.path)
        self.path.append(name)
        if depth == 0:
            self.fine &= name == "mediawiki"
        elif depth == 1:
            self.fine &= name in ("page", "logitem") or (name == "siteinfo" and not self.seen)
            self.seen, self.title = Counter({"an element": 1}), ""
        else:
            self.fine &= name != "page"
            self.seen[name] += 1
            if name == "revision":
                self.seen["text"] = 0

    def end(self, name: str) -> None:
        """Follow out of an element."""
        self.path.pop()
        if name == "page":
            self.pages += 1
            self.fine &= self.seen["title"] == 1 and self.seen["ns"] <= 1 and self.seen["text"] > 0
            self.fine &= bool(self.title.strip())

    def characters(self, text: str) -> None:
        """Look at text between elements, and keep that of titles."""
        if len(self.path) == 1:
            self.fine &= not text.encode().strip(SPACE)
        elif self.path[-1] == "title":
            self.title += text


def _is_whole_export(data: bytes) -> bool:
    judge, strict = _Judge(), expat.ParserCreate("utf-8")
    strict.StartElementHandler, strict.EndElementHandler = judge.start, judge.end
    strict.CharacterDataHandler = judge.characters
    try:
        strict.Parse(data.lstrip(SPACE), True)
    except (expat.ExpatError, ValueError):
        return False
    as_written = data.count(b"<page>") == judge.pages == data.count(b"</page>")
    return judge.fine and as_written and b"<!" not in data


def count_units(format: str, data: bytes) -> int:
    """Page tags that begin something, or end something that none began; lines of JSON that are not blank."""
    if format == "jsonl":
        return sum(bool(line.strip()) for line in data.split(b"\n"))
    tags = re.findall(rb"</?page>", data)
    pairs = zip([b"", *tags], tags, strict=False)
    return sum(pair != (b"<page>", b"</page>") for pair in pairs)


# Reading.

Reading = tuple[list[tuple[Any, ...]], dict[str, int]] | str
"""Pages and damage, or the line of an error."""


@contextmanager
def cuts(chunk: int, streams: int, block: int, most: int) -> Iterator[None]:
    """Have dumps cut in pieces of these sizes, and pages left out that are larger than ``most``."""
    names = (
        (packed, "CHUNK_BYTES"),
        (mediawiki, "RANGE_BYTES"),
        (packed, "READ_BYTES"),
        (packed, "MAX_PAGE_BYTES"),
    )
    before = [getattr(module, name) for module, name in names]

    def put(sizes: Sequence[int]) -> None:
        for (module, name), size in zip(names, sizes, strict=True):
            setattr(module, name, size)

    put((chunk, streams, block, most))
    try:
        yield
    finally:
        put(before)


def read(path: Path) -> Reading:
    """All pages of a dump, and its damage."""
    try:
        source, found, damage = open_source(path), [], Counter[str]()
        for piece, _ in source.pieces():
            for page in source.documents(piece, damage):
                if isinstance(page, Document):
                    mend(page, damage)
                found.append(astuple(page))
        return found, dict(damage)
    except LinkwalkError as error:
        return str(error)


def check_reading(case: Case, rng: random.Random, folder: Path) -> Result:
    """Read one case in several ways."""
    path = folder / "dump"
    path.write_bytes(case.file)
    most = rng.choice((packed.MAX_PAGE_BYTES,) * 9 + (3000,))
    with cuts(3000, 1 << 19, packed.READ_BYTES, most):
        reading = read(path)
    problems = _judge(case, reading, limited=most == 3000)
    for _ in range(2):
        block = packed.READ_BYTES if case.damaged_packing else rng.choice((7, 100, 777, 1 << 20))
        with cuts(rng.choice((1, 100, 3000)), rng.choice((1, 300)), block, most):
            again = read(path)
        if again != reading:
            problems.append(f"not the same when cut otherwise: {_told(again)}")
    return _result(case, reading, problems)


def _judge(case: Case, reading: Reading, *, limited: bool) -> list[str]:
    """What is wrong with a reading; ``limited`` says that pages were left out for their size."""
    data = unpack(case.packing, case.file)
    whole = data is not None and is_whole(case.format, data)
    if isinstance(reading, str):
        usable = whole and data and data.startswith(case.header or b"{")
        return _judge_line(reading) + ["a whole file is refused"] * bool(usable)
    pages, damage = reading
    problems = []
    if not whole and not damage:
        problems.append("damage that is not counted")
    if whole and damage and not limited:
        problems.append("a whole file is said to be damaged")
    if not limited:
        lost = [unit for unit in _survivors(case, data) if not _is_read(case, unit, pages)]
        problems += [f"a page that is there was not read: {unit[:100]!r}" for unit in lost]
    if data is not None and len(pages) + sum(damage.values()) < count_units(case.format, data):
        problems.append("tags or lines that are in no book")
    return problems


def _judge_line(message: str) -> list[str]:
    return ["an error that is not one line"] * (not message or "\n" in message)


def _survivors(case: Case, data: bytes | None) -> list[bytes]:
    """Pages that are in the file still, word for word, and can be known to be."""
    if case.damaged_packing:
        # Behind damage, gzip's members are not looked for, and a line of JSON may be the rest of another.
        if case.packing.startswith("gz") or case.format == "jsonl":
            return []
        return [unit for stream, units in case.streams if stream in case.file for unit in units]
    there = data or b"" if case.format == "xml" else set((data or b"").split(b"\n"))
    return [unit for unit in case.units if unit in there]


def _is_read(case: Case, unit: bytes, pages: list[tuple[Any, ...]]) -> bool:
    if case.format == "xml":
        return all(astuple(page) in pages for page in parse_pages(unit, Counter()))
    documents = list(parse_lines(unit, Counter()))
    for document in documents:
        mend(document, Counter())
    return all(astuple(document) in pages for document in documents)


def _told(reading: Reading) -> str:
    return reading if isinstance(reading, str) else f"{len(reading[0])} pages, {reading[1]}"


def _result(case: Case, reading: Reading, problems: list[str]) -> Result:
    outcome = "refused" if isinstance(reading, str) else "damage counted" if reading[1] else "whole still"
    told = f"{case}: {_told(reading)}"
    return {"mutations": case.mutations, "outcome": outcome, "problems": problems, "told": told}


# Builds.


class Silent(Progress):
    """Says nothing, not even of damage."""

    def warn(self, message: str) -> None:
        """Say nothing."""


def check_build(case: Case, rng: random.Random, folder: Path) -> Result:
    """Build one case in several ways."""
    path = folder / "dump"
    path.write_bytes(case.file)
    config = BuildConfig(extract=ExtractConfig(min_chars=30))
    quiet = Silent(quiet=True)
    with cuts(3000, 300, packed.READ_BYTES, packed.MAX_PAGE_BYTES):
        reading = read(path)
        try:
            ledger = build([path], folder / "wiki", config, progress=quiet).ledger
        except LinkwalkError as error:
            left = ["a refused build leaves something behind"] * (folder / "wiki").exists()
            return _result(case, str(error), _judge_line(str(error)) + left)
        problems = _judge_books(reading, ledger) + _judge_graph(folder / "wiki", ledger)
        try:
            build([path], folder / "strict", config, strict=True, progress=quiet)
            refused = False
        except InputError:
            refused = True
        if refused != bool(ledger["damage"]):
            problems.append(f"strict {'refuses' if refused else 'passes'} with damage {ledger['damage']}")
        if rng.random() < 0.04:
            build([path], folder / "two", config, workers=2, progress=quiet)
            if _files(folder / "two") != _files(folder / "wiki"):
                problems.append("two workers build another graph")
    return _result(case, ([()] * ledger["pages"]["read"], ledger["damage"]), problems)


def _judge_books(reading: Reading, ledger: dict[str, Any]) -> list[str]:
    """What is wrong with a ledger."""
    pages, links = ledger["pages"], ledger["links"]
    of_titles = ("duplicate title", "redirect loop")
    damage = {reason: count for reason, count in ledger["damage"].items() if reason not in of_titles}
    rules = {
        "pages are not those of reading": not isinstance(reading, str) and pages["read"] == len(reading[0]),
        "damage is not that of reading": not isinstance(reading, str) and damage == reading[1],
        "pages do not balance": pages["read"] == pages["kept"] + sum(pages["skipped"].values()),
        "links do not balance": links["seen"] == links["resolved"]["total"] + links["unresolved"]["total"],
        "resolved links do not add up": 2 * links["resolved"]["total"] == sum(links["resolved"].values()),
        "unresolved links do not add up": 2 * links["unresolved"]["total"]
        == sum(links["unresolved"].values()),
    }
    return [problem for problem, holds in rules.items() if not holds]


def _judge_graph(workspace: Path, ledger: dict[str, Any]) -> list[str]:
    """What is wrong with a graph."""
    graph = Graph.open(workspace)
    targets = np.asarray(graph.out_targets)
    problems = ["pages kept are not in the graph"] * (ledger["pages"]["kept"] != graph.articles)
    if len(targets) and not 0 <= targets.min() <= targets.max() < graph.nodes:
        problems.append("an edge leads nowhere")
    return problems


def _files(workspace: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (workspace / "graph").iterdir()}


# Cases are run in forked processes, so that a crash or a hang costs one case.

CHECKS = {"reading": check_reading, "build": check_build}


def run_case(kind: str, number: int, seed: int, sources: Sequence[Source]) -> Result:
    """One case; any exception is a problem."""
    name = f"{seed} {kind} {number}"
    case = draw_case(name, sources)
    with tempfile.TemporaryDirectory() as folder:
        try:
            return CHECKS[kind](case, random.Random(f"{name} checks"), Path(folder))
        except Exception:
            return _failed(case, traceback.format_exc())


def _failed(case: Case, what: str) -> Result:
    return _result(case, "", [what]) | {"outcome": "failed"}


@dataclass
class Lane:
    """A process that works through some cases, and reports each."""

    kind: str
    numbers: list[int]
    seed: int
    sources: Sequence[Source]

    def start(self) -> None:
        """Fork a process for the cases that are left."""
        context = multiprocessing.get_context("fork")
        self.pipe, end = context.Pipe(duplex=False)
        self.process = context.Process(target=self._work, args=(end,))
        self.process.start()
        end.close()
        self.deadline = time.monotonic() + LIMITS[self.kind]

    def _work(self, pipe: Connection) -> None:
        for number in self.numbers:
            pipe.send(run_case(self.kind, number, self.seed, self.sources))

    def receive(self) -> tuple[int, Result] | None:
        """The next case's result, if it has come or will never come."""
        if self.pipe.poll():
            try:
                result = self.pipe.recv()
            except EOFError:
                return self._lose("the process died")
            self.deadline = time.monotonic() + LIMITS[self.kind]
            return self.numbers.pop(0), result
        if time.monotonic() > self.deadline:
            return self._lose(f"not done after {LIMITS[self.kind]:.0f} s")
        return None

    def _lose(self, what: str) -> tuple[int, Result]:
        """Give up a case and its process; another one goes on behind it."""
        self.process.kill()
        self.process.join()
        number = self.numbers.pop(0)
        self.start()
        return number, _failed(draw_case(f"{self.seed} {self.kind} {number}", self.sources), what)


def run_all(
    kind: str, count: int, seed: int, lanes: int, sources: Sequence[Source]
) -> Iterator[tuple[int, Result]]:
    """All cases of a kind, in the order they are done."""
    working = [Lane(kind, list(range(lane, count, lanes)), seed, sources) for lane in range(lanes)]
    for lane in working:
        lane.start()
    try:
        while left := [lane for lane in working if lane.numbers]:
            wait([lane.pipe for lane in left], timeout=1.0)
            for lane in left:
                while lane.numbers and (done := lane.receive()):
                    yield done
    finally:
        for lane in working:
            lane.process.kill()


def tell(table: dict[str, Counter[str]]) -> None:
    """Print how many cases of each mutation came to what end."""
    columns = sorted({outcome for row in table.values() for outcome in row})
    print(f"{'':<34}", *(f"{column:>23}" for column in columns))
    for name, row in table.items():
        print(f"{name:<34}", *(f"{row[column]:>23,}" for column in columns))


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--reading", type=int, default=20_000, help="damaged dumps to read")
    options.add_argument("--builds", type=int, default=1_000, help="damaged dumps to build")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--lanes", type=int, default=multiprocessing.cpu_count(), help="processes at a time")
    options.add_argument("--only", help="one case again, such as reading:17 or build:3")
    options.add_argument("--json", type=Path, help="write the figures here")
    arguments = options.parse_args()
    sources = read_sources()
    if arguments.only:
        kind, _, number = arguments.only.partition(":")
        result = run_case(kind, int(number), arguments.seed, sources)
        print(result["told"], *result["problems"], sep="\n")
        return 1 if result["problems"] else 0
    started, failed = time.monotonic(), 0
    table: dict[str, Counter[str]] = {name: Counter() for name in MUTATIONS | MUTATIONS_OF_BYTES}
    table[SEVERAL] = Counter()
    run_case("build", 0, arguments.seed, sources)  # so that compiled loops are there before forking
    for kind, count in (("reading", arguments.reading), ("build", arguments.builds)):
        with Progress().stage(kind, count, "cases") as stage:
            for number, result in run_all(kind, count, arguments.seed, arguments.lanes, sources):
                stage.advance()
                mutations = result["mutations"]
                row = mutations[0] if len(mutations) == 1 else SEVERAL
                table[row][f"{kind}: {result['outcome']}"] += 1
                if result["problems"]:
                    failed += 1
                    print(
                        f"--seed {arguments.seed} --only {kind}:{number}  {result['told']}", file=sys.stderr
                    )
                    print(*result["problems"], sep="\n", file=sys.stderr, flush=True)
    tell(table)
    sizes = {"reading": arguments.reading, "builds": arguments.builds, "seed": arguments.seed}
    sizes["dumps"] = len(sources)
    totals = dict(sorted(sum(table.values(), Counter()).items()))
    results = {**totals, "failed": failed, "seconds": time.monotonic() - started}
    report("mutations", {**sizes, "cases": table}, results, arguments.json)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
