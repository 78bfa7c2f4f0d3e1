"""Import path spade_llm.memory.backends of spade_llm 0.2 and 0.3: names only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from spade_llm.compat.memory_backends import MemoryBackend, MemoryEntry, SQLiteMemoryBackend
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = ["MemoryBackend", "MemoryEntry", "SQLiteMemoryBackend"]
