"""The options that several verbs share, each said once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from linkwalk.device import choose_device
from linkwalk.errors import InputError
from linkwalk.parts import is_part

if TYPE_CHECKING:
    from linkwalk.trainings.run import TrainingRun


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """An option as its help shows it: what stands for the value, and what it means."""
    return Option(*names, metavar=metavar, help=help, **more)


def argument(metavar: str, help: str) -> Any:
    """An argument, which is given by its place: what stands for it, and what it means."""
    return Argument(metavar=metavar, help=help)


BuiltWiki = Annotated[Path, argument("WIKI", "Workspace that `linkwalk build` made.")]
IndexedWiki = Annotated[Path, argument("WIKI", "Workspace, indexed and embedded.")]
EmbeddedWiki = Annotated[Path, argument("WIKI", "Workspace with a graph and embeddings.")]
NewWiki = Annotated[Path, option("WIKI", "Workspace to make.", "--output", "-o")]
OpenPage = Annotated[bool, Option("--open", help="Open the page in a browser.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object on standard output and nothing else.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress on standard error.")]

# Agents: who walks, how, and by which embeddings.

AGENT_NAMES = (
    "compass (the policy that ships, for minilm-walks), random, greedy, greedy-unvisited, random-dfs, greedy-dfs, "
    "greedy-map, learned-map, a map's .json file, or a policy: its name in the workspace, or its path; or one of your "
    "own, package.module:Name"
)
COMPARED = ("greedy-unvisited", "random")
"""What is measured beside the usual agent where none is named: the baseline that counts, and chance."""

Agents = Annotated[
    list[str] | None,
    option(
        "A",
        f"{AGENT_NAMES}; may be repeated. [default: whoever `linkwalk walk` takes, {', '.join(COMPARED)}]",
    ),
]
Back = Annotated[
    bool,
    Option(
        "--back",
        help="Give agents a back button, one step a page: greedy-unvisited and policies go back to the best link of "
        "the last 16 pages; compass, the maps, random and greedy have one more way to go. Without it the paper's "
        "rules hold; depth-first search goes back in any case.",
    ),
]
Sampled = Annotated[
    bool,
    Option(
        "--sampled",
        help="Draw links by their probability instead of taking the best: policies and maps.",
    ),
]
Revisit = Annotated[
    bool,
    Option(
        "--revisit",
        help="Let policies return to pages they have seen whenever these look best, the paper read literally; a "
        "compass remembers where it has been in any case.",
    ),
]
Budget = Annotated[int, option("B", "Steps an agent has to reach the goal.", min=1, max=1_000_000)]
Seed = Annotated[int, option("N", "Makes all chance repeatable.", min=0)]
Runs = Annotated[
    Path | None,
    option("FILE", "Write every click to a run file, for `linkwalk games score`."),
]
EmbeddingsName = Annotated[
    str | None,
    option(
        "NAME",
        "Embeddings that are looked at. [default: those that the policy named was trained on, else those by an "
        "encoder that was trained on a wiki, else minilm-walks, else minilm, else the newest there are]",
    ),
]


def _use_heads(names: list[str] | None) -> list[str] | None:
    """Make them known; nothing else has to be done with them."""
    from linkwalk.policy.own import use_head

    for name in names or []:
        if not is_part(name):
            raise InputError(f"--head {name}: write a head of your own as package.module:Name")
        use_head(name)
    return names


Heads = Annotated[
    list[str] | None,
    option(
        "HEAD",
        "A head of your own that a policy was trained with, as package.module:Name: naming it runs its code, so a "
        "policy alone never does. May be repeated.",
        callback=_use_heads,
    ),
]


def _use_encoder(name: str | None) -> str | None:
    """Make it known; nothing else has to be done with it."""
    if name is not None:
        from linkwalk.embed import use_encoder

        if not is_part(name):
            raise InputError(f"--encoder {name}: write an encoder of your own as package.module:Name")
        use_encoder(name)
    return name


EncoderName = Annotated[
    str | None,
    option(
        "PART",
        "The encoder of your own that made the embeddings, package.module:Name: sentences are read with it.",
        callback=_use_encoder,
    ),
]

# Evidence: how it is looked for.

Navigation = Annotated[
    str,
    option(
        "HOW",
        "How to read on from the search results: tabs (the best link of all blocks read, or the next result), "
        "walks (the paper's way: the agent walks from each start on its own), expand (every block one link away from a "
        "start), pagerank (where weight comes to rest that starts at the results and follows links), order (search "
        "results alone, the most promising to the agent first), lead (the first block of each article that the search "
        "hits) or none (search results alone; by BM25 this needs no embeddings).",
    ),
]
Start = Annotated[
    str | None,
    option(
        "HOW",
        "Where to begin: bm25, dense (the nearest embeddings) or hybrid (both lists fused). [default: hybrid with "
        "tabs and order, otherwise bm25]",
    ),
]
StartCount = Annotated[
    int,
    option("N", "Blocks that walks and expand begin at.", min=1, max=1000),
]
StepCount = Annotated[int, option("N", "Clicks from each of them, with walks.", min=1, max=1000)]
Candidates = Annotated[
    int,
    option("N", "Blocks to read. [0 with walks, expand: all]", min=0, max=100_000),
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
    option(
        "HOW",
        "Who ranks the sentences: cross (the cross-encoder that ships, which reads whole blocks and says what to "
        "read next), tfidf, none (as they were read), the folder of a reranker (one that `linkwalk train-reranker` "
        "made, or any sequence classifier in Hugging Face's form), or one of your own, as package.module:Name. "
        "[default: cross with MiniLM's embeddings, or else tfidf]",
    ),
]
Top = Annotated[
    int,
    option(
        "N",
        "Sentences that a cross-encoder of single sentences reads (one that `linkwalk train-reranker` made, or a "
        "sequence classifier), of those in the blocks read. 200, which is nearly all of them, finds more for claims, "
        "and takes some three times as long. The one that ships reads all of them.",
        min=1,
        max=100_000,
    ),
]
AgentName = Annotated[
    str | None,
    option(
        "A",
        "Who navigates: compass (the policy that ships), a baseline, a policy, or an agent of your own, as "
        "package.module:Name. With tabs and order it says where to look, so it is a compass, greedy, or one of yours "
        "with directions. [default: compass with minilm-walks, else a compass trained for the embeddings there are, "
        "else greedy-map]",
    ),
]

FeverPages = Annotated[
    Path | None,
    option(
        "DIR",
        "FEVER's own Wikipedia (wiki-001.jsonl ...): evidence is matched by its sentences, and scored by FEVER's "
        "own measures.",
    ),
]

Level = Annotated[
    str,
    option("L", "FEVER: what is to be found, block or page (needs no sentences)."),
]

# Trainings.

Settings = Annotated[
    list[str] | None,
    option("KEY=VALUE", "Change one setting; may be repeated. A wrong key lists all of them.", "--set"),
]
Device = Annotated[str, option("D", "auto, cpu, cuda, cuda:N or mps.")]
CheckpointEvery = Annotated[int, option("N", "Updates between two saves of the training.", min=1)]
Restart = Annotated[
    bool, Option("--restart", help="Begin anew, even if there is a stopped training to go on with.")
]
Force = Annotated[bool, Option("--force", help="Replace what has that name.")]
Part = Annotated[
    str | None,
    option(
        "P",
        "What of a benchmark is learnt from: all, or tuned, which leaves the half that `score --part kept` "
        "reports out. [default: tuned for FEVER, all for questions]",
    ),
]
Threshold = Annotated[
    float | None,
    option(
        "N",
        "FEVER claims: token-set ratio from which a block holds a sentence. [default: 80]",
        min=1,
        max=100,
    ),
]
WikiPages = Annotated[
    Path | None,
    option("DIR", "FEVER claims that name sentences by number: FEVER's own Wikipedia, which has their text."),
]
PolicyName = Annotated[
    str,
    argument(
        "POLICY",
        "Whose target encoder: the policy's name in the workspace, its path, or compass (the policy that ships). "
        "It must say where to look, as a compass does.",
    ),
]
CopyName = Annotated[
    str | None,
    option(
        "NAME",
        "Name of a copy of the policy that the target encoder goes to. [default: that of the policy]",
    ),
]


def training_run(
    settings: list[str] | None,
    device: str,
    checkpoint_every: int,
    restart: bool,
    force: bool,
    quiet: bool,
) -> "TrainingRun":
    """How a training is run. To be made before anything that needs torch: without it, this says what to install."""
    chosen = str(choose_device(device))
    from linkwalk.trainings.run import TrainingRun

    return TrainingRun(settings or [], chosen, checkpoint_every, restart, force, quiet)
