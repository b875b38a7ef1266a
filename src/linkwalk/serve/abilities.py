"""What can be done with a wiki as it is, and which commands would make more of it."""

from pathlib import Path

from linkwalk import __version__
from linkwalk.serve.schema import AgentInfo, Health, WikiInfo
from linkwalk.shipped import POLICY
from linkwalk.wiki import Wiki

_ABOUT = {
    POLICY: "The policy that ships: goes where a learned map of the goal points, and remembers the links it has seen.",
    "random": "Any link, drawn evenly.",
    "greedy": "The link whose page is most like the goal, even if it has been there.",
    "greedy-unvisited": "The page most like the goal that it has not seen: the paper's baseline.",
    "random-dfs": "Depth-first search, links in random order.",
    "greedy-dfs": "Depth-first search, the most promising link first.",
    "greedy-map": "As compass, with nothing learned.",
    "learned-map": "As greedy-map, with a learned sense of which link to go for, on any wiki.",
}
_WITHOUT = {
    "navigate": "agents walk by chance only",
    "find": "Ask is off",
    "policy": "greedy-map walks where nobody is named",
    "read": "agents find no sentences, nor does Ask read on from what it finds",
}


def health_of(wiki: Wiki, budget: int) -> Health:
    """What ``/api/v1/health`` says of a wiki; nothing large is opened for it."""
    graph, missing = wiki.graph, wiki.missing()
    return Health(
        version=__version__,
        wiki=WikiInfo(
            name=wiki.folder.resolve().name,
            snapshot=graph.snapshot,
            blocks=graph.nodes,
            articles=graph.articles,
            links=graph.edges,
        ),
        agents=tuple(
            AgentInfo(name=name, about=_ABOUT.get(name, "A policy of this workspace."))
            for name in wiki.agents
        ),
        find="find" not in missing,
        navigate="navigate" not in missing,
        embeddings=None if "navigate" in missing else wiki.table().name,
        rerank=Path(wiki.ranks).name,
        missing={what: f"{_WITHOUT[what]}: {line}" for what, line in missing.items()},  # type: ignore[misc]
        budget=budget,
    )
