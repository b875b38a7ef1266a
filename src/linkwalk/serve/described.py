"""What can come back besides an answer, as the OpenAPI description says it."""

from typing import Any

from linkwalk.serve import schema

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
