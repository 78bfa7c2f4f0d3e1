"""Long-term memory of agents: entries, conversations, search, learning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.imports import lazy_exports

if TYPE_CHECKING:
    from spade_llm.agents.interaction_memory import AgentInteractionMemory, AgentMemoryTool
    from spade_llm.agents.local_memory import create_base_memory_tools
    from spade_llm.memory.agent_memory import AgentBaseMemory
    from spade_llm.memory.contract import (
        HistoryStore,
        MemoryBackend,
        MemoryDraft,
        MemoryEntry,
        MemoryPage,
        MemoryStore,
        ObservedMessage,
        OwnedMemory,
        ScoredMemory,
    )
    from spade_llm.memory.database.backend import PostgresMemoryBackend, SQLiteMemoryBackend
    from spade_llm.memory.database.store import SQLiteMemoryStore
    from spade_llm.memory.learning.learner import Learner
    from spade_llm.memory.retrieval import retrieve_memory
    from spade_llm.memory.tools.category_tools import (
        AgentBaseMemoryListTool,
        AgentBaseMemorySearchTool,
        AgentBaseMemoryStoreTool,
        MemoryTool,
        MemoryTools,
    )
    from spade_llm.search.memory_query import Category, MemoryType, Tier
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)


__all__ = [
    "AgentBaseMemory",
    "AgentBaseMemoryListTool",
    "AgentBaseMemorySearchTool",
    "AgentBaseMemoryStoreTool",
    "AgentInteractionMemory",
    "AgentMemoryTool",
    "Category",
    "HistoryStore",
    "Learner",
    "MemoryBackend",
    "MemoryDraft",
    "MemoryEntry",
    "MemoryPage",
    "MemoryStore",
    "MemoryTool",
    "MemoryTools",
    "MemoryType",
    "ObservedMessage",
    "OwnedMemory",
    "PostgresMemoryBackend",
    "SQLiteMemoryBackend",
    "SQLiteMemoryStore",
    "ScoredMemory",
    "Tier",
    "create_base_memory_tools",
    "retrieve_memory",
]
