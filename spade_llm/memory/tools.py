"""The three tools by which a model uses a memory (specs/1). They know no store and no wire.

Every outcome is text for the model: a failure says what to change, or that the memory is away, and
nothing of what is behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from spade_llm.errors import InvalidArguments, RequestError, ServiceError
from spade_llm.memory import tool_texts
from spade_llm.memory.categorised import SubjectMemory
from spade_llm.memory.tool_arguments import number, optional_text, text, whole_number
from spade_llm.providers.model import ToolSpec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Mapping

    from spade_llm.memory.categorised import CategorisedMemory
    from spade_llm.memory.store import MemoryEntry, MemoryStore


class MemoryTool(Protocol):
    """A tool over a memory."""

    @property
    def name(self) -> str: ...

    @property
    def spec(self) -> ToolSpec: ...

    async def execute(self, /, **arguments: object) -> str:
        """What the model reads. Raises nothing that the model could have caused."""
        ...


@dataclass(frozen=True, slots=True)
class AgentBaseMemoryStoreTool:
    """`store_memory`"""

    name: ClassVar[str] = tool_texts.STORE_NAME
    description: ClassVar[str] = tool_texts.STORE_DESCRIPTION
    parameters: ClassVar[Mapping[str, object]] = tool_texts.STORE_PARAMETERS

    memory: CategorisedMemory

    @property
    def spec(self) -> ToolSpec:
        return _spec_of(self)

    async def execute(self, /, **arguments: object) -> str:
        return await told(self._store(arguments), "Failed to store memory")

    async def _store(self, arguments: Mapping[str, object]) -> str:
        category, content = text(arguments, "category"), text(arguments, "content")
        context = optional_text(arguments, "context")
        confidence = number(arguments, "confidence", default=1.0)
        await self.memory.store_memory(category, content, context or None, confidence)
        return f"Stored {category} memory: {_indented(content)}"


@dataclass(frozen=True, slots=True)
class AgentBaseMemorySearchTool:
    """`search_memories`"""

    name: ClassVar[str] = tool_texts.SEARCH_NAME
    description: ClassVar[str] = tool_texts.SEARCH_DESCRIPTION
    parameters: ClassVar[Mapping[str, object]] = tool_texts.SEARCH_PARAMETERS

    memory: CategorisedMemory

    @property
    def spec(self) -> ToolSpec:
        return _spec_of(self)

    async def execute(self, /, **arguments: object) -> str:
        return await told(self._search(arguments), "Failed to search memories")

    async def _search(self, arguments: Mapping[str, object]) -> str:
        query = text(arguments, "query")
        limit = whole_number(
            arguments, "limit", default=tool_texts.SEARCH_DEFAULT, highest=tool_texts.SEARCH_MAX
        )
        entries = await self.memory.search_memories(query, limit)
        if not entries:
            return f"No memories found for '{_indented(query)}'"
        lines = [_line(entry, f"[{entry.category or entry.type}] ") for entry in entries]
        return "\n".join([f"Found {len(entries)} memories for '{_indented(query)}':", *lines])


@dataclass(frozen=True, slots=True)
class AgentBaseMemoryListTool:
    """`list_memories`"""

    name: ClassVar[str] = tool_texts.LIST_NAME
    description: ClassVar[str] = tool_texts.LIST_DESCRIPTION
    parameters: ClassVar[Mapping[str, object]] = tool_texts.LIST_PARAMETERS

    memory: CategorisedMemory

    @property
    def spec(self) -> ToolSpec:
        return _spec_of(self)

    async def execute(self, /, **arguments: object) -> str:
        return await told(self._list(arguments), "Failed to list memories")

    async def _list(self, arguments: Mapping[str, object]) -> str:
        category = text(arguments, "category")
        limit = whole_number(
            arguments, "limit", default=tool_texts.LIST_DEFAULT, highest=tool_texts.LIST_MAX
        )
        page = await self.memory.page_of_category(category, limit)
        if not page.entries:
            return f"No {category} memories stored"
        lines = [_line(entry, "") for entry in page.entries]
        return "\n".join([f"My {category} memories ({page.total} total):", *lines])


class MemoryTools:
    """The three tools over any MemoryStore, near or far, about one subject or (None) any.

    What they store belongs to `session`."""

    def __init__(
        self, store: MemoryStore, subject: str | None = None, session: str | None = None
    ) -> None:
        memory = SubjectMemory(store, subject=subject, session=session)
        self.store = AgentBaseMemoryStoreTool(memory)
        self.search = AgentBaseMemorySearchTool(memory)
        self.list = AgentBaseMemoryListTool(memory)

    def __iter__(self) -> Iterator[MemoryTool]:
        return iter((self.store, self.search, self.list))


class _Described(Protocol):
    name: ClassVar[str]
    description: ClassVar[str]
    parameters: ClassVar[Mapping[str, object]]


def _spec_of(tool: _Described) -> ToolSpec:
    return ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters)


async def told(answer: Awaitable[str], failed: str) -> str:
    """The answer; or what failed and why, for the model."""
    try:
        return await answer
    except (ServiceError, RequestError) as error:
        return f"{failed}: {_reason(error)}"


def _line(entry: MemoryEntry, label: str) -> str:
    line = f"- {label}{_indented(entry.content)}"
    return f"{line}\n  Context: {_indented(entry.context)}" if entry.context else line


def _indented(content: str) -> str:
    """Its further lines are indented deeper than ours, so that none can pass for one of ours."""
    return "\n    ".join(content.splitlines())


def _reason(error: ServiceError | RequestError) -> str:
    """What the model may know: a service's own words, but of a request only whether it came."""
    if isinstance(error, ServiceError):
        return str(error)
    if error.wire_code == InvalidArguments.code:
        return error.detail
    return "the memory is not available now"
