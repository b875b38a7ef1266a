"""``linkwalk find``: a claim or a question in, sentences with their click paths out."""

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
    starts: Annotated[
        int, typer.Option("--starts", min=1, max=1000, metavar="N", help="Blocks of BM25's to begin at.")
    ] = 5,
    steps: Annotated[
        int, typer.Option("--steps", min=1, max=1000, metavar="N", help="Clicks from each of them.")
    ] = 10,
    no_navigation: Annotated[
        bool,
        typer.Option("--no-navigation", help="Read the starts alone; needs no embeddings and no torch."),
    ] = False,
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
    sentences of all blocks it stood on.

    Example: linkwalk find encyclopedia "Who wrote the first computer program?"
    """
    from linkwalk.errors import InputError
    from linkwalk.graph.store import Graph

    need_search()
    from linkwalk.retrieve import Bm25, FindConfig, Finder

    if not query.strip():
        raise InputError("the query is empty: give a claim or a question")
    graph = Graph.open(wiki)
    bm25 = Bm25.open(wiki, graph)
    config = FindConfig(starts=starts, steps=0 if no_navigation else steps)
    walker = meaning = None
    if not no_navigation:
        from linkwalk.embed import Embeddings
        from linkwalk.navigate import unit_rows

        names = check_agents([agent], wiki)
        if len(names) != 1:
            raise InputError("one agent walks at a time: name one with --agent")
        vectors = open_vectors(wiki, graph, names, embeddings)
        walker = open_agent(names[0], wiki, graph, vectors, Ways(), embeddings)
        table = Embeddings.open(wiki, embeddings or "minilm", graph)
        (encoder,) = open_encoders(wiki, names, table).values()
        meaning = unit_rows(encoder.encode([query]))[0]
    found = Finder(graph, bm25, walker, config).find(query, count, meaning=meaning)
    if json:
        print_json(
            {
                "query": query,
                "agent": None if no_navigation else agent,
                "starts": starts,
                "steps": config.steps,
                "evidence": [evidence.to_json() for evidence in found],
            }
        )
        return
    if not found:
        print("no block has any of these words: try others")
        return
    for number, evidence in enumerate(found, 1):
        print(f"{number:>3}. {evidence.sentence}")
        print(f"       {evidence.title} ({evidence.block})   score {evidence.score:.2f}")
        print(f"       {_path(graph.name(evidence.start), evidence)}")
    walked = next((evidence for evidence in found if evidence.path), None)
    if walked is not None:
        ends = f"--from '{graph.name(walked.start)}' --to '{graph.name(walked.node)}'"
        print_next(f"linkwalk walk {wiki} {ends}")


def _path(start: str, evidence: "Evidence") -> str:
    if not evidence.path:
        return "found by its words"
    return " > ".join([start, *(f"{step.title} ({step.block})" for step in evidence.path)])


def need_search() -> None:
    """Say what to install where the search engine or the reranker's library is missing."""
    from importlib.util import find_spec

    from linkwalk.errors import InputError

    for package, name in (("tantivy", "tantivy"), ("sklearn", "scikit-learn")):
        if find_spec(package) is None:
            raise InputError(f"{name} is not installed: pip install 'linkwalk[find]'")
