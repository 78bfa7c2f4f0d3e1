"""What goes wrong, as HTTP says it: a status, a sentence, and when to try again."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from spade_llm.errors import (
    ModelDenied,
    PeerUnavailable,
    RequestError,
    RequestTimeout,
    ServiceError,
)
from spade_llm.gateway.openai_errors import DO_NOT_RETRY, envelope, is_openai_path
from spade_llm.gateway.stopping import STOPPING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.types import Scope

    from spade_llm.gateway.bodies.openai import ErrorEnvelope

logger = logging.getLogger(__name__)

BUSY_AGAIN_S = 1
AWAY_AGAIN_S = 5
"""In Retry-After: soon enough for a person, seldom enough for a service that comes up."""

STATUS_OF: Mapping[str, int] = {
    "invalid-arguments": 400,
    "malformed": 400,
    "context-too-long": 400,
    "unauthorised": 403,
    "foreign-host": 403,
    "approval-needed": 403,
    "not-found": 404,
    "no-such-path": 404,
    "unknown-tool": 404,
    "conversation-over": 409,
    "no-uploads": 409,
    "too-large": 413,
    "busy": 429,
    "quota-reached": 429,
    "rate-limited": 429,
    "not-offered": 503,
    "deadline-passed": 503,
    "interrupted": 503,
    "cancelled": 503,
    "model-unavailable": 503,
    "model-denied": 503,
    "model-failed": 503,
    "invalid-model-output": 503,
    "empty-model-output": 503,
    "storage-failed": 503,
    "unavailable": 503,
}
"""By the code on the wire (spade_llm/errors.py). Others are 500."""
_AGAIN_S = {429: BUSY_AGAIN_S, 503: AWAY_AGAIN_S}
LONGEST_AGAIN_S = 86_400
NEEDS_OPERATOR = ModelDenied.code
"""The assistant's own key, quota or model name is refused: the same request fails again until its
operator has acted. Not 401, which would say that the *caller's* token is bad."""
DENIED_AGAIN_S = 60
INTERNAL = "Internal error; the gateway's log has it under this answer's X-Request-ID."


class HttpError(HTTPException):
    """A status with a sentence for people; 429 and 503 say when to try again."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        code: str = "",
        param: str = "",
    ) -> None:
        """`code`, `param`: OpenAI's envelope has room for them."""
        again_s = _AGAIN_S.get(status)
        more = {"Retry-After": str(again_s)} if again_s else {}
        super().__init__(status, detail, {**more, **(headers or {})})
        self.code = code
        self.param = param


class NetworkAway(HttpError):
    """There is no connection to the XMPP server now; the gateway comes back by itself."""

    def __init__(self) -> None:
        super().__init__(503, "The XMPP server is away; try again in a few seconds.")


class Stopping(HttpError):
    """The gateway was told to stop, and takes no more requests."""

    def __init__(self) -> None:
        super().__init__(503, STOPPING, headers={"Connection": "close"})


def status_of(error: RequestError | ServiceError) -> int:
    if isinstance(error, PeerUnavailable | RequestTimeout):
        return 503
    return STATUS_OF.get(_code_of(error), 500)


def http_error(error: RequestError | ServiceError) -> HttpError:
    """What an agent (or we) could not do, as HTTP says it. No JID of the network in it."""
    status = status_of(error)
    if isinstance(error, PeerUnavailable):
        return HttpError(status, f"The agent {_name(error)} is away; try again in a few seconds.")
    if isinstance(error, RequestTimeout):
        return HttpError(status, f"The agent {_name(error)} did not answer in time; try again.")
    code = _code_of(error)
    detail = INTERNAL if code == "internal" else str(error)
    return HttpError(status, detail, headers=_when_again(error, status), code=code)


def _code_of(error: RequestError | ServiceError) -> str:
    return error.wire_code if isinstance(error, RequestError) else error.code


def _when_again(error: RequestError | ServiceError, status: int) -> dict[str, str]:
    """Retry-After, where more is known than the status."""
    if _code_of(error) == NEEDS_OPERATOR:
        return {"Retry-After": str(DENIED_AGAIN_S), **DO_NOT_RETRY}
    asked_s = error.retry_after_s if isinstance(error, RequestError) else None
    if asked_s is None or status not in _AGAIN_S:
        return {}
    return {"Retry-After": str(min(max(math.ceil(asked_s), 1), LONGEST_AGAIN_S))}


def _name(error: RequestError) -> str:
    return error.peer.partition("@")[0]


def error_answer(error: HTTPException, scope: Scope) -> JSONResponse:
    """In the form that clients of this path read."""
    body: dict[str, object] = {"detail": error.detail}
    if is_openai_path(scope["path"]):
        body = openai_envelope(error).model_dump()
    return JSONResponse(body, status_code=error.status_code, headers=error.headers)


def openai_envelope(error: HTTPException) -> ErrorEnvelope:
    if isinstance(error, HttpError):
        return envelope(error.status_code, error.detail, code=error.code, param=error.param)
    return envelope(error.status_code, error.detail)


def handle_errors(app: FastAPI) -> None:
    app.exception_handler(HTTPException)(_http)
    app.exception_handler(RequestError)(_failed)
    app.exception_handler(ServiceError)(_failed)
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(Exception)(_internal)


async def _http(request: Request, error: HTTPException) -> JSONResponse:
    answer = error_answer(error, request.scope)
    if error.status_code == 405 and (described := await _described(request)):
        # Starlette says the methods of the first route of the path (RFC 9110 §10.2.1).
        answer.headers["Allow"] = ", ".join(sorted(method.upper() for method in described))
    return answer


async def _described(request: Request) -> Mapping[str, object]:
    """What its path is said to do, by method. The first time it takes 0.2 s to say, and only of
    this request."""
    paths = (await asyncio.to_thread(request.app.openapi))["paths"]
    found: Mapping[str, object] = paths.get(getattr(request.scope.get("route"), "path", ""), {})
    return found


async def _failed(request: Request, error: RequestError | ServiceError) -> JSONResponse:
    answer = http_error(error)
    if answer.status_code == 500:
        logger.error("an agent could not answer: %s: %s", type(error).__name__, error)
    return error_answer(answer, request.scope)


async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
    return invalid_answer(error, request.scope)


def invalid_answer(error: RequestValidationError, scope: Scope) -> JSONResponse:
    """FastAPI's own list, without what was sent: that may be large, and no JSON."""
    if is_openai_path(scope["path"]):
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"][1:])
        return error_answer(HttpError(422, f"{field}: {first['msg']}", param=field), scope)
    detail = [{key: one[key] for key in ("type", "loc", "msg")} for one in error.errors()]
    return JSONResponse({"detail": detail}, status_code=422)


async def _internal(request: Request, _error: Exception) -> JSONResponse:
    """The server logs the traceback."""
    return error_answer(HttpError(500, INTERNAL), request.scope)
