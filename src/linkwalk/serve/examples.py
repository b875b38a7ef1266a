"""Examples of the wiki that is served: what the API's page shows can be sent as it stands."""

from typing import Any

from linkwalk.errors import LinkwalkError
from linkwalk.wiki import Wiki
from linkwalk.wiki.plain import plain


def add_examples(description: dict[str, Any], wiki: Wiki, health: dict[str, Any]) -> None:
    """Put blocks of this wiki in place of those that the models name, and an answer beside each question."""
    try:
        start, goal, distance = wiki.pair(0, 2, 4)
        walk = wiki.walk(start.node, goal.node, agent="random", budget=1)
    except LinkwalkError:  # a wiki with nowhere to go keeps the examples of the bundled one
        return
    here, there = plain(start), plain(goal)
    walked = plain(walk)
    optimum = walk.optimum or ()
    evidence = {
        "score": 0.93,
        "sentence": wiki.graph.block(goal.node).sentences[0],
        "place": there,
        "start": here,
        "path": plain(optimum),
    }
    steps = [click.to.node for click in optimum]
    game = {
        "who": "Ada",
        "start": start.name,
        "goal": goal.name,
        "steps": steps,
        "seconds": 42.5,
        "won": True,
    }
    asked = {"query": evidence["sentence"], "limit": 3}
    pair = {"start": start.name, "goal": goal.name}
    for path, wanted, answer in (
        ("/api/v1/health", None, health),
        ("/api/v1/titles", None, {"query": start.title[:3], "titles": [here]}),
        ("/api/v1/block/{node}", None, plain(wiki.block(start.node))),
        ("/api/v1/block", None, plain(wiki.block(start.node))),
        ("/api/v1/pair", None, {"start": here, "goal": there, "distance": distance, "seed": 0}),
        ("/api/v1/walk", pair | {"agent": wiki.agents[0], "budget": 100}, walked),
        (
            "/api/v1/compare",
            pair | {"agents": wiki.agents[:3]},
            {"walks": [walked]},
        ),
        (
            "/api/v1/find",
            asked,
            {
                "query": asked["query"],
                "start": "hybrid",
                "navigation": "tabs",
                "rerank": "cross",
                "agent": wiki.agents[0],
                "blocks": 20,
                "evidence": [evidence],
            },
        ),
        (
            "/api/v1/runs",
            game,
            game
            | {
                "wiki": wiki.graph.snapshot,
                "start_node": start.node,
                "goal_node": goal.node,
                "clicks": len(steps),
                "distance": distance,
                "optimum": steps,
                "when": "2026-01-01T12:00:00+00:00",
                "stored": True,
            },
        ),
    ):
        (operation,) = description["paths"][path].values()
        operation["responses"]["200"]["content"]["application/json"]["example"] = answer
        if wanted is not None:
            operation["requestBody"]["content"]["application/json"]["example"] = wanted
    named = {
        "start": start.name,
        "goal": goal.name,
        "name": start.name,
        "q": start.title[:3],
        "node": start.node,
    }
    for operations in description["paths"].values():
        for parameter in operations.get("get", {}).get("parameters", ()):
            if parameter["name"] in named:
                parameter["schema"].pop("examples", None)
                parameter["example"] = named[parameter["name"]]
