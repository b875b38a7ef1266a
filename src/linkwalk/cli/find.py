"""``linkwalk find``: a claim or a question in, sentences with their click paths out."""

import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from typer import Option

from linkwalk.cli.options import (
    AgentName,
    Candidates,
    EmbeddingsName,
    EncoderName,
    IndexedWiki,
    Json,
    Navigation,
    ReadAll,
    Rerank,
    Start,
    StartCount,
    StepCount,
    Top,
    argument,
    option,
)
from linkwalk.cli.output import percent, print_json, print_missing, print_next, print_table

if TYPE_CHECKING:
    from linkwalk.wiki import Answer


def find(
    wiki: IndexedWiki,
    query: Annotated[str, argument("QUERY", "A claim or a question.")],
    count: Annotated[int, option("K", "Sentences to show.", "-k", min=1, max=1000)] = 5,
    navigation: Navigation = "tabs",
    start: Start = None,
    starts: StartCount = 5,
    steps: StepCount = 20,
    candidates: Candidates = 20,
    read_all: ReadAll = False,
    rerank: Rerank = None,
    top: Top = 20,
    agent: AgentName = None,
    embeddings: EmbeddingsName = None,
    encoder: EncoderName = None,
    explain: Annotated[
        bool,
        Option("--explain", help="Say what each part of the work took, and how many blocks were read."),
    ] = False,
    json: Json = False,
) -> None:
    """Find the sentences that answer a question or bear on a claim, each with the click path that led to it.

    Search gives a page of results, and the agent reads on from there: always the most promising link of all blocks it
    has read, or the next result. The sentences of what it has read are ranked. A reranker that has learned to tell
    gives each the chance that it settles the matter, says where nothing seems to, and stops when more is not worth it.
    Where BM25 knows none of the words, the nearest embeddings are begun at.

    Example: linkwalk find encyclopedia "Who wrote the first computer program?"
    """
    from linkwalk.wiki import Wiki
    from linkwalk.wiki.answers import plain

    opened = Wiki.open(wiki, embeddings=embeddings)
    options = {
        "navigation": navigation,
        "start": start,
        "starts": starts,
        "steps": steps,
        "candidates": candidates,
        "read_all": read_all,
        "rerank": rerank,
        "top": top,
        "agent": agent,
    }
    if json or not sys.stdout.isatty():
        answer = opened.find(query, count, **options)
    else:
        answer = _watched(opened.find_waves(query, count, **options))
    if answer.start == "dense" and start != "dense":
        print("BM25 knows none of these words: begun at the nearest embeddings", file=sys.stderr)
    missing = None if agent or navigation == "none" else opened.without_shipped
    if json:
        print_json(plain(answer if explain else answer.untimed))
        print_missing(missing, json=True)
        return
    print("\n".join(_lines(answer)))
    if explain:
        spent = answer.milliseconds
        rows = [(part, f"{took:.1f} ms") for part, took in spent.items()]
        rows += [("in all", f"{sum(spent.values()):.1f} ms"), ("blocks read", str(answer.blocks))]
        if answer.confidence is not None:
            rows += [("chance of an answer", percent(answer.confidence))]
        print()
        print_table(rows)
    if not answer.evidence:
        return
    print_missing(missing, json=False)
    walked = next((one for one in answer.evidence if one.path), None)
    if walked is not None:
        ends = f"--from {shlex.quote(walked.start.name)} --to {shlex.quote(walked.place.name)}"
        print_next(f"linkwalk walk {wiki} {ends}")


def _watched(waves: "Iterator[Answer]") -> "Answer":
    """The last of what is found, while what there is so far stands on the screen."""
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False, transient=True) as screen:
        for answer in waves:
            screen.update(Text("\n".join(_lines(answer)), style="dim"), refresh=True)
    return answer


def _lines(answer: "Answer") -> list[str]:
    """Sentences, each with where it stands and how it was reached."""
    if not answer.evidence:
        return [] if answer.stage == "search" else ["no block has any of these words: try others"]
    lines = []
    if not answer.answered and answer.confidence is not None:
        lines += [f"Nothing here answers this (chance {percent(answer.confidence)}). The nearest sentences:"]
    for number, one in enumerate(answer.evidence, 1):
        said = f"score {one.score:.2f}" if answer.confidence is None else percent(one.score)
        path = [one.start.name, *(click.to.name for click in one.path)]
        lines += [
            f"{number:>3}. {one.sentence}",
            f"       {one.place.name}   {said}",
            f"       {' > '.join(path) if one.path else 'among the search results'}",
        ]
    return lines
