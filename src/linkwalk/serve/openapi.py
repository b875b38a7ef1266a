"""The API's description: what else may come back, this server's limits, examples of the wiki that is served."""

from typing import Any

from pydantic_core import to_jsonable_python

from linkwalk.errors import LinkwalkError
from linkwalk.serve import schema
from linkwalk.serve.boundary import Limits
from linkwalk.serve.runs import check_run
from linkwalk.wiki import Answer, Evidence, Wiki

_WHAT = {
    404: (
        "What was named is not here: a block, an agent, or a path between two blocks.",
        "not_found",
        "no article named 'Stra': did you mean 'Star'?",
    ),
    405: ("Another method.", "method_not_allowed", "/api/v1/walk is for POST"),
    408: ("The body did not arrive in time.", "timeout", "the body did not arrive within 10 seconds"),
    413: ("The body is too large.", "too_large", "a request's body has at most 65,536 bytes"),
    422: (
        "Something in the request cannot be used; the message names the field.",
        "bad_input",
        "budget: should be greater than or equal to 1",
    ),
    500: (
        "A file of the wiki is damaged (`damaged`; the message names it and what mends it), or a mistake of ours.",
        "internal",
        "something went wrong here: the server's log says what",
    ),
    503: (
        "Too many requests at once.",
        "busy",
        "132 requests are at work or waiting: come again in a second",
    ),
    504: ("It took too long.", "timeout", "this took longer than 30 seconds"),
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Those of these statuses, and those that every endpoint has."""
    said: dict[int | str, dict[str, Any]] = {}
    for status in sorted({*statuses, 405, 413, 422, 500}):
        what, kind, message = _WHAT[status]
        said[status] = {
            "model": schema.Error,
            "description": what,
            "content": {"application/json": {"example": {"error": {"type": kind, "message": message}}}},
        }
        if status == 503:
            said[status]["headers"] = {
                "Retry-After": {"schema": {"type": "string"}, "description": "Seconds."}
            }
    return said


def events(about: str, names: list[str], example: str) -> dict[int | str, dict[str, Any]]:
    """A stream of events, and what may come in its place."""
    shape = {
        "type": "object",
        "properties": {
            "event": {"type": "string", "enum": names},
            "data": {"type": "string", "contentMediaType": "application/json"},
        },
        "required": ["event", "data"],
    }
    content = {"text/event-stream": {"schema": shape, "example": example}}
    return {200: {"description": about, "content": content}, **errors(503)}


READ = errors(404, 503, 504)
POST = errors(404, 408, 503, 504)


def add_limits(description: dict[str, Any], limits: Limits) -> None:
    """Write the limits that are this server's own into its description."""
    asked = [
        (name, own)
        for request in ("WalkRequest", "CompareRequest", "FindRequest")
        for name, own in description["components"]["schemas"][request]["properties"].items()
    ]
    for path in ("walk", "find"):
        parameters = description["paths"][f"/api/v1/{path}/events"]["get"]["parameters"]
        asked += [(parameter["name"], parameter["schema"]) for parameter in parameters]
    for name, own in asked:
        for part in own.get("anyOf", [own]):
            if name == "budget" and part["type"] == "integer":
                part["maximum"] = limits.budget
            elif name in ("sentence", "query") and part["type"] == "string":
                part["maxLength"] = limits.query


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
    kept = check_run(wiki, schema.RunRequest(**game), start.node, goal.node)
    run = {name: value for name, value in kept.run.items() if name != "when"}
    when = "2026-01-01T12:00:00+00:00"
    kept = kept.model_copy(update={"run": run, "when": when, "stored": True})
    answers = {
        "health": health,
        "titles": schema.Suggestions(query=start.title[:3], titles=(start,)),
        "block/{node}": page,
        "block/{node}/links": schema.Links(place=start, links=page.links, offset=0, total=len(page.links)),
        "block": page,
        "pair": schema.Game(start=start, goal=goal, distance=distance, seed=0),
        "walk": walk,
        "compare": schema.Comparison(walks=(walk,)),
        "find": answer,
        "runs": kept,
    }
    requests = {
        "walk": pair | {"agent": wiki.agents[0], "budget": 100},
        "compare": pair | {"agents": wiki.agents[:3]},
        "find": {"query": sentence, "limit": 3},
        "runs": game,
    }
    for path, said in answers.items():
        (operation,) = description["paths"][f"/api/v1/{path}"].values()
        operation["responses"]["200"]["content"]["application/json"]["example"] = to_jsonable_python(said)
        if path in requests:
            operation["requestBody"]["content"]["application/json"]["example"] = requests[path]
    named = pair | {"name": start.name, "q": start.title[:3], "node": start.node, "query": sentence}
    for operations in description["paths"].values():
        for parameter in operations.get("get", {}).get("parameters", ()):
            if parameter["name"] in named:
                parameter["schema"].pop("examples", None)
                parameter["example"] = named[parameter["name"]]
