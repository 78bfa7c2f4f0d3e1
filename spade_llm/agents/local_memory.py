"""Local memory of an assistant without a memory agent, and its tools.

The memories are imported where one is wanted: with them comes all that a memory agent has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError
from spade_llm.memory.contract import ScoredMemory
from spade_llm.memory.tools.category_tools import (
    AgentBaseMemoryListTool,
    AgentBaseMemorySearchTool,
    AgentBaseMemoryStoreTool,
)
from spade_llm.tools.llm_tool import LLMTool

if TYPE_CHECKING:
    from spade_llm.agents.interaction_memory import AgentInteractionMemory
    from spade_llm.memory.agent_memory import AgentBaseMemory
    from spade_llm.memory.tools.category_tools import CategorisedMemory
    from spade_llm.tools import Tool

MemoryOption = bool | tuple[bool, str]
"""Flag to enable a local memory, with an optional folder: `True` or `(True, folder)`."""

TOOLS = (AgentBaseMemoryStoreTool, AgentBaseMemorySearchTool, AgentBaseMemoryListTool)
MAX_QUOTED = 20
"""Notes that a model reads before it answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalMemory:
    """Local memories of an LLM agent, used without a memory agent."""

    interaction_memory: AgentInteractionMemory | None = None
    agent_base_memory: AgentBaseMemory | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Memory tools, for `AssistantConfig.tools`."""
        tools: list[Tool] = []
        if self.interaction_memory is not None:
            from spade_llm.agents.interaction_memory import AgentMemoryTool

            tools.append(AgentMemoryTool(self.interaction_memory))
        if self.agent_base_memory is not None:
            tools += create_base_memory_tools(self.agent_base_memory)
        return tuple(tools)

    async def notes_about(self, peer: str) -> Sequence[ScoredMemory]:
        """Notes on conversations with this peer, newest first, for `AssistantConfig.notes`."""
        if self.interaction_memory is None:
            return ()
        entries = await asyncio.to_thread(self.interaction_memory.entries_about, peer)
        return [ScoredMemory(entry=one, score=1.0) for one in entries[:MAX_QUOTED]]

    async def close(self) -> None:
        if self.agent_base_memory is not None:
            await self.agent_base_memory.close()


def open_local_memory(
    jid: str, *, interaction_memory: MemoryOption = False, agent_base_memory: MemoryOption = False
) -> LocalMemory:
    """Open the memories selected by `LLMAgent(jid, …, interaction_memory=…, agent_base_memory=…)`.

    Raises ConfigurationError: a value is neither a bool nor (bool, path); a file is unreadable.
    """
    notes_folder = _folder("interaction_memory", interaction_memory)
    base_folder = _folder("agent_base_memory", agent_base_memory)
    notes = base = None
    if notes_folder:
        from spade_llm.agents.interaction_memory import AgentInteractionMemory

        notes = AgentInteractionMemory(jid, notes_folder)
    if base_folder:
        from spade_llm.memory.agent_memory import AgentBaseMemory

        base = AgentBaseMemory(jid, memory_path=base_folder)
    return LocalMemory(interaction_memory=notes, agent_base_memory=base)


def create_base_memory_tools(base_memory: CategorisedMemory) -> list[LLMTool]:
    """`store_memory`, `search_memories` and `list_memories`, for an assistant's `tools`."""
    return [
        LLMTool(
            name=tool.name,
            description=tool.description,
            parameters=tool.parameters,
            func=tool(base_memory).execute,
        )
        for tool in TOOLS
    ]


def _folder(name: str, wanted: MemoryOption) -> str:
    """Folder of a memory option; empty if the memory is disabled."""
    match wanted:
        case False:
            return ""
        case True:
            from spade_llm.memory.agent_memory import DATA_OF_SPADE_LLM

            return str(DATA_OF_SPADE_LLM)
        case (bool() as is_wanted, str() as folder):
            return folder if is_wanted else ""
    raise ConfigurationError(f"{name} is {wanted!r}: give True, False or (True, folder)")
