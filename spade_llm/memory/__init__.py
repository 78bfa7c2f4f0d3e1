"""What agents remember: one record, one store, several vocabularies. Knows no wire.

Names are imported when they are first used: the records cost nothing, SQLite only its users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.lazy import lazy_exports

if TYPE_CHECKING:
    from spade_llm.memory.agent_memory import AgentBaseMemory
    from spade_llm.memory.backend import MemoryBackend, OwnedMemory
    from spade_llm.memory.learning.learner import Learner
    from spade_llm.memory.retrieve import retrieve_memory
    from spade_llm.memory.sqlite.backend import SQLiteMemoryBackend
    from spade_llm.memory.sqlite.store import SqliteMemoryStore
    from spade_llm.memory.store import (
        Category,
        HistoryStore,
        MemoryDraft,
        MemoryEntry,
        MemoryPage,
        MemoryStore,
        MemoryType,
        ObservedMessage,
        ScoredMemory,
        Tier,
    )
    from spade_llm.memory.tools import (
        AgentBaseMemoryListTool,
        AgentBaseMemorySearchTool,
        AgentBaseMemoryStoreTool,
        MemoryTool,
        MemoryTools,
    )
    from spade_llm.programs.memory_interactions import AgentInteractionMemory, AgentMemoryTool
    from spade_llm.programs.memory_tools import create_base_memory_tools
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
    "SQLiteMemoryBackend",
    "ScoredMemory",
    "SqliteMemoryStore",
    "Tier",
    "create_base_memory_tools",
    "retrieve_memory",
]
