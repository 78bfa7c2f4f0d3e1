"""Tools that run in this process, each call bounded in time, number and size. Knows no wire."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError, InvalidArguments, ServiceError, UnknownTool
from spade_llm.tools.result_text import bounded, result_of
from spade_llm.tools.threads import run_in_thread
from spade_llm.tools.toolbox import NO_CONTEXT, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from spade_llm.providers.model import ToolSpec
    from spade_llm.tools.llm_tool import Tool
    from spade_llm.tools.toolbox import CallContext

_log = logging.getLogger(__name__)

TIMEOUT_S = 30.0
MAX_CONCURRENT = 16
MAX_WAITING = 256
"""Calls that wait for a free place; one more is told that the toolbox is busy."""
MAX_RESULT_CHARS = 30_000
"""Fits a message between agents (128 KB) even when every character takes three bytes."""


class LocalToolbox:
    """Satisfies Toolbox. A function that outlives its time limit keeps its place until it ends."""

    def __init__(
        self,
        tools: Iterable[Tool],
        *,
        timeout_s: float = TIMEOUT_S,
        max_concurrent: int = MAX_CONCURRENT,
        max_result_chars: int = MAX_RESULT_CHARS,
    ) -> None:
        self._tools = _by_name(tools)
        self._timeout_s = timeout_s
        self._max_result_chars = max_result_chars
        self._places = asyncio.Semaphore(max_concurrent)
        self._waiting = 0

    async def list(self) -> Sequence[ToolSpec]:
        return tuple(tool.spec for tool in self._tools.values())

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownTool(f"there is no tool {name!r}; there are: {', '.join(self._tools)}")
        try:
            call = tool.bind(arguments)
        except InvalidArguments as error:
            return _failed(f"Invalid arguments for {name!r}: {error}")
        return bounded(await self._limited(tool, name, call), self._max_result_chars)

    async def _limited(self, tool: Tool, name: str, call: Callable[[], object]) -> ToolResult:
        """Wait for a place and run, both within the time limit."""
        limit_s = self._timeout_s if tool.timeout_s is None else tool.timeout_s
        limit = asyncio.timeout(limit_s)
        try:
            async with limit:
                if not await self._placed():
                    return _failed("Too many tool calls are waiting; try again later.")
                return result_of(await self._called(tool, call))
        except ServiceError as error:
            return _failed(f"{name!r}: {error}")
        except Exception as error:  # noqa: BLE001 - somebody's function failed
            if limit.expired():
                return _failed(f"{name!r} did not finish within {limit_s:g} s.")
            _log.exception("tool %s failed", name)
            return _failed(f"{name!r} failed ({type(error).__name__}).")

    async def _placed(self) -> bool:
        if self._waiting >= MAX_WAITING:
            return False
        self._waiting += 1
        try:
            return await self._places.acquire()
        finally:
            self._waiting -= 1

    async def _called(self, tool: Tool, call: Callable[[], object]) -> object:
        if not tool.is_async:
            value = await run_in_thread(call, at_end=self._places.release)
            return await value if inspect.isawaitable(value) else value
        try:
            value = call()
            return await value if inspect.isawaitable(value) else value
        finally:
            self._places.release()


def _by_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for tool in tools:
        name = tool.spec.name
        if name in found:
            raise ConfigurationError(f"there are two tools {name!r}; rename one")
        found[name] = tool
    return found


def _failed(text: str) -> ToolResult:
    return ToolResult(text=text, is_error=True)
