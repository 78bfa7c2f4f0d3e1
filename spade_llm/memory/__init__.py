"""What agents remember: one record, one store, several vocabularies. Knows no wire.

Names are imported when they are first used: the records cost nothing, SQLite only its users.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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

_MODULE_OF = {
    "AgentBaseMemory": "agent_memory",
    "AgentBaseMemoryListTool": "tools",
    "AgentBaseMemorySearchTool": "tools",
    "AgentBaseMemoryStoreTool": "tools",
    "AgentInteractionMemory": "spade_llm.programs.memory_interactions",
    "AgentMemoryTool": "spade_llm.programs.memory_interactions",
    "Category": "store",
    "HistoryStore": "store",
    "Learner": "learning.learner",
    "MemoryBackend": "backend",
    "MemoryDraft": "store",
    "MemoryEntry": "store",
    "MemoryPage": "store",
    "MemoryStore": "store",
    "MemoryTool": "tools",
    "MemoryTools": "tools",
    "MemoryType": "store",
    "ObservedMessage": "store",
    "OwnedMemory": "backend",
    "SQLiteMemoryBackend": "sqlite.backend",
    "ScoredMemory": "store",
    "SqliteMemoryStore": "sqlite.store",
    "Tier": "store",
    "create_base_memory_tools": "spade_llm.programs.memory_tools",
    "retrieve_memory": "retrieve",
}

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


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULE_OF[name]
    path = module if module.startswith("spade_llm.") else f"{__name__}.{module}"
    return getattr(import_module(path), name)


def __dir__() -> list[str]:
    return __all__
