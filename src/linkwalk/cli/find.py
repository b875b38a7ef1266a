"""``linkwalk find``: a claim or a question in, sentences with their click paths out."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwalk.cli import retrieval
from linkwalk.cli.agents import EmbeddingsName
from linkwalk.cli.output import Json, print_json, print_next
from linkwalk.demo import POLICY
from linkwalk.wiki.retrieval import Retrieval

if TYPE_CHECKING:
    from linkwalk.retrieve import Evidence


def find(
    wiki: Annotated[Path, typer.Argument(metavar="WIKI", help="Workspace, indexed and embedded.")],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A claim or a question.")],
    count: Annotated[int, typer.Option("-k", min=1, max=1000, metavar="K", help="Sentences to show.")] = 5,
    start: retrieval.Start = None,
    starts: retrieval.StartCount = 5,
    steps: retrieval.StepCount = 20,
    no_navigation: retrieval.NoNavigation = False,
    no_links: retrieval.NoLinks = False,
    expand: retrieval.Expand = False,
    walk: retrieval.Walk = False,
    lead: retrieval.Lead = False,
    candidates: retrieval.Candidates = 20,
    rerank: retrieval.Rerank = None,
    top: retrieval.Top = 20,
    agent: retrieval.AgentName = POLICY,
    embeddings: EmbeddingsName = None,
    json: Json = False,
) -> None:
    """Find the sentences that answer a question or bear on a claim, each with the click path that led to it.

    Search gives a page of results, and the agent reads on from there: always the most promising link of all blocks it
    has read, or the next result. The sentences of what it has read are ranked. Where BM25 knows none of the words, the
    nearest embeddings are begun at.

    Example: linkwalk find encyclopedia "Who wrote the first computer program?"
    """
    from linkwalk.errors import InputError
    from linkwalk.wiki import Wiki

    if not query.strip():
        raise InputError("the query is empty: give a claim or a question")
    asked = Retrieval(
        start=start,
        starts=starts,
        steps=steps,
        no_navigation=no_navigation,
        no_links=no_links,
        expand=expand,
        walk=walk,
        lead=lead,
        candidates=candidates,
        rerank=rerank,
        top=top,
        agent=agent,
        embeddings=embeddings,
    )
    if asked.begin != "dense" and not any(sign.isalnum() for sign in query):
        raise InputError("the query has no words: give a claim or a question")
    searched = Wiki.open(wiki)
    graph, opened = searched.graph, searched.finder(asked)
    (found,) = opened.find([query], count)
    if found.start != asked.begin:
        print("BM25 knows none of these words: begun at the nearest embeddings", file=sys.stderr)
    if json:
        navigates = asked.navigation in ("tabs", "reorder", "walk")
        print_json(
            {
                "query": query,
                "agent": agent if navigates else None,
                "navigation": asked.navigation,
                "start": found.start,
                "rerank": opened.reranker,
                "blocks": len(found.read),
                "evidence": [evidence.to_json() for evidence in found.evidence],
            }
        )
        return
    if not found.evidence:
        print("no block has any of these words: try others")
        return
    for number, evidence in enumerate(found.evidence, 1):
        print(f"{number:>3}. {evidence.sentence}")
        print(f"       {evidence.title} ({evidence.block})   score {evidence.score:.2f}")
        how = "among the search results" if not evidence.path else _path(graph.name(evidence.start), evidence)
        print(f"       {how}")
    walked = next((evidence for evidence in found.evidence if evidence.path), None)
    if walked is not None:
        start, goal = (shlex.quote(graph.name(node)) for node in (walked.start, walked.node))
        print_next(f"linkwalk walk {wiki} --from {start} --to {goal}")


def _path(start: str, evidence: "Evidence") -> str:
    return " > ".join([start, *(f"{step.title} ({step.block})" for step in evidence.path)])
