"""HTTP errors: status codes, Retry-After, the error format of OpenAI below /v1."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from spade_llm.core.errors import (
    ModelDenied,
    PeerUnavailable,
    RequestError,
    RequestTimeout,
    ServiceError,
)
from spade_llm.gateway.agent_clients import SHUTTING_DOWN
from spade_llm.gateway.schemas.common import PATTERN_RULES
from spade_llm.gateway.schemas.openai import ErrorEnvelope, OpenAIErrorDetail

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.types import Scope

logger = logging.getLogger(__name__)

_RETRY_AFTER_HEADER = {
    "Retry-After": {"schema": {"type": "string"}, "description": "Seconds.", "required": True}
}
_ERROR_DESCRIPTIONS: dict[int, str] = {
    400: "Invalid value; the detail names the field.",
    401: "The token is missing, unknown or expired.",
    403: "The principal lacks permission.",
    404: "Not found among the principal's own data.",
    408: "The body arrived too slowly.",
    409: "Conflict with the current state, or the first request with this key still runs.",
    413: "The body or file is too large.",
    429: "A rate limit, quota or concurrency limit is reached.",
    500: "Internal error; the log has it under the X-Request-ID.",
    503: "A required agent, or the XMPP server, is unavailable.",
}

OPENAI_PATHS = "/v1/"
_TYPE_BY_STATUS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_OPENAI_CODE_BY_STATUS = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
_OPENAI_CODE_BY_CODE: Mapping[str, str] = {"context-too-long": "context_length_exceeded"}
"""OpenAI's error codes, keyed by wire code (spade_llm/core/errors.py)."""
DO_NOT_RETRY = {"x-should-retry": "false"}
"""OpenAI's clients repeat 429 and 5xx by themselves unless an answer says this."""

BUSY_RETRY_AFTER_S = 1
UNAVAILABLE_RETRY_AFTER_S = 5
"""Retry-After of 503 responses in seconds: short enough for a person, long enough for a service
that is starting."""

STATUS_BY_CODE: Mapping[str, int] = {
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
"""HTTP status, keyed by wire code (spade_llm/core/errors.py). Other codes map to 500."""
_RETRY_AFTER_S = {429: BUSY_RETRY_AFTER_S, 503: UNAVAILABLE_RETRY_AFTER_S}
MAX_RETRY_AFTER_S = 86_400
NEEDS_OPERATOR = ModelDenied.code
"""The assistant's own key, quota or model name is refused: the same request fails again until its
operator has acted. Not 401, which would say that the *caller's* token is bad."""
DENIED_RETRY_AFTER_S = 60
INTERNAL_ERROR = "Internal error; see the gateway's log for this answer's X-Request-ID."


def error_content(*names: str) -> dict[str, Any]:
    """Build the content that refers to one of these schemas. Models would be built again for each
    status of each operation, half a second in all; gateway/app.py defines each schema once."""
    schemas = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return {"application/json": {"schema": schema}}


# The type that FastAPI declares for `responses`.
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {
        "content": error_content("ErrorDetail"),
        "description": why,
        **({"headers": _RETRY_AFTER_HEADER} if status in (429, 503) else {}),
    }
    for status, why in _ERROR_DESCRIPTIONS.items()
}

OPENAI_ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    **{
        status: {**how, "content": error_content("ErrorEnvelope")}
        for status, how in ERROR_RESPONSES.items()
    },
    422: {
        "content": error_content("ErrorEnvelope"),
        "description": "The request does not match its schema.",
    },
}


def is_openai_path(path: str) -> bool:
    return path.startswith(OPENAI_PATHS)


def openai_error(status: int, detail: str, *, code: str = "", param: str = "") -> ErrorEnvelope:
    """`code`: our wire code; it is replaced by OpenAI's own code where there is one."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    known = (
        _OPENAI_CODE_BY_STATUS.get(status)
        or _OPENAI_CODE_BY_CODE.get(code)
        or code.replace("-", "_")
    )
    return ErrorEnvelope(
        error=OpenAIErrorDetail(
            message=detail,
            type=_TYPE_BY_STATUS.get(status, kind),
            param=param or None,
            code=known or None,
        )
    )


class HttpError(HTTPException):
    """HTTP error with a status and a detail; 429 and 503 have a Retry-After."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        code: str = "",
        param: str = "",
    ) -> None:
        """`code`, `param`: fields of OpenAI's error format."""
        again_s = _RETRY_AFTER_S.get(status)
        more = {"Retry-After": str(again_s)} if again_s else {}
        super().__init__(status, detail, {**more, **(headers or {})})
        self.code = code
        self.param = param


class NetworkUnavailable(HttpError):
    """The gateway has no XMPP connection at the moment; it reconnects by itself."""

    def __init__(self) -> None:
        super().__init__(503, "The XMPP server is unavailable; try again in a few seconds.")


