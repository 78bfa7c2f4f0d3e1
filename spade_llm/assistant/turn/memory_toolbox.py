"""Memory tools for the model, limited to the person of the turn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from spade_llm.core.errors import UnknownTool
from spade_llm.memory.retrieval import RetrievableMemory
from spade_llm.memory.tools.batches import MAX_BATCH
from spade_llm.memory.tools.category_tools import MemoryTools, RetrieveMemoryTool, TextTool
from spade_llm.memory.tools.entry_tool import EntryTool, SubjectScope, answer_as_text
from spade_llm.memory.tools.toolset import LinkedMemory, entry_tools, further_tools
from spade_llm.providers.model import ChatModel, ToolSpec, language_model
from spade_llm.tools.toolbox import NO_CONTEXT, CallContext, ToolResult

if TYPE_CHECKING:
    from spade_llm.assistant.turn.tool_calls import ExecutedToolCall

_STORING = frozenset({"store_memory", "memory_store", "memory_batch_store"})
"""Tools by which a model stores memories."""


class MemoryToolSet(StrEnum):
    """Sets of memory tools that a model can be given."""

    BASE = "base"
    """store_memory, search_memories, list_memories (base memory tools)."""
    ENTRIES = "entries"
    """The eleven memory_* tools."""
    ALL = "all"
    """Both, retrieve_memory, memory_explain, memory_similar, memory_deduplicate and those
    for links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOffer:
    """Settings of the memory tools that an agent offers its model."""

    owner: str
    """The agent's bare JID."""
    tools: MemoryToolSet = MemoryToolSet.BASE
    max_batch: int = MAX_BATCH
    model: ChatModel | None = None
    """Model for abstractive summaries; None, or rules: only extractive ones."""


class OfferedMemory(LinkedMemory, RetrievableMemory, Protocol):
    """Memory operations that the tools need."""


class _NamedTool(Protocol):
    """A tool under its name, whatever family it is of."""

    @property
    def spec(self) -> ToolSpec: ...

    async def call(self, arguments: Mapping[str, object]) -> ToolResult: ...


class MemoryToolbox:
    """Toolbox of memory tools, about one subject only; what is stored belongs to `session`, and
    holds since `said_at` (None: since it is stored)."""

    def __init__(
        self,
        memory: OfferedMemory,
        offer: MemoryOffer,
        *,
        subject: str,
        session: str | None = None,
        said_at: datetime | None = None,
    ) -> None:
        scope = SubjectScope(
            store=memory, owner=offer.owner, subject=subject, session=session, said_at=said_at
        )
        self._tools = {tool.spec.name: tool for tool in _offered(memory, offer, scope)}

    async def list(self) -> Sequence[ToolSpec]:
        return [tool.spec for tool in self._tools.values()]

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        if name not in self._tools:
            raise UnknownTool(f"there is no memory tool {name!r}")
        return await self._tools[name].call(arguments)


def _offered(
    memory: OfferedMemory, offer: MemoryOffer, scope: SubjectScope
) -> Iterator[_NamedTool]:
    if offer.tools is not MemoryToolSet.ENTRIES:
        yield from map(
            _BaseTool, MemoryTools(memory, scope.subject, scope.session, said_at=scope.said_at)
        )
    if offer.tools is not MemoryToolSet.BASE:
        yield from map(
            _EntryToolAdapter,
            entry_tools(scope, max_batch=offer.max_batch, model=language_model(offer.model)),
        )
    if offer.tools is MemoryToolSet.ALL:
        yield _BaseTool(RetrieveMemoryTool(memory, scope.subject))
        yield from map(_EntryToolAdapter, further_tools(scope, memory))


def stored_texts(called: Iterable[ExecutedToolCall]) -> list[str]:
    """Arguments of the calls by which a model has stored memories, as JSON."""
    return [
        json.dumps(json.loads(one.arguments), ensure_ascii=False)
        for one in called
        if one.is_success and one.name in _STORING
    ]


class _BaseTool:
    """A tool of the base tools or retrieve_memory: its failures are sentences."""

    def __init__(self, tool: TextTool) -> None:
        self._tool = tool
        self.spec = tool.spec

    async def call(self, arguments: Mapping[str, object]) -> ToolResult:
        text, is_error = await self._tool.attempt(arguments)
        return ToolResult(text=text, is_error=is_error)


class _EntryToolAdapter:
    """A memory_* tool: its failures are objects that say so."""

    def __init__(self, tool: EntryTool) -> None:
        self._tool = tool
        self.spec = tool.spec

    async def call(self, arguments: Mapping[str, object]) -> ToolResult:
        answer = await self._tool.answer(arguments)
        return ToolResult(text=answer_as_text(answer), is_error="error" in answer)
