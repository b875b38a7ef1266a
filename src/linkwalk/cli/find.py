"""``linkwalk find``: a claim or a question in, sentences with their click paths out."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from linkwalk.cli import retrieval
from linkwalk.cli.agents import EmbeddingsName, EncoderName
from linkwalk.cli.output import Json, print_json, print_missing, print_next


def find(
    wiki: Annotated[Path, typer.Argument(metavar="WIKI", help="Workspace, indexed and embedded.")],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A claim or a question.")],
    count: Annotated[int, typer.Option("-k", min=1, max=1000, metavar="K", help="Sentences to show.")] = 5,
    navigation: retrieval.Navigation = "tabs",
    start: retrieval.Start = None,
    starts: retrieval.StartCount = 5,
    steps: retrieval.StepCount = 20,
    candidates: retrieval.Candidates = 20,
    rerank: retrieval.Rerank = None,
    top: retrieval.Top = 20,
    agent: retrieval.AgentName = None,
    embeddings: EmbeddingsName = None,
    encoder: EncoderName = None,
    json: Json = False,
) -> None:
    """Find the sentences that answer a question or bear on a claim, each with the click path that led to it.

    Search gives a page of results, and the agent reads on from there: always the most promising link of all blocks it
    has read, or the next result. The sentences of what it has read are ranked. Where BM25 knows none of the words, the
    nearest embeddings are begun at.

    Example: linkwalk find encyclopedia "Who wrote the first computer program?"
    """
    from linkwalk.wiki import Wiki
    from linkwalk.wiki.plain import plain

    opened = Wiki.open(wiki, embeddings=embeddings)
    answer = opened.find(
        query,
        count,
        navigation=navigation,
        start=start,
        starts=starts,
        steps=steps,
        candidates=candidates,
        rerank=rerank,
        top=top,
        agent=agent,
    )
    if answer.start == "dense" and start != "dense":
        print("BM25 knows none of these words: begun at the nearest embeddings", file=sys.stderr)
    missing = None if agent or navigation == "none" else opened.without_shipped
    if json:
        print_json(plain(answer))
        print_missing(missing, json=True)
        return
    if not answer.evidence:
        print("no block has any of these words: try others")
        return
    for number, one in enumerate(answer.evidence, 1):
        print(f"{number:>3}. {one.sentence}")
        print(f"       {one.place.name}   score {one.score:.2f}")
        path = [one.start.name, *(click.to.name for click in one.path)]
        print(f"       {' > '.join(path) if one.path else 'among the search results'}")
    print_missing(missing, json=False)
    walked = next((one for one in answer.evidence if one.path), None)
    if walked is not None:
        ends = f"--from {shlex.quote(walked.start.name)} --to {shlex.quote(walked.place.name)}"
        print_next(f"linkwalk walk {wiki} {ends}")
