"""Errors in the form that clients of OpenAI's API read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from spade_llm.errors import RequestError, ServiceError
from spade_llm.gateway.bodies.openai import ErrorEnvelope, ErrorOfOpenAI
from spade_llm.gateway.errors import http_error
from spade_llm.gateway.failures import FAILURES, body_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.requests import Request
    from starlette.responses import Response

_EITHER = body_of("ErrorEnvelope", "ErrorDetail")
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}

# FastAPI's own type of it. Who is not let in, or sends too much, is told so before a route is
# found, as everywhere.
OPENAI_FAILURES: dict[int | str, dict[str, Any]] = {
    **{status: {**how, "content": _EITHER} for status, how in FAILURES.items()},
    422: {
        "content": body_of("ErrorEnvelope"),
        "description": "It is not of the form of a request.",
    },
}


class NoSuchModel(HTTPException):
    def __init__(self, model: str, known: str) -> None:
        super().__init__(404, f"The model {model[:80]!r} does not exist; there are: {known}")


class OpenAIRoute(APIRoute):
    """What goes wrong in it is told as OpenAI tells it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except RequestValidationError as error:
                return _invalid(error)
            except NoSuchModel as error:
                return _answer(error, param="model", code="model_not_found")
            except HTTPException as error:
                return _answer(error)
            except (RequestError, ServiceError) as error:
                return _answer(http_error(error))

        return handle


def envelope(
    error: HTTPException, *, param: str | None = None, code: str | None = None
) -> ErrorEnvelope:
    kind = "server_error" if error.status_code >= 500 else "invalid_request_error"
    return ErrorEnvelope(
        error=ErrorOfOpenAI(
            message=error.detail,
            type=_TYPES.get(error.status_code, kind),
            param=param,
            code=code,
        )
    )


def _answer(
    error: HTTPException, *, param: str | None = None, code: str | None = None
) -> JSONResponse:
    body = envelope(error, param=param, code=code).model_dump()
    return JSONResponse(body, error.status_code, error.headers)


def _invalid(error: RequestValidationError) -> JSONResponse:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"][1:])
    return _answer(HTTPException(422, f"{field}: {first['msg']}"), param=field)
