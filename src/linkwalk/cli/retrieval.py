"""How evidence is looked for, as the command line says it: the options that ``find`` and ``score`` share."""

from typing import Annotated

from typer import Option

Navigation = Annotated[
    str,
    Option(
        "--navigation",
        metavar="HOW",
        help="How to read on from the search results: tabs (the best link of all blocks read, or the next result), "
        "walks (the paper's way: the agent walks from each start on its own), expand (every block one link away from a "
        "start), pagerank (where weight comes to rest that starts at the results and follows links), order (search "
        "results alone, the most promising to the agent first), lead (the first block of each article that the search "
        "hits) or none (search results alone; by BM25 this needs no embeddings).",
    ),
]
Start = Annotated[
    str | None,
    Option(
        "--start",
        metavar="HOW",
        help="Where to begin: bm25, dense (the nearest embeddings) or hybrid (both lists fused). [default: hybrid with "
        "tabs and order, otherwise bm25]",
    ),
]
StartCount = Annotated[
    int,
    Option("--starts", min=1, max=1000, metavar="N", help="Blocks that walks and expand begin at."),
]
StepCount = Annotated[
    int, Option("--steps", min=1, max=1000, metavar="N", help="Clicks from each of them, with walks.")
]
Candidates = Annotated[
    int,
    Option(
        "--candidates", min=0, max=100_000, metavar="N", help="Blocks to read. [0 with walks, expand: all]"
    ),
]
ReadAll = Annotated[
    bool,
    Option(
        "--read-all",
        help="Read all of --candidates, though what is left is hardly worth it. [with the reranker that ships]",
    ),
]
Rerank = Annotated[
    str | None,
    Option(
        "--rerank",
        metavar="HOW",
        help="Who ranks the sentences: cross (the cross-encoder that ships, which reads whole blocks and says what to "
        "read next), tfidf, none (as they were read), the folder of a reranker (one that `linkwalk train-reranker` "
        "made, or any sequence classifier in Hugging Face's form), or one of your own, as package.module:Name. "
        "[default: cross with MiniLM's embeddings, or else tfidf]",
    ),
]
Top = Annotated[
    int,
    Option(
        "--top",
        min=1,
        max=100_000,
        metavar="N",
        help="Sentences that a cross-encoder of single sentences reads (one that `linkwalk train-reranker` made, or a "
        "sequence classifier), of those in the blocks read. 200, which is nearly all of them, finds more for claims, "
        "and takes some three times as long. The one that ships reads all of them.",
    ),
]
AgentName = Annotated[
    str | None,
    Option(
        "--agent",
        metavar="A",
        help="Who navigates: compass (the policy that ships), a baseline, a policy, or an agent of your own, as "
        "package.module:Name. With tabs and order it says where to look, so it is a compass, greedy, or one of yours "
        "with directions. [default: compass with minilm-walks, else a compass trained for the embeddings there are, "
        "else greedy-map]",
    ),
]
