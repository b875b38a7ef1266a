"""One shape for everything that goes wrong: ``{"error": {"type": ..., "message": one line}}``."""

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linkwalk.errors import DamagedError, InputError, LinkwalkError

STATUS = {
    "bad_input": 422,
    "not_found": 404,
    "method_not_allowed": 405,
    "too_large": 413,
    "busy": 503,
    "timeout": 504,
    "damaged": 500,
    "internal": 500,
}
_TYPE = {status: kind for kind, status in STATUS.items()}
_LOG = logging.getLogger(__name__)
_BRANCHES = {"str", "int", "constrained-str", "constrained-int"}  # what pydantic calls the parts of a union
_LONGEST = 500
_ECHO = 80


class ApiError(Exception):
    """An answer that is an error."""

    def __init__(
        self, kind: str, message: str, headers: Mapping[str, str] | None = None, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.kind, self.headers = kind, dict(headers or {})
        self.status = status or STATUS[kind]

    def to_json(self) -> dict[str, Any]:
        """The answer's body."""
        return error_json(self.kind, str(self))

    def response(self) -> JSONResponse:
        """The whole answer."""
        headers = {"cache-control": "no-store"} | self.headers
        return JSONResponse(self.to_json(), self.status, headers=headers)


def error_json(kind: str, message: str) -> dict[str, Any]:
    """An error as JSON: always one line, never longer than a few."""
    line = " ".join(message.split())
    return {"error": {"type": kind, "message": line if len(line) <= _LONGEST else line[:_LONGEST] + "…"}}


def not_found(message: str) -> ApiError:
    """What was named is not there."""
    return ApiError("not_found", message)


def busy(message: str, seconds: int = 1) -> ApiError:
    """Too much to do at the moment: come back in a few seconds."""
    return ApiError("busy", message, {"retry-after": str(seconds)})


def as_api_error(error: Exception) -> ApiError:
    """Any error that work may raise, as the API says it; what is nobody's fault but ours stays untold."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, InputError):
        return ApiError("bad_input", str(error))
    if isinstance(error, DamagedError):
        return ApiError("damaged", str(error))
    if isinstance(error, LinkwalkError):
        return not_found(str(error))
    return ApiError("internal", "something went wrong here: the server's log says what")


async def only_known(request: Request) -> None:
    """Refuse parameters of an address that its endpoint does not have, as unknown fields of a body are refused."""
    known = [field.alias for field in request.scope["route"].dependant.query_params]
    for name in request.query_params:
        if name not in known:
            there = f"there are {', '.join(known)}" if known else "there are none"
            raise ApiError("bad_input", f"{_shown(name)}: no such parameter, {there}")


def add_handlers(app: FastAPI) -> None:
    """Let every error an application can raise leave it in our shape."""

    async def known(request: Request, error: Exception) -> JSONResponse:
        return as_api_error(error).response()

    async def http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return _http(request, error).response()

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return ApiError("bad_input", _first(error)).response()

    app.add_exception_handler(ApiError, known)
    app.add_exception_handler(LinkwalkError, known)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)


class Caught:
    """Turns what nobody expected into an answer; the log has the rest.

    In place of the framework's own, which stands outside of everything, so that its answers lack our headers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stand around the application."""
        started = False

        async def noted(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except Exception as error:
            _LOG.exception("%s %s", scope.get("method"), scope.get("path"))
            if started or scope["type"] != "http":
                raise
            await as_api_error(error).response()(scope, receive, send)


def _http(request: Request, error: HTTPException) -> ApiError:
    path = _shown(request.url.path)
    if error.status_code == 404:
        return not_found(f"nothing is at {path}: /docs lists what there is")
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        return ApiError("method_not_allowed", f"{path} is for {allowed or 'another method'}", error.headers)
    if error.status_code == 400:  # the framework's word for a body that Python's JSON reader chokes on
        return ApiError("bad_input", "the body is not JSON that can be read")
    return ApiError(_TYPE.get(error.status_code, "internal"), str(error.detail), error.headers)


def _first(error: RequestValidationError) -> str:
    """The first thing wrong, naming the field."""
    found = error.errors()[0]
    where = [str(part) for part in found["loc"]]
    if found["type"] == "json_invalid":
        return f"the body is not JSON: {found['ctx']['error']} at character {where[-1]}"
    if where == ["body"]:
        if found["type"] == "missing":
            return "the body is missing: send a JSON object"
        return "the body is not a JSON object, or not sent as content-type application/json"
    field = ".".join(part for part in where[1:] if part not in _BRANCHES)
    if where[-1] in _BRANCHES and not found["type"].startswith("string_too"):
        return f"{_shown(field)}: should be a title or a block's number"
    said = str(found["msg"]).removeprefix("Value error, ")
    for subject in ("Input", "String", "List"):
        said = said.removeprefix(f"{subject} ")
    return f"{_shown(field) or where[0]}: {said[:1].lower()}{said[1:]}"


def _shown(text: str) -> str:
    """What somebody sent, short and on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _ECHO else line[:_ECHO] + "…"
