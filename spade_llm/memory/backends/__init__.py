"""The door `spade_llm.memory.backends`, as programs for spade_llm 0.2/0.3 know it: names only.

A backend of our own is spade_llm.memory.SQLiteMemoryBackend.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.programs.memory_backends import (
        MemoryBackend,
        MemoryEntry,
        SQLiteMemoryBackend,
    )

__all__ = ["MemoryBackend", "MemoryEntry", "SQLiteMemoryBackend"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("spade_llm.programs.memory_backends"), name)
