"""Examples of the wiki that is served: what the API's page shows can be sent as it stands."""

from typing import Any

from pydantic_core import to_jsonable_python

from linkwalk.errors import LinkwalkError
from linkwalk.games.runs import Header, Run
from linkwalk.serve import schema
from linkwalk.wiki import Answer, Evidence, Wiki


def add_examples(description: dict[str, Any], wiki: Wiki, health: schema.Health) -> None:
    """Put blocks of this wiki in place of those that the models name, and an answer beside each question."""
    try:
        start, goal, distance = wiki.pair(0, 2, 4)
        walk = wiki.walk(start.node, goal.node, agent="random", budget=1)
    except LinkwalkError:  # a wiki with nowhere to go keeps the examples of the bundled one
        return
    optimum = walk.optimum or ()
    sentence = wiki.graph.block(goal.node).sentences[0]
    answer = Answer(
        query=sentence,
        start="hybrid",
        navigation="tabs",
        rerank=health.rerank,
        agent=wiki.agents[0],
        blocks=20,
        evidence=(Evidence(score=0.93, sentence=sentence, place=goal, start=start, path=optimum),),
        confidence=0.97,
    )
    page = wiki.block(start.node)
    pair: dict[str, Any] = {"start": start.name, "goal": goal.name}
    steps = [click.to.node for click in optimum]
    game = pair | {"who": "Ada", "steps": steps, "seconds": 42.5, "won": True}
    header = Header(wiki=wiki.graph.fingerprint, snapshot=wiki.graph.snapshot, agent="Ada", budget=0)
    clicks: list[str | int] = [click.to.name for click in optimum]
    kept = schema.StoredRun(
        **game,
        wiki=wiki.graph.snapshot,
        start_node=start.node,
        goal_node=goal.node,
        clicks=len(steps),
        distance=distance,
        optimum=steps,
        when="2026-01-01T12:00:00+00:00",
        run=header.to_json() | Run(start.name, goal.name, clicks, True, 42.5).to_json(),
        stored=True,
    )
    for path, asked, said in (
        ("health", None, health),
        ("titles", None, schema.Suggestions(query=start.title[:3], titles=(start,))),
        ("block/{node}", None, page),
        (
            "block/{node}/links",
            None,
            schema.Links(place=start, links=page.links, offset=0, total=len(page.links)),
        ),
        ("block", None, page),
        ("pair", None, schema.Game(start=start, goal=goal, distance=distance, seed=0)),
        ("walk", pair | {"agent": wiki.agents[0], "budget": 100}, walk),
        ("compare", pair | {"agents": wiki.agents[:3]}, schema.Comparison(walks=(walk,))),
        ("find", {"query": sentence, "limit": 3}, answer),
        ("runs", game, kept),
    ):
        (operation,) = description["paths"][f"/api/v1/{path}"].values()
        operation["responses"]["200"]["content"]["application/json"]["example"] = to_jsonable_python(said)
        if asked is not None:
            operation["requestBody"]["content"]["application/json"]["example"] = asked
    named = pair | {"name": start.name, "q": start.title[:3], "node": start.node, "query": sentence}
    for operations in description["paths"].values():
        for parameter in operations.get("get", {}).get("parameters", ()):
            if parameter["name"] in named:
                parameter["schema"].pop("examples", None)
                parameter["example"] = named[parameter["name"]]
