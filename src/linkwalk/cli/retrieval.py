"""How evidence is looked for, as the command line says it: the options that ``find`` and ``score`` share."""

from typing import Annotated

import typer

Start = Annotated[
    str | None,
    typer.Option(
        "--start",
        metavar="HOW",
        help="Where to begin: bm25, dense (the nearest embeddings) or hybrid (both lists fused). [default: hybrid; "
        "bm25 with --walk, --expand, --lead and --no-navigation]",
    ),
]
StartCount = Annotated[
    int,
    typer.Option("--starts", min=1, max=1000, metavar="N", help="Blocks that --walk and --expand begin at."),
]
StepCount = Annotated[
    int, typer.Option("--steps", min=1, max=1000, metavar="N", help="Clicks from each of them, with --walk.")
]
NoNavigation = Annotated[
    bool,
    typer.Option("--no-navigation", help="Read search results alone; by BM25 this needs no embeddings."),
]
NoLinks = Annotated[
    bool,
    typer.Option("--no-links", help="Read search results alone, the most promising to the agent first."),
]
Expand = Annotated[
    bool,
    typer.Option(
        "--expand", help="Read every block one link away from a start, as far as --candidates goes."
    ),
]
Walk = Annotated[
    bool,
    typer.Option("--walk", help="The paper's way: the agent walks from each start on its own."),
]
Lead = Annotated[
    bool, typer.Option("--lead", help="Read the first block of each article that the search hits.")
]
Candidates = Annotated[
    int,
    typer.Option(
        "--candidates", min=0, max=100_000, metavar="N", help="Blocks to read. [0 with --walk, --expand: all]"
    ),
]
Rerank = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        metavar="HOW",
        help="Who ranks the sentences: cross (TF-IDF, then the cross-encoder that ships on the best 20), tfidf, none "
        "(as they were read), or the folder of a reranker: one that `linkwalk train --reranker` made, or any sequence "
        "classifier in Hugging Face's form. [default: cross, or tfidf without torch]",
    ),
]
Top = Annotated[
    int,
    typer.Option(
        "--top",
        min=1,
        max=100_000,
        metavar="N",
        help="Sentences that the cross-encoder reads, of those in the blocks read. 200, which is nearly all of them, "
        "finds more for claims, and takes some three times as long.",
    ),
]
AgentName = Annotated[
    str,
    typer.Option(
        "--agent",
        metavar="A",
        help="Who navigates: compass (the policy that ships), a baseline or a policy. Without --walk it says where to "
        "look, so it is a compass or greedy.",
    ),
]