class ShuttingDown(HttpError):
    """The gateway is stopping, and accepts no more requests."""

    def __init__(self) -> None:
        # Otherwise a client would try again on this connection, which is about to end.
        super().__init__(503, SHUTTING_DOWN, headers={"Connection": "close"})


def status_of(error: RequestError | ServiceError) -> int:
    if isinstance(error, PeerUnavailable | RequestTimeout):
        return 503
    return STATUS_BY_CODE.get(_code_of(error), 500)


def http_error(error: RequestError | ServiceError) -> HttpError:
    """Convert an error of an agent or the gateway to an HTTP error; its detail names no JID."""
    status = status_of(error)
    if isinstance(error, PeerUnavailable):
        return HttpError(
            status, f"The agent {_agent_name(error)} is unavailable; try again in a few seconds."
        )
    if isinstance(error, RequestTimeout):
        return HttpError(
            status, f"The agent {_agent_name(error)} did not answer in time; try again later."
        )
    code = _code_of(error)
    # The text of an unexpected exception may hold paths or words of people.
    detail = INTERNAL_ERROR if code == "internal" else str(error)
    return HttpError(status, detail, headers=_retry_after(error, status), code=code)


def error_response(error: HTTPException, scope: Scope) -> JSONResponse:
    """Build the response in the error format of the path: OpenAI's below /v1, else `detail`."""
    body: dict[str, object] = {"detail": error.detail}
    if is_openai_path(scope["path"]):
        body = openai_envelope(error).model_dump()
    return JSONResponse(body, status_code=error.status_code, headers=error.headers)


def openai_envelope(error: HTTPException) -> ErrorEnvelope:
    if isinstance(error, HttpError):
        return openai_error(error.status_code, error.detail, code=error.code, param=error.param)
    return openai_error(error.status_code, error.detail)


def install_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(HTTPException)
    async def handle_http_error(request: Request, error: HTTPException) -> JSONResponse:
        answer = error_response(error, request.scope)
        if error.status_code == 405:
            # Starlette names the methods of the path's first route only (RFC 9110 §10.2.1). The
            # first call builds the schema (0.2 s), in a thread, and delays only this request.
            paths = (await asyncio.to_thread(request.app.openapi))["paths"]
            route = getattr(request.scope.get("route"), "path", "")
            if operations := paths.get(route, {}):
                answer.headers["Allow"] = ", ".join(sorted(map(str.upper, operations)))
        return answer

    @app.exception_handler(RequestError)
    @app.exception_handler(ServiceError)
    async def handle_agent_error(
        request: Request, error: RequestError | ServiceError
    ) -> JSONResponse:
        answer = http_error(error)
        if answer.status_code == 500:
            logger.error("an agent failed: %s: %s", type(error).__name__, error)
        return error_response(answer, request.scope)

    @app.exception_handler(RequestValidationError)
    async def handle_validation_error(
        request: Request, error: RequestValidationError
    ) -> JSONResponse:
        return validation_error_response(error, request.scope)

    @app.exception_handler(Exception)
    async def handle_internal_error(request: Request, _error: Exception) -> JSONResponse:
        # The server logs the traceback.
        return error_response(HttpError(500, INTERNAL_ERROR), request.scope)


def validation_error_response(error: RequestValidationError, scope: Scope) -> JSONResponse:
    """FastAPI's own list of errors, without the input, which may be large and not JSON."""
    if is_openai_path(scope["path"]):
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"][1:])
        return error_response(HttpError(422, f"{field}: {_in_words(first)}", param=field), scope)
    detail = [
        {"type": one["type"], "loc": one["loc"], "msg": _in_words(one)} for one in error.errors()
    ]
    return JSONResponse({"detail": detail}, status_code=422)


def _in_words(fault: Mapping[str, Any]) -> str:
    """Pydantic's message, replaced where it does not tell a caller what to send."""
    if fault["type"] == "model_attributes_type" and tuple(fault["loc"]) == ("body",):
        return "Send a JSON object, with the header `Content-Type: application/json`"
    pattern = fault.get("ctx", {}).get("pattern", "")
    return PATTERN_RULES.get(pattern) or str(fault["msg"])


def _code_of(error: RequestError | ServiceError) -> str:
    return error.wire_code if isinstance(error, RequestError) else error.code


def _retry_after(error: RequestError | ServiceError, status: int) -> dict[str, str]:
    """Retry-After header, where the error tells more than the status."""
    if _code_of(error) == NEEDS_OPERATOR:
        return {"Retry-After": str(DENIED_RETRY_AFTER_S), **DO_NOT_RETRY}
    asked_s = error.retry_after_s if isinstance(error, RequestError) else None
    if asked_s is None or status not in _RETRY_AFTER_S:
        return {}
    # RFC 9110 §10.2.3: whole seconds; 0 would make clients ask again at once.
    return {"Retry-After": str(min(max(math.ceil(asked_s), 1), MAX_RETRY_AFTER_S))}


def _agent_name(error: RequestError) -> str:
    return error.peer.partition("@")[0]
