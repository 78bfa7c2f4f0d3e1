"""The door `spade_llm.memory.backends`, as programs for spade_llm 0.2/0.3 know it: names only.

A backend of our own is spade_llm.memory.SQLiteMemoryBackend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.lazy import lazy_exports

if TYPE_CHECKING:
    from spade_llm.programs.memory_backends import (
        MemoryBackend,
        MemoryEntry,
        SQLiteMemoryBackend,
    )
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = ["MemoryBackend", "MemoryEntry", "SQLiteMemoryBackend"]
