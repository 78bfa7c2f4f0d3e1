"""Errors in the form that clients of OpenAI's API read: `{"error": {…}}`, below /v1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spade_llm.gateway.bodies.openai import ErrorEnvelope, ErrorOfOpenAI
from spade_llm.gateway.failures import FAILURES, body_of

if TYPE_CHECKING:
    from collections.abc import Mapping

PATHS = "/v1/"
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
_CODES_OF: Mapping[str, str] = {"context-too-long": "context_length_exceeded"}
"""Where OpenAI has a code of its own for one of ours (spade_llm/errors.py)."""
DO_NOT_RETRY = {"x-should-retry": "false"}
"""OpenAI's clients repeat 429 and 5xx by themselves unless an answer says this."""

# FastAPI's own type of it.
OPENAI_FAILURES: dict[int | str, dict[str, Any]] = {
    **{status: {**how, "content": body_of("ErrorEnvelope")} for status, how in FAILURES.items()},
    422: {
        "content": body_of("ErrorEnvelope"),
        "description": "It is not of the form of a request.",
    },
}


def is_openai_path(path: str) -> bool:
    return path.startswith(PATHS)


def envelope(status: int, detail: str, *, code: str = "", param: str = "") -> ErrorEnvelope:
    """`code`: ours; OpenAI's own word for it is used where there is one."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    known = _CODES.get(status) or _CODES_OF.get(code) or code.replace("-", "_")
    return ErrorEnvelope(
        error=ErrorOfOpenAI(
            message=detail,
            type=_TYPES.get(status, kind),
            param=param or None,
            code=known or None,
        )
    )
