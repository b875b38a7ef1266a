"""A dump N times over, each copy in an alphabet of its own: what a wiki of N times the size costs, with real text.

PYTHONPATH=src python bench/copies.py DUMP.xml.bz2 100 OUT.xml.bz2

The first copy is the dump as it is; in every other one the letters a to z are exchanged for one another, the same way
in titles, text and links, so copies share no titles, few words but the shortest, and no links lead from one to another.
Tags, entities, namespaces, names of templates, addresses and digits stay as they are. A title of few letters, which two
copies might both come to have, gets a word of two letters behind it, and so do the links to it. The file is multistream
bzip2 with a hundred pages a stream, as Wikimedia's are; the same input gives the same bytes.
"""

import argparse
import bz2
import multiprocessing
import random
import re
import string
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Bools, Bytes, Int64s
from linkwalk.sources.site import CANONICAL, INTERWIKI_PREFIXES, LANGUAGES

PAGES = 100
"""Pages of a stream."""
FEW_LETTERS = 8
"""Letters that a title must have to be the only one of its kind among all copies."""
_BODY = re.compile(rb'<title>([^<]*)</title>|<text[^<>]*>([^<]*)</text>|<redirect title="([^"]*)"')
_PREFIXES = sorted({*CANONICAL, *LANGUAGES, *INTERWIKI_PREFIXES}, key=len, reverse=True)
_STAYS = re.compile(
    rb"""&lt;/?[a-z][^&\n]{0,300}&gt;        # tags of HTML
    | &(?:amp;)*\#?\w+;                      # entities
    | https?://[^\s\]|]*
    | __[A-Z]+__ | \#redirect(?:ion)?
    | \{\{[^{}|\n]*                          # names of templates
    | ^(?:\{\||\|-|!)[^\n]*                  # what tables and their rows look like
    | \[\[:?(?:%s):(?:[^\[\]|\n]*\|(?=[^\[\]\n]*\|))*(?:[^\[\]|\n]*(?:\]\]|\|))?
    | (?:(?<=\[\[)|(?<!.))(?:lists?|index|outline)[ _]of[ _]
    | \(disambiguation\)"""
    % "|".join(map(re.escape, _PREFIXES)).replace("\\ ", "[ _]").encode(),
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_TARGET = re.compile(rb"\[\[([^\[\]|#<>\n]+)(?=[\]|#])")
_LETTER = re.compile(rb"[A-Za-z]")


class Original(NamedTuple):
    """Some pages of the dump."""

    data: Bytes
    stays: Bools
    """The bytes that are the same in every copy."""
    names_end: Int64s
    """Where titles of few letters end, and links to them."""


def parts_of(dump: Path) -> tuple[bytes, list[bytes], bytes]:
    """What a dump begins with, its pages in groups, and what it ends with."""
    with bz2.open(dump) if dump.suffix == ".bz2" else dump.open("rb") as file:
        text = file.read()
    first, last = text.index(b"<page>"), text.rindex(b"</page>") + len(b"</page>")
    pages = text[first:last].split(b"<page>")[1:]
    groups = [pages[at : at + PAGES] for at in range(0, len(pages), PAGES)]
    return text[:first], [b"".join(b"<page>" + page for page in group) for group in groups], text[last:]


def look_at(group: bytes) -> Original:
    """Find out what stays, and where short names end."""
    data = np.frombuffer(group, np.uint8)
    stays, ends = np.ones(len(data), np.bool_), []
    for body in _BODY.finditer(group):
        start, end = body.span(body.lastindex or 0)
        stays[start:end] = False
        text = body[body.lastindex or 0]
        kept = [match.span() for match in _STAYS.finditer(text)]
        for a, b in kept:
            stays[start + a : start + b] = True
        if body.lastindex == 2:
            within = np.zeros(len(text) + 1, np.bool_)
            for a, b in kept:
                within[a:b] = True
            names = [match.span(1) for match in _TARGET.finditer(text) if not within[match.start()]]
        else:
            names = [(0, len(text))]
        for a, b in names:
            name = text[a:b].rstrip()
            if name and len(_LETTER.findall(name)) < FEW_LETTERS:
                ends.append(start + a + len(name))
    return Original(data, stays, np.array(sorted(ends), np.int64))


def alphabet(copy: int) -> bytes:
    """Which letter stands for which in a copy, as a table of 256."""
    small = list(string.ascii_lowercase)
    if copy:
        random.Random(copy).shuffle(small)
    other = "".join(small)
    return bytes.maketrans(string.ascii_letters.encode(), (other + other.upper()).encode())


def copied(pages: Original, copy: int) -> bytes:
    """The pages in the alphabet of a copy."""
    if not copy:
        return pages.data.tobytes()
    out = np.frombuffer(alphabet(copy), np.uint8)[pages.data]
    np.copyto(out, pages.data, where=pages.stays)
    first, second = (string.ascii_lowercase[digit] for digit in divmod(copy, 26))
    code = np.frombuffer(f" {first}{second}".encode(), np.uint8)
    at = np.repeat(pages.names_end, len(code))
    return np.insert(out, at, np.tile(code, len(pages.names_end))).tobytes()


_ORIGINALS: list[Original] = []
"""The dump, shared with forked workers."""


def _packed(task: tuple[int, int]) -> bytes:
    copy, number = task
    return bz2.compress(copied(_ORIGINALS[number], copy))


def write_copies(dump: Path, copies: int, path: Path, workers: int) -> Iterator[int]:
    """Write the copies; yields how many are done. Memory: the dump unpacked, twice."""
    if not 1 <= copies <= 26 * 26:
        raise SystemExit("between 1 and 676 copies")
    head, groups, tail = parts_of(dump)
    fork = multiprocessing.get_context("fork")
    with fork.Pool(workers) as pool:
        _ORIGINALS[:] = pool.map(look_at, groups, chunksize=1)
    tasks = ((copy, number) for copy in range(copies) for number in range(len(groups)))
    partial = path.with_name(path.name + ".partial")
    with fork.Pool(workers) as pool, partial.open("wb") as file:
        file.write(bz2.compress(head))
        for done, stream in enumerate(pool.imap(_packed, tasks, chunksize=2), 1):
            file.write(stream)
            if done % len(groups) == 0:
                yield done // len(groups)
        file.write(bz2.compress(tail))
    _ORIGINALS.clear()
    partial.rename(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dump", type=Path)
    parser.add_argument("copies", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--workers", type=int, default=multiprocessing.cpu_count())
    args = parser.parse_args()
    started = time.perf_counter()
    for done in write_copies(args.dump, args.copies, args.out, args.workers):
        if done % max(1, args.copies // 10) == 0:
            print(f"{time.perf_counter() - started:6.1f} s  {done} of {args.copies} copies", flush=True)
    print(f"{args.out}: {args.out.stat().st_size / 1e6:,.0f} MB", flush=True)


if __name__ == "__main__":
    main()
