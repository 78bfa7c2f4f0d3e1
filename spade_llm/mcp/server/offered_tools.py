"""Offered tools: effects, results, registry; memory tools (`memory_*`), tools of the tool agent.

Tools that need a user's approval are not offered: MCP does not identify the user who approves.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from spade_llm.core import errors
from spade_llm.memory.tools.batches import MAX_BATCH
from spade_llm.memory.tools.entry_tool import EntryTool, SubjectScope, answer_as_text, error_type
from spade_llm.memory.tools.toolset import entry_tools, further_tools, owner_tools
from spade_llm.providers.model import ToolSpec

if TYPE_CHECKING:
    from spade_llm.memory.remote import MemoryClient
    from spade_llm.memory.tools.arguments import ToolArguments
    from spade_llm.tools.toolbox import Toolbox


logger = logging.getLogger(__name__)

A = TypeVar("A", bound="ToolArguments")
ReportProgress = Callable[[str], Awaitable[None]]
"""Receives the next part of an answer in progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEffects:
    """Effects of a call on stored data or the world, by which a client decides when to ask for
    approval."""

    read_only: bool = False
    """Counting an access does not count as a change."""
    destructive: bool = False
    """True if it may replace or delete data; otherwise it only adds."""
    idempotent: bool = False
    """True if repeating the call changes nothing more."""
    open_world: bool = False
    """True if it may act beyond our own stores."""


READS = ToolEffects(read_only=True, idempotent=True)
ADDS = ToolEffects()
ADDS_ONCE = ToolEffects(idempotent=True)
REPLACES = ToolEffects(destructive=True, idempotent=True)
REMOVES = ToolEffects(destructive=True)
ACTS = ToolEffects(destructive=True, open_world=True)

# A search counts an access and is read-only all the same (docs/design/mcp.md).
EFFECTS: dict[str, ToolEffects] = {
    "memory_store": ADDS,
    "memory_search": READS,
    "memory_get": READS,
    "memory_update": REPLACES,
    "memory_delete": REPLACES,
    "memory_list": READS,
    "memory_batch_store": ADDS,
    "memory_batch_update": REPLACES,
    "memory_get_score": READS,
    "memory_set_score": REPLACES,
    "memory_consolidate": REMOVES,
    "memory_explain": READS,
    "memory_similar": READS,
    "memory_deduplicate": REMOVES,
    "memory_link": ADDS_ONCE,
    "memory_unlink": REPLACES,
    "memory_get_links": READS,
    "memory_decay_configure": REPLACES,
    "memory_decay_run": REMOVES,
    "memory_decay_status": READS,
    "memory_grant": ADDS_ONCE,
    "memory_revoke": REPLACES,
    "memory_grants": READS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class McpToolResult:
    text: str
    is_error: bool = False
    answer: Mapping[str, object] | None = None
    """The text's JSON object, if it is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    spec: ToolSpec
    effects: ToolEffects | None
    """Effects of the tool; None if they are unknown."""
    run: Callable[[Mapping[str, object], ReportProgress], Awaitable[McpToolResult]]


def build_result(answer: Mapping[str, object]) -> McpToolResult:
    """Build a result as text and JSON, with fewer items if it is too long for a model."""
    text = answer_as_text(answer)
    return McpToolResult(text=text, is_error=answer.get("error") is True, answer=json.loads(text))


def offer_entry_tool(tool: EntryTool, effects: ToolEffects) -> OfferedTool:
    async def run(arguments: Mapping[str, object], _report: ReportProgress) -> McpToolResult:
        return build_result(await tool.answer(arguments))

    return OfferedTool(spec=tool.spec, effects=effects, run=run)


def build_tool(
    name: str,
    description: str,
    model: type[A],
    effects: ToolEffects,
    run: Callable[[A, ReportProgress], Awaitable[Mapping[str, object]]],
) -> OfferedTool:
    """Build a tool that returns an object and reports errors in the form of the memory tools."""

    async def call(arguments: Mapping[str, object], report: ReportProgress) -> McpToolResult:
        try:
            return build_result(await run(model.read(arguments), report))
        except (errors.InvalidArguments, errors.RequestError) as error:
            return error_result(error)

    spec = ToolSpec(name=name, description=description, parameters=model.parameters())
    return OfferedTool(spec=spec, effects=effects, run=call)


def error_result(error: errors.SpadeLLMError) -> McpToolResult:
    """Convert an error to a result, in the form of the memory tools."""
    code = error.wire_code if isinstance(error, errors.RequestError) else error.code
    # Over MCP no user can approve, so a repeated call would not help.
    if code == errors.ApprovalRequired.code:
        code = errors.Unauthorised.code
    return build_result({"error": True, "error_type": error_type(code), "message": str(error)})


class ForwardedTools:
    """Tools of the tool agent."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    async def list(self) -> list[OfferedTool]:
        """Tools of the tool agent; empty while it is unavailable."""
        try:
            specs = await self._toolbox.list()
        except errors.RequestError as error:
            logger.warning("the tools of the tool agent are unavailable: %s", error)
            return []
        return [self._passed(spec) for spec in specs if not spec.needs_approval]

    async def call(self, name: str, arguments: Mapping[str, object]) -> McpToolResult:
        """Raises UnknownTool."""
        try:
            result = await self._toolbox.call(name, arguments)
        except errors.UnknownTool:
            raise
        except (errors.ServiceError, errors.RequestError) as error:
            return error_result(error)
        return McpToolResult(text=result.text, is_error=result.is_error)

    def _passed(self, spec: ToolSpec) -> OfferedTool:
        async def run(arguments: Mapping[str, object], _report: ReportProgress) -> McpToolResult:
            return await self.call(spec.name, arguments)

        return OfferedTool(spec=spec, effects=None, run=run)


class ToolRegistry:
    """Registry of all offered tools; our own come before forwarded ones of the same name."""

    def __init__(self, tools: Iterable[OfferedTool], passed: ForwardedTools | None = None) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._passed = passed

    async def list(self) -> list[OfferedTool]:
        passed = await self._passed.list() if self._passed else []
        return [*self._tools.values(), *(t for t in passed if t.spec.name not in self._tools)]

    async def call(
        self, name: str, arguments: Mapping[str, object], report: ReportProgress
    ) -> McpToolResult:
        """Raises UnknownTool."""
        if tool := self._tools.get(name):
            return await tool.run(arguments, report)
        if self._passed is None:
            raise errors.UnknownTool(name)
        return await self._passed.call(name, arguments)


class McpMemoryTools:
    """Memory tools, whose owner is the logged-in account."""

    def __init__(self, memory: MemoryClient, owner: str, *, max_batch: int = MAX_BATCH) -> None:
        self._memory = memory
        self._scope = SubjectScope(store=memory, owner=owner)
        self._max_batch = max_batch

    def specified_tools(self) -> list[OfferedTool]:
        """The eleven memory_* tools."""
        return _offered(entry_tools(self._scope, max_batch=self._max_batch))

    def further_tools(self) -> list[OfferedTool]:
        return _offered(further_tools(self._scope, self._memory))

    def owner_tools(self) -> list[OfferedTool]:
        """Tools for decay and grants; the logged-in account is the owner."""
        return _offered(owner_tools(self._memory))


def _offered(tools: Iterable[EntryTool]) -> list[OfferedTool]:
    return [offer_entry_tool(tool, EFFECTS[tool.name]) for tool in tools]
