"""Offers an agent's own memory tools (specs/1) to the model as a Toolbox. Knows no wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import UnknownTool
from spade_llm.memory.tools import MemoryTools
from spade_llm.tools.toolbox import ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.store import MemoryStore
    from spade_llm.providers.model import ToolSpec


class MemoryToolbox:
    """store_memory, search_memories and list_memories about one subject only."""

    def __init__(self, store: MemoryStore, *, subject: str) -> None:
        self._tools = {tool.name: tool for tool in MemoryTools(store, subject=subject)}

    async def list(self) -> Sequence[ToolSpec]:
        return [tool.spec for tool in self._tools.values()]

    async def call(self, name: str, arguments: Mapping[str, object]) -> ToolResult:
        if name not in self._tools:
            raise UnknownTool(f"there is no memory tool {name!r}")
        return ToolResult(text=await self._tools[name].execute(**arguments))
