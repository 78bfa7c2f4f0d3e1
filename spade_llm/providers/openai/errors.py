"""Error translation: exceptions of the OpenAI SDK and HTTP status codes to model errors."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import aiohttp
import httpx2
import openai

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

logger = logging.getLogger(__name__)

SDK_ERRORS = (
    openai.OpenAIError,
    httpx2.HTTPError,
    httpx2.StreamError,
    httpx2.InvalidURL,
    aiohttp.ClientError,
)
"""Exceptions of a call through the SDK: its own, and those of its aiohttp client."""

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


def translate(error: Exception, request: RequestInfo) -> ModelError:
    """Our exception for one of the OpenAI client; the server's own words go to the DEBUG log.

    Its message is for the operator: it names the server, and tells a wrong key, an unknown model, a
    refused connection, an unknown host and a rate limit apart. It never has the key.
    """
    logger.debug("error from the model's server: %s", type(error).__name__)
    for foreign, to_ours in TRANSLATIONS:
        if isinstance(error, foreign):
            return to_ours(error, request)
    return ModelError(f"{request.server} failed ({type(error).__name__}).")


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
    return isinstance(error, openai.BadRequestError | openai.UnprocessableEntityError)


def _timed_out(error: Exception, request: RequestInfo) -> ModelError:
    """Translate a timeout. The SDK's aiohttp client (3.54) also reports an unreachable server as
    one."""
    cause = _first_cause(error)
    if isinstance(cause, aiohttp.ClientError) and not isinstance(cause, TimeoutError):
        return _disconnected(error, request)
    return ModelUnavailable(f"{request.server} did not answer in time.", cause=ModelFailure.TIMEOUT)


def _first_cause(error: BaseException) -> BaseException:
    """Return the first aiohttp error in the chain of causes; its own cause is the operating
    system's error."""
    while error.__cause__ is not None and not isinstance(error, aiohttp.ClientError):
        error = error.__cause__
    return error


def _disconnected(error: Exception, request: RequestInfo) -> ModelError:
    detail, cause = _why_disconnected(_first_cause(error), request.server)
    return ModelUnavailable(detail, cause=cause)


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


def _status(error: Exception, request: RequestInfo) -> ModelError:
    assert isinstance(error, openai.APIStatusError)
    status, pause = error.status_code, retry_after_s(error.response.headers)
    # OpenAI also answers 429 when the quota is used up, which no pause helps.
    is_limit = status == 429 and error.code != "insufficient_quota"
    if is_limit or (status == 503 and pause is not None):
        wish = "" if pause is None else f" of {pause:g} s"
        said = f"{request.server} limits the rate of requests and asks for a pause{wish}"
        return RateLimited(f"{said} (HTTP {status}).", retry_after=pause)
    # Request timeout, conflict and Too Early (RFC 8470) may pass by themselves, like 5xx.
    if status >= 500 or status in {408, 409, 425}:
        return ModelUnavailable(
            f"{request.server} reports an internal error (HTTP {status}).",
            cause=ModelFailure.SERVER_ERROR,
        )
    return _refused(error, status, request)


def _refused(error: openai.APIStatusError, status: int, request: RequestInfo) -> ModelError:
    if error.code == "context_length_exceeded" or status == 413 or TOO_LONG.search(error.message):
        return ContextTooLong(f"The prompt does not fit into the model (HTTP {status}).")
    content_type = error.response.headers.get("content-type", "")
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


TRANSLATIONS: tuple[tuple[type[Exception], Callable[[Exception, RequestInfo], ModelError]], ...] = (
    # A subclass of APIConnectionError, so it comes first.
    (openai.APITimeoutError, _timed_out),
    (openai.APIConnectionError, _disconnected),
    (openai.APIStatusError, _status),
    (httpx2.TimeoutException, _timed_out),
    (
        httpx2.DecodingError,
        lambda _, request: InvalidModelOutput(f"{request.server} sent bytes that do not decode."),
    ),
    (httpx2.HTTPError, _disconnected),
    (httpx2.StreamError, _disconnected),
    (aiohttp.ClientError, _disconnected),
)
"""First match wins."""
