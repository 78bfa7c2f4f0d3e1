"""Why a session could not be opened or is over: one clause, with nothing secret in it. Pure."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import httpx2
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from spade_llm.tools.mcp.cleaning import one_line
from spade_llm.tools.mcp.listings import Lost

if TYPE_CHECKING:
    from asyncio import Task
    from collections.abc import Iterator

_log = logging.getLogger(__name__)

MAX_CHARS = 200


def reason_of(task: Task[None]) -> str:
    """Of a task that has ended. What nobody foresaw is in the log with its traceback."""
    if task.cancelled():
        return "it was stopped"
    error = task.exception()
    if error is None:
        return "it closed the connection"
    known = [text for one in _leaves(error) if (text := _clause(one))]
    if not known:
        _log.error("a session with an MCP server failed", exc_info=error)
        return f"it failed ({type(error).__name__})"
    return known[0]


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error


def _clause(error: BaseException) -> str:
    match error:
        case Lost():
            return str(error) or "it closed the connection"
        case MCPError():
            return f"it declined: {one_line(error.error.message, MAX_CHARS)}"
        case httpx2.HTTPStatusError():
            return f"it answered HTTP {error.response.status_code}"
        case OSError() if not isinstance(error, TimeoutError):
            return f"it cannot be started: {error.strerror or type(error).__name__}"
        case RuntimeError():
            return one_line(str(error), MAX_CHARS)
        case _:
            return next((text for kind, text in _CLAUSES.items() if isinstance(error, kind)), "")


_CLAUSES: dict[type[Exception], str] = {
    TimeoutError: "it did not answer in time",
    httpx2.TimeoutException: "it did not answer in time",
    httpx2.HTTPError: "it cannot be reached",
    ValidationError: "its answer is not that of an MCP server",
    httpx2.SSEError: "its event stream cannot be read",
}
