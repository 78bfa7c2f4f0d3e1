"""What the openai SDK's and its HTTP library's exceptions mean to us: one table. No policy."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

import aiohttp
import httpx2
import openai

from spade_llm.errors import (
    ContextTooLong,
    InvalidModelOutput,
    ModelDenied,
    ModelError,
    ModelUnavailable,
    RateLimited,
)
from spade_llm.providers.retry import retry_after_s

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

FOREIGN_ERRORS = (
    openai.OpenAIError,
    httpx2.HTTPError,
    httpx2.StreamError,
    httpx2.InvalidURL,
    aiohttp.ClientError,
)
"""What a call through the SDK raises: by design, and what its aiohttp client lets pass."""

SERVER_MESSAGE_CHARS = 300

TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum.{0,20}(tokens|length)|too (long|many tokens)"
    r"|prompt is too|exceeds? the (available|model'?s?) ",
    re.IGNORECASE,
)


def translate(error: Exception) -> ModelError:
    """Our exception for one of FOREIGN_ERRORS; the server's own words go to the DEBUG log."""
    logger.debug("The model's server failed: %s", type(error).__name__)
    for foreign, to_ours in TABLE:
        if isinstance(error, foreign):
            return to_ours(error)
    return ModelError(f"The model's server failed ({type(error).__name__}).")


def translate_event(error: object) -> ModelError:
    """Our exception for an `error` object that came inside a good answer or stream."""
    text = str(error)[:SERVER_MESSAGE_CHARS]
    if TOO_LONG.search(text):
        return ContextTooLong(f"The model's server says that the prompt is too long: {text!r}.")
    return ModelUnavailable(f"The model's server broke its answer off: {text!r}.")


def is_bad_request(error: BaseException | None) -> bool:
    """True if the server disliked the form of the request, rather than being in trouble."""
    return isinstance(error, openai.BadRequestError | openai.UnprocessableEntityError)


def _timed_out(error: Exception) -> ModelError:
    """To the SDK's aiohttp client (3.54) a server that is not there is late, too."""
    cause = _first_cause(error)
    if isinstance(cause, aiohttp.ClientError) and not isinstance(cause, TimeoutError):
        return _disconnected(error)
    return ModelUnavailable("The model's server did not answer in time.")


def _first_cause(error: BaseException) -> BaseException:
    """Of theirs: behind it is the operating system's."""
    while error.__cause__ is not None and not isinstance(error, aiohttp.ClientError):
        error = error.__cause__
    return error


def _disconnected(error: Exception) -> ModelError:
    cause = _first_cause(error)
    return ModelUnavailable(
        f"The connection to the model's server failed ({type(cause).__name__}); "
        "check that it runs and that base_url is right."
    )


def _undecodable(_: Exception) -> ModelError:
    return InvalidModelOutput("The model's server sent bytes that do not decode.")


def _status(error: Exception) -> ModelError:
    assert isinstance(error, openai.APIStatusError)
    status, pause = error.status_code, retry_after_s(error.response.headers)
    if status == 429 and error.code != "insufficient_quota":
        return RateLimited("The model's server asks for a pause (429).", retry_after=pause)
    if status == 503 and pause is not None:
        return RateLimited("The model's server asks for a pause (503).", retry_after=pause)
    if status >= 500 or status in {408, 409, 425}:
        return ModelUnavailable(f"The model's server is in trouble (HTTP {status}).")
    return _refused(error, status)


def _refused(error: openai.APIStatusError, status: int) -> ModelError:
    if error.code == "context_length_exceeded" or status == 413 or TOO_LONG.search(error.message):
        return ContextTooLong(f"The prompt does not fit into the model (HTTP {status}).")
    if advice := ADVICE.get(status):
        return ModelDenied(f"{advice} (HTTP {status}).")
    said = error.message[:SERVER_MESSAGE_CHARS]
    return ModelError(f"The model's server refused the request (HTTP {status}): {said!r}.")


ADVICE = {
    401: "The model's server does not accept the API key; check it",
    403: "The model's server does not allow this API key to use the model",
    404: "The model's server knows no such model or path; check model and base_url",
    429: "The account's quota at the model's server is used up",
}

TABLE: tuple[tuple[type[Exception], Callable[[Exception], ModelError]], ...] = (
    (openai.APITimeoutError, _timed_out),
    (openai.APIConnectionError, _disconnected),
    (openai.APIStatusError, _status),
    (httpx2.TimeoutException, _timed_out),
    (httpx2.DecodingError, _undecodable),
    (httpx2.HTTPError, _disconnected),
    (httpx2.StreamError, _disconnected),
    (aiohttp.ClientError, _disconnected),
)
"""First match wins."""
