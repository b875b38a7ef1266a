"""What can be done with a wiki as it is, and which commands would make more of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkwalk.demo import POLICY
from linkwalk.wiki import Wiki

_ABOUT = {
    POLICY: "The policy that ships: goes where a learned map of the goal points, and remembers the links it has seen.",
    "random": "Any link, drawn evenly.",
    "greedy": "The link whose page is most like the goal, even if it has been there.",
    "greedy-unvisited": "The page most like the goal that it has not seen: the paper's baseline.",
    "random-dfs": "Depth-first search, links in random order.",
    "greedy-dfs": "Depth-first search, the most promising link first.",
    "greedy-map": "As compass, with nothing learned.",
}
_WITHOUT = {"navigate": "agents walk by chance only", "find": "Ask is off"}


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """What ``/api/v1/health`` says of a wiki."""

    wiki: dict[str, Any]
    agents: list[dict[str, str]]
    missing: dict[str, str]
    """``find`` or ``navigate``, where there is no index or no embeddings: a line with the command that helps."""
    rerank: str

    @classmethod
    def of(cls, wiki: Wiki) -> "Abilities":
        """Look, without opening anything large."""
        graph = wiki.graph
        return cls(
            wiki={
                "name": wiki.folder.resolve().name,
                "snapshot": graph.snapshot,
                "blocks": graph.nodes,
                "articles": graph.articles,
                "links": graph.edges,
            },
            agents=[
                {"name": name, "about": _ABOUT.get(name, "A policy of this workspace.")}
                for name in wiki.agents
            ],
            missing={what: f"{_WITHOUT[what]}: {line}" for what, line in wiki.missing().items()},
            rerank=Path(wiki.rerank).name if wiki.rerank else _best_reranker(),
        )


def _best_reranker() -> str:
    from linkwalk.embed.model import has_minilm

    return "cross" if has_minilm() else "tfidf"
