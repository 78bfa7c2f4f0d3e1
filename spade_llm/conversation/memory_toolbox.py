"""Offers an agent's memory to the model as a Toolbox, about one person only. Knows no wire.

Whoever is talked to, the model sees, changes and deletes only what is stored about that person:
tools that act on all that an agent remembers (grants, decay) are never offered here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from spade_llm.errors import UnknownTool
from spade_llm.memory.entry_tools import (
    MAX_BATCH,
    LinkedMemory,
    Scope,
    entry_tools,
    further_tools,
)
from spade_llm.memory.entry_tools.as_text import as_text
from spade_llm.memory.retrieve import Recallable
from spade_llm.memory.retrieve_tool import RetrieveMemoryTool
from spade_llm.memory.tools import MemoryTools
from spade_llm.tools.toolbox import NO_CONTEXT, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spade_llm.memory.entry_tools import EntryTool
    from spade_llm.memory.tools import MemoryTool
    from spade_llm.providers.model import ChatModel, ToolSpec
    from spade_llm.tools.toolbox import CallContext


class MemoryToolSet(StrEnum):
    """Which tools a model gets for its memory."""

    BASE = "base"
    """store_memory, search_memories, list_memories (specs/1)."""
    ENTRIES = "entries"
    """The eleven memory_* tools (specs/3)."""
    ALL = "all"
    """Both, retrieve_memory (specs/2), memory_explain, memory_similar, memory_deduplicate and those
    for links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOffer:
    """What of its memory an agent offers its model."""

    owner: str
    """The agent's bare JID."""
    tools: MemoryToolSet = MemoryToolSet.BASE
    max_batch: int = MAX_BATCH
    model: ChatModel | None = None
    """For abstractive summaries; None: only extractive ones."""


class OfferedMemory(LinkedMemory, Recallable, Protocol):
    """What the tools need, all together."""


class _Called(Protocol):
    """A tool under its name, whatever family it is of."""

    @property
    def spec(self) -> ToolSpec: ...

    async def call(self, arguments: Mapping[str, object]) -> ToolResult: ...


class MemoryToolbox:
    """Satisfies Toolbox, about one subject only; what is stored belongs to `session`."""

    def __init__(
        self,
        memory: OfferedMemory,
        offer: MemoryOffer,
        *,
        subject: str,
        session: str | None = None,
    ) -> None:
        scope = Scope(store=memory, owner=offer.owner, subject=subject, session=session)
        self._tools = {tool.spec.name: tool for tool in _offered(memory, offer, scope)}

    async def list(self) -> Sequence[ToolSpec]:
        return [tool.spec for tool in self._tools.values()]

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        if name not in self._tools:
            raise UnknownTool(f"there is no memory tool {name!r}")
        return await self._tools[name].call(arguments)


def _offered(memory: OfferedMemory, offer: MemoryOffer, scope: Scope) -> Iterator[_Called]:
    if offer.tools is not MemoryToolSet.ENTRIES:
        yield from map(_Base, MemoryTools(memory, scope.subject, scope.session))
    if offer.tools is not MemoryToolSet.BASE:
        yield from map(_Entry, entry_tools(scope, max_batch=offer.max_batch, model=offer.model))
    if offer.tools is MemoryToolSet.ALL:
        yield _Base(RetrieveMemoryTool(memory, scope.subject))
        yield from map(_Entry, further_tools(scope, memory))


class _Base:
    """A tool of specs/1 or 2: its failures are sentences."""

    def __init__(self, tool: MemoryTool) -> None:
        self._tool = tool
        self.spec = tool.spec

    async def call(self, arguments: Mapping[str, object]) -> ToolResult:
        return ToolResult(text=await self._tool.execute(**arguments))


class _Entry:
    """A tool of specs/3: its failures are objects that say so."""

    def __init__(self, tool: EntryTool) -> None:
        self._tool = tool
        self.spec = tool.spec

    async def call(self, arguments: Mapping[str, object]) -> ToolResult:
        answer = await self._tool.answer(arguments)
        return ToolResult(text=as_text(answer), is_error="error" in answer)
