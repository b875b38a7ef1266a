"""One shape for everything that goes wrong: ``{"error": {"type": ..., "message": one line}}``."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from linkwalk.errors import DamagedError, InputError, LinkwalkError

if TYPE_CHECKING:  # a server of tools alone has no FastAPI
    from fastapi import FastAPI
    from fastapi.exceptions import RequestValidationError

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
_BRANCHES = {"str", "int", "constrained-str", "constrained-int"}  # what pydantic calls the parts of a union
_LONGEST, _ECHO = 500, 80  # characters of a message, and of what somebody sent


class ApiError(Exception):
    """An answer that is an error."""

    def __init__(
        self, kind: str, message: str, headers: Mapping[str, str] | None = None, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.kind, self.headers = kind, dict(headers or {})
        self.status = status or STATUS[kind]

    def to_json(self) -> dict[str, Any]:
        """The answer's body: always one line, never longer than a few."""
        return {"error": {"type": self.kind, "message": _one_line(str(self), _LONGEST)}}

    def response(self) -> JSONResponse:
        """The whole answer."""
        headers = {"cache-control": "no-store"} | self.headers
        return JSONResponse(self.to_json(), self.status, headers=headers)


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
    for cause, kind in ((InputError, "bad_input"), (DamagedError, "damaged"), (LinkwalkError, "not_found")):
        if isinstance(error, cause):
            return ApiError(kind, str(error))
    return ApiError("internal", "something went wrong here: the server's log says what")


async def only_known(request: Request) -> None:
    """Refuse parameters of an address that its endpoint does not have, as unknown fields of a body are refused."""
    known = [field.alias for field in request.scope["route"].dependant.query_params]
    for name in request.query_params:
        if name not in known:
            there = f"there are {', '.join(known)}" if known else "there are none"
            raise ApiError("bad_input", f"{_one_line(name)}: no such parameter, {there}")


def add_handlers(app: "FastAPI") -> None:
    """Let every error an application can raise leave it in our shape."""
    from fastapi.exceptions import RequestValidationError

    async def answer(request: Request, error: Exception) -> JSONResponse:
        if isinstance(error, HTTPException):
            error = _from_framework(request, error)
        if isinstance(error, RequestValidationError):
            error = ApiError("bad_input", _first(error))
        return as_api_error(error).response()

    for kind in (ApiError, LinkwalkError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, answer)


def _from_framework(request: Request, error: HTTPException) -> ApiError:
    path = _one_line(request.url.path)
    if error.status_code == 404:
        return not_found(f"nothing is at {path}: /docs lists what there is")
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        return ApiError("method_not_allowed", f"{path} is for {allowed or 'another method'}", error.headers)
    if error.status_code == 400:  # the framework's word for a body that Python's JSON reader chokes on
        return ApiError("bad_input", "the body is not JSON that can be read")
    return ApiError(_TYPE.get(error.status_code, "internal"), str(error.detail), error.headers)


def _first(error: "RequestValidationError") -> str:
    """The first thing wrong, naming the field."""
    found = error.errors()[0]
    where = [str(part) for part in found["loc"]]
    if found["type"] == "json_invalid":
        return f"the body is not JSON: {found['ctx']['error']} at character {where[-1]}"
    if where == ["body"]:
        if found["type"] == "missing":
            return "the body is missing: send a JSON object"
        return "the body is not a JSON object, or not sent as content-type application/json"
    field = _one_line(".".join(part for part in where[1:] if part not in _BRANCHES))
    if where[-1] in _BRANCHES and not found["type"].startswith("string_too"):
        return f"{field}: should be a title or a block's number"
    said = str(found["msg"]).removeprefix("Value error, ")
    for subject in ("Input", "String", "List"):
        said = said.removeprefix(f"{subject} ")
    return f"{field or where[0]}: {said[:1].lower()}{said[1:]}"


def _one_line(text: str, most: int = _ECHO) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most] + "…"
