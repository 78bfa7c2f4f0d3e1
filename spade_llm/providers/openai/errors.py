"""Error translation: exceptions of aiohttp and HTTP status codes to model errors."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import aiohttp

from spade_llm.core.errors import (
    ContextTooLong,
    InvalidModelOutput,
    ModelDenied,
    ModelError,
    ModelFailure,
    ModelUnavailable,
    RateLimited,
)
from spade_llm.providers.retry import retry_after_s

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

logger = logging.getLogger(__name__)

SERVER_MESSAGE_CHARS = 300

TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum.{0,20}(tokens|length)|too (long|many tokens)"
    r"|prompt is too|exceeds? the (available|model'?s?) ",
    re.IGNORECASE,
)

ADVICE = {
    401: ("{server} does not accept the API key: check it", ModelFailure.WRONG_KEY),
    403: ("{server} does not allow this API key to use {model}", ModelFailure.WRONG_KEY),
    404: (
        "{server} has no model {model}, or base_url is not the API's path (usually …/v1)",
        ModelFailure.UNKNOWN_MODEL,
    ),
    429: ("{server}: the account's quota is used up", ModelFailure.QUOTA),
}
_BAD_REQUEST = frozenset({400, 422})
INCOMPATIBLE = (
    "{server} does not speak the OpenAI protocol at this address (it answered {answer}); check that"
    " base_url ends in the API's path, usually /v1."
)


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """Failed request, as described to the operator."""

    server: str
    """Host and port."""
    model: str
    redact: Callable[[str], str] = field(repr=False)
    """Takes the API key out of a text: servers quote it."""


class ErrorStatus(Exception):
    """Answer with an HTTP status other than 200. Its text is the body, the names of refused fields
    included."""

    def __init__(self, status: int, headers: Mapping[str, str], body: str) -> None:
        super().__init__(body)
        self.status = status
        self.headers = headers
        self.code, self.message = _error_of(body)
        """Code, may be empty, and the server's own words."""


def _error_of(body: str) -> tuple[str, str]:
    try:
        said = json.loads(body)
    except ValueError:
        return "", body
    error = said.get("error", said) if isinstance(said, dict) else said
    if not isinstance(error, dict):
        return "", str(error)  # Ollama's is a text.
    return str(error.get("code") or ""), str(error.get("message") or body)


def translate(error: Exception, request: RequestInfo) -> ModelError:
    """Our exception for a failed call; the server's own words go to the DEBUG log.

    Its message is for the operator: it names the server, and tells a wrong key, an unknown model, a
    refused connection, an unknown host and a rate limit apart. It never has the key.
    """
    logger.debug("error from the model's server: %s", type(error).__name__)
    if isinstance(error, ErrorStatus):
        return _status(error, request)
    detail, cause = _why_disconnected(error, request.server)
    return ModelUnavailable(detail, cause=cause)


def translate_event(error: object) -> ModelError:
    """Our exception for an `error` object that came inside a good answer or stream."""
    text = str(error)[:SERVER_MESSAGE_CHARS]
    if TOO_LONG.search(text):
        return ContextTooLong(f"The model's server says that the prompt is too long: {text!r}.")
    return ModelUnavailable(f"The model's server broke its answer off: {text!r}.")


def not_json(server: str, content_type: str) -> InvalidModelOutput:
    """The error for a successful answer of another content type."""
    detail = INCOMPATIBLE.format(server=server, answer=repr(content_type or "no content type"))
    return InvalidModelOutput(detail, cause=ModelFailure.INCOMPATIBLE)


def is_bad_request(error: BaseException | None) -> bool:
    """True if the server disliked the form of the request, rather than being in trouble."""
    return isinstance(error, ErrorStatus) and error.status in _BAD_REQUEST


def _why_disconnected(error: BaseException, server: str) -> tuple[str, ModelFailure]:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return (
                f"{server}: this host name is unknown (DNS); check base_url and the network.",
                ModelFailure.UNKNOWN_HOST,
            )
        case aiohttp.ClientSSLError():
            return (
                f"{server}: the TLS connection failed ({type(error).__name__}); check base_url.",
                ModelFailure.UNREACHABLE,
            )
        case aiohttp.ClientConnectorError(os_error=ConnectionRefusedError()):
            return (
                f"{server} refuses connections: start the model's server there, or check base_url.",
                ModelFailure.CONNECTION_REFUSED,
            )
        case aiohttp.ClientResponseError():
            return f"{server} does not speak HTTP; check base_url.", ModelFailure.INCOMPATIBLE
        case aiohttp.ClientConnectorError():
            return (
                f"{server} cannot be reached ({error.os_error.strerror}); check the network.",
                ModelFailure.UNREACHABLE,
            )
        case _:
            return (
                f"The connection to {server} was lost ({type(error).__name__}).",
                ModelFailure.UNREACHABLE,
            )


def _status(error: ErrorStatus, request: RequestInfo) -> ModelError:
    status, pause = error.status, retry_after_s(error.headers)
    # OpenAI also answers 429 when the quota is used up, which no pause helps.
    is_limit = status == 429 and error.code != "insufficient_quota"
    if is_limit or (status == 503 and pause is not None):
        wish = "" if pause is None else f" of {pause:g} s"
        said = f"{request.server} limits the rate of requests and asks for a pause{wish}"
        return RateLimited(f"{said} (HTTP {status}).", retry_after=pause)
    # Request timeout, conflict and Too Early (RFC 8470) may pass by themselves, like 5xx.
    if status >= 500 or status in {408, 409, 425}:
        return ModelUnavailable(
            f"{request.server} is in trouble (HTTP {status}).", cause=ModelFailure.SERVER_ERROR
        )
    return _refused(error, status, request)


def _refused(error: ErrorStatus, status: int, request: RequestInfo) -> ModelError:
    if error.code == "context_length_exceeded" or status == 413 or TOO_LONG.search(str(error)):
        return ContextTooLong(f"The prompt does not fit into the model (HTTP {status}).")
    content_type = error.headers.get("content-type", "")
    # A web server, or the API's server at another path; an unknown model is answered with JSON.
    is_foreign = status == 404 and "json" not in content_type
    if is_foreign or status == 405 or ("html" in content_type and status not in {401, 403}):
        detail = INCOMPATIBLE.format(server=request.server, answer=f"HTTP {status}")
        return ModelDenied(detail, cause=ModelFailure.INCOMPATIBLE)
    if known := ADVICE.get(status):
        advice, cause = known
        said = advice.format(server=request.server, model=repr(request.model))
        return ModelDenied(f"{said} (HTTP {status}).", cause=cause)
    said = request.redact(error.message)[:SERVER_MESSAGE_CHARS]
    return ModelError(f"{request.server} refused the request (HTTP {status}): {said!r}.")
