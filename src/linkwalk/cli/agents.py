"""Agents as the command line names them: the options that verbs share."""

from pathlib import Path
from typing import Annotated

from typer import Option

from linkwalk.errors import InputError
from linkwalk.navigate.ways import Ways
from linkwalk.parts import is_part

NAMES = (
    "compass (the policy that ships, for minilm-walks), random, greedy, greedy-unvisited, random-dfs, greedy-dfs, "
    "greedy-map, learned-map, a map's .json file, or a policy: its name in the workspace, or its path; or one of your "
    "own, package.module:Name"
)
COMPARED = ("greedy-unvisited", "random")
"""What is measured beside the usual agent where none is named: the baseline that counts, and chance."""

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
Budget = Annotated[
    int, Option(min=1, max=1_000_000, metavar="B", help="Steps an agent has to reach the goal.")
]
Seed = Annotated[int, Option(min=0, metavar="N", help="Makes all chance repeatable.")]
Runs = Annotated[
    Path | None,
    Option("--runs", metavar="FILE", help="Write every click to a run file, for `linkwalk games score`."),
]
EmbeddingsName = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Embeddings that are looked at. [default: those that the policy named was trained on, else those by an "
        "encoder that was trained on a wiki, else minilm-walks, else minilm, else the newest there are]",
    ),
]


def given(ways: Ways) -> str:
    """Ways of moving as they are given here."""
    return "".join(f" --{name}" for name in ways.chosen)


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
    Option(
        "--head",
        metavar="HEAD",
        callback=_use_heads,
        help="A head of your own that a policy was trained with, as package.module:Name: naming it runs its code, so a "
        "policy alone never does. May be repeated.",
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
    Option(
        "--encoder",
        metavar="PART",
        callback=_use_encoder,
        help="The encoder of your own that made the embeddings, package.module:Name: sentences are read with it.",
    ),
]
