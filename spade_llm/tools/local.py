"""Local toolbox: runs tools in this process with timeout, concurrency limit, truncated results."""

from __future__ import annotations

import asyncio
import inspect
import logging
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic_core import to_json

from spade_llm.core.arguments import as_tuple, check_methods
from spade_llm.core.concurrency import run_in_task, run_in_thread
from spade_llm.core.errors import ConfigurationError, InvalidArguments, ServiceError, UnknownTool
from spade_llm.core.limits import ConcurrencyLimiter
from spade_llm.core.redaction import redact_text
from spade_llm.tools.toolbox import (
    NO_CONTEXT,
    NO_TERMS,
    Terms,
    ToolResult,
    current_context,
    error_result,
    valid_unicode,
)

if TYPE_CHECKING:
    from spade_llm.providers.model import ToolSpec
    from spade_llm.tools.llm_tool import Tool
    from spade_llm.tools.toolbox import CallContext

_log = logging.getLogger(__name__)

TIMEOUT_S = 30.0
MAX_CONCURRENT = 256
"""Maximum number of concurrent coroutine functions."""
MAX_THREADS = 128
"""Maximum number of concurrent plain functions; each takes a thread."""
MAX_RESULT_CHARS = 30_000
"""Fits a message between agents (128 KB) even when every character takes three bytes."""
MAX_WHOLE_CHARS = 4_000_000
"""Maximum length of a result that another layer splits into pages."""
MAX_LOGGED_CHARS = 10_000
"""Maximum length of a logged traceback."""


def to_tool_result(value: object) -> ToolResult:
    """Convert the return value of a tool: text stays as it is, apart from lone surrogates; other
    values become JSON. Raises ValueError: it cannot be written as JSON."""
    if isinstance(value, ToolResult):
        return replace(value, text=valid_unicode(value.text))
    return ToolResult(
        text=valid_unicode(value) if isinstance(value, str) else to_json(value).decode()
    )


def truncate_result(result: ToolResult, max_chars: int) -> ToolResult:
    """Truncate a long result, with a note on how much was cut; at most `max_chars` in all, unless
    the note itself is longer."""
    length = len(result.text)
    if length <= max_chars:
        return result
    room = max_chars - len(_truncation_note(length, length))
    kept = max(room, 0)
    return replace(result, text=result.text[:kept] + _truncation_note(kept, length))


class LocalToolbox:
    """Toolbox of functions in this process. A function that outlives its time limit keeps its slot
    until it ends."""

    def __init__(
        self,
        tools: Iterable[Tool],
        *,
        terms_of: Mapping[str, Terms] | None = None,
        timeout_s: float = TIMEOUT_S,
        max_concurrent: int = MAX_CONCURRENT,
        max_threads: int = MAX_THREADS,
        max_result_chars: int | None = MAX_RESULT_CHARS,
    ) -> None:
        """`terms_of`: time and concurrency limits by tool, which override the tool's own.
        `max_result_chars=None`: results are returned whole, up to MAX_WHOLE_CHARS, for callers that
        paginate them."""
        self._tools = _by_name(tools)
        self._specs = tuple(tool.spec for tool in self._tools.values())
        self._terms = {
            name: (terms_of or {})
            .get(name, NO_TERMS)
            .within(Terms(timeout_s=tool.timeout_s, max_concurrent=tool.max_concurrent))
            .within(Terms(timeout_s=timeout_s))
            for name, tool in self._tools.items()
        }
        self._max_result_chars = max_result_chars
        self._coroutines = ConcurrencyLimiter(max_concurrent, name="tools")
        self._threads = ConcurrencyLimiter(max_threads, name="tools")
        self._limiters_by_tool = {
            name: ConcurrencyLimiter(terms.max_concurrent, name=repr(name))
            for name, terms in self._terms.items()
            if terms.max_concurrent
        }

    async def list(self) -> Sequence[ToolSpec]:
        return self._specs

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownTool(f"there is no tool {name!r}; there are: {', '.join(self._tools)}")
        try:
            call = tool.bind(arguments)
        except InvalidArguments as error:
            return error_result(f"Invalid arguments for {name!r}: {error}")
        except Exception as error:  # noqa: BLE001 - somebody's own check failed
            return _unexpected_failure(name, error)
        max_chars = MAX_WHOLE_CHARS
        if self._max_result_chars is not None:
            max_chars = tool.max_result_chars or self._max_result_chars
        token = current_context.set(context)
        try:
            return truncate_result(await self._run_with_timeout(tool, name, call), max_chars)
        finally:
            current_context.reset(token)

    async def _run_with_timeout(
        self, tool: Tool, name: str, call: Callable[[], object]
    ) -> ToolResult:
        """Wait for a slot and run, both within the time limit."""
        limit_s = self._terms[name].timeout_s
        try:
            async with asyncio.timeout(limit_s):
                return await self._run_in_slot(tool, name, call)
        except TimeoutError:
            return error_result(f"{name!r} did not finish within {limit_s:g} s.")

    async def _run_in_slot(self, tool: Tool, name: str, call: Callable[[], object]) -> ToolResult:
        # The tool's own limit first: a call that waits there holds no slot shared by all tools.
        limiters = [self._limiters_by_tool[name]] if name in self._limiters_by_tool else []
        limiters.append(self._coroutines if tool.is_async else self._threads)
        with ExitStack() as held:
            for limiter in limiters:
                await limiter.acquire()
                held.callback(limiter.release)
            # Handed over: a function that outlives its time limit keeps its slots until it ends.
            return await self._run(tool, name, call, held.pop_all())

    async def _run(
        self, tool: Tool, name: str, call: Callable[[], object], held: ExitStack
    ) -> ToolResult:
        def run_and_serialize() -> object:
            value = call()
            # In the function's own thread, because serializing a large result takes a while.
            return value if inspect.isawaitable(value) else to_tool_result(value)

        try:
            run = run_in_task if tool.is_async else run_in_thread
            value = await run(run_and_serialize, on_done=held.close)
            return to_tool_result(await value if inspect.isawaitable(value) else value)
        except ServiceError as error:
            return error_result(f"{name!r}: {error}")
        except Exception as error:  # noqa: BLE001 - somebody's function failed
            return _unexpected_failure(name, error)


def _truncation_note(kept: int, length: int) -> str:
    return f"\n[cut: the first {kept} of {length} characters]"


def _unexpected_failure(name: str, error: Exception) -> ToolResult:
    """Called while the error is handled. Its text is for our log, without its secrets."""
    where = redact_text(traceback.format_exc(), max_chars=MAX_LOGGED_CHARS)
    _log.error("tool %s failed\n%s", name, where)
    return error_result(f"{name!r} failed ({type(error).__name__}).")


def check_tools(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """The tools as a tuple. Raises TypeError: it is no list, or holds a plain function."""
    fix = "give a tool; @tool of spade_llm.tools makes one of a function"
    for one in (found := as_tuple(tools, of="tools")):
        check_methods(one, ("spec", "bind"), of="tools", fix=fix)
    return found


def _by_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for tool in check_tools(tools):
        name = tool.spec.name
        if name in found:
            raise ConfigurationError(f"there are two tools {name!r}; rename one")
        found[name] = tool
    return found
