"""``linkwalk find``: a claim or a question in, sentences with their click paths out."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwalk.cli.agents import EmbeddingsName, Ways, check_agents, open_agent, open_encoders, open_vectors
from linkwalk.cli.output import Json, print_json, print_next
from linkwalk.demo import POLICY

if TYPE_CHECKING:
    from linkwalk.retrieve import Evidence


def find(
    wiki: Annotated[Path, typer.Argument(metavar="WIKI", help="Workspace, indexed and embedded.")],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A claim or a question.")],
    count: Annotated[int, typer.Option("-k", min=1, max=1000, metavar="K", help="Sentences to show.")] = 5,
    start: Annotated[
        str,
        typer.Option(
            "--start", metavar="HOW", help="Where to begin: bm25, dense (the nearest embeddings) or hybrid."
        ),
    ] = "bm25",
    starts: Annotated[
        int, typer.Option("--starts", min=1, max=1000, metavar="N", help="Blocks to begin at.")
    ] = 5,
    steps: Annotated[
        int, typer.Option("--steps", min=1, max=1000, metavar="N", help="Clicks from each of them.")
    ] = 10,
    no_navigation: Annotated[
        bool,
        typer.Option("--no-navigation", help="Read the starts alone; needs no embeddings and no torch."),
    ] = False,
    expand: Annotated[
        bool,
        typer.Option("--expand", help="Read every block one link away from a start, instead of walking."),
    ] = False,
    candidates: Annotated[
        int,
        typer.Option(
            "--candidates", min=0, metavar="N", help="Read at most N blocks, what was seen soonest. [0: all]"
        ),
    ] = 0,
    rerank: Annotated[
        str, typer.Option("--rerank", metavar="HOW", help="tfidf, or none: sentences as they were seen.")
    ] = "tfidf",
    agent: Annotated[
        str,
        typer.Option(
            "--agent", metavar="A", help="Who walks: compass (the policy that ships), a baseline or a policy."
        ),
    ] = POLICY,
    embeddings: EmbeddingsName = None,
    json: Json = False,
) -> None:
    """Find the sentences that answer a question or bear on a claim, each with the click path that led to it.

    BM25 gives some blocks to begin at, the agent walks from each towards what the query means, and TF-IDF ranks the
    sentences of all blocks it stood on. Where BM25 knows none of the words, the nearest embeddings are begun at.

    Example: linkwalk find encyclopedia "Who wrote the first computer program?"
    """
    from linkwalk.errors import InputError
    from linkwalk.graph.store import Graph

    need_search()
    from linkwalk.retrieve import Bm25, FindConfig, Finder, tfidf

    rerankers = {"none": None, "tfidf": tfidf}

    if not query.strip():
        raise InputError("the query is empty: give a claim or a question")
    if no_navigation and expand:
        raise InputError("--no-navigation and --expand: choose one of the two")
    if rerank not in rerankers:
        raise InputError(f"no reranker named {rerank!r}: choose one of {', '.join(rerankers)}")
    graph = Graph.open(wiki)
    bm25 = Bm25.open(wiki, graph)
    walks = not (no_navigation or expand)
    config = FindConfig(
        start=start, starts=starts, steps=steps if walks else 0, expand=expand, candidates=candidates
    )
    walker = meaning = vectors = None
    if walks or start != "bm25":
        from linkwalk.embed import Embeddings
        from linkwalk.navigate import unit_rows

        names = check_agents([agent], wiki)
        if len(names) != 1:
            raise InputError("one agent walks at a time: name one with --agent")
        vectors = open_vectors(wiki, graph, names, embeddings)
        walker = open_agent(names[0], wiki, graph, vectors, Ways(), embeddings) if walks else None
        table = Embeddings.open(wiki, embeddings or "minilm", graph)
        (encoder,) = open_encoders(wiki, names, table).values()
        meaning = unit_rows(encoder.encode([query]))[0]
    finder = Finder(graph, bm25, walker, config, rerankers[rerank], vectors=vectors)
    found = finder.find(query, count, meaning=meaning)
    if found.start != start:
        print(f"BM25 knows none of these words: begun at the {starts} nearest embeddings", file=sys.stderr)
    if json:
        print_json(
            {
                "query": query,
                "agent": agent if walks else None,
                "start": found.start,
                "starts": starts,
                "steps": config.steps,
                "blocks": found.blocks,
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
        how = "among the starts" if not evidence.path else _path(graph.name(evidence.start), evidence)
        print(f"       {how}")
    walked = next((evidence for evidence in found.evidence if evidence.path), None)
    if walked is not None:
        ends = f"--from '{graph.name(walked.start)}' --to '{graph.name(walked.node)}'"
        print_next(f"linkwalk walk {wiki} {ends}")


def _path(start: str, evidence: "Evidence") -> str:
    return " > ".join([start, *(f"{step.title} ({step.block})" for step in evidence.path)])


def need_search() -> None:
    """Say what to install where the search engine or the reranker's library is missing."""
    from importlib.util import find_spec

    from linkwalk.errors import InputError

    for package, name in (("tantivy", "tantivy"), ("sklearn", "scikit-learn")):
        if find_spec(package) is None:
            raise InputError(f"{name} is not installed: pip install 'linkwalk[find]'")
