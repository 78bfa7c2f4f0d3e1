"""The MemoryBackend role: where the memories of many owners are kept. Knows no database."""

from __future__ import annotations

from typing import Protocol

from spade_llm.memory.store import (
    ClearingStore,
    ConsentStore,
    DecayStore,
    GrantStore,
    HistoryStore,
    LinkStore,
    MemoryStore,
)


class OwnedMemory(
    MemoryStore,
    HistoryStore,
    ClearingStore,
    LinkStore,
    GrantStore,
    DecayStore,
    ConsentStore,
    Protocol,
):
    """All that one owner has, and what it decides about it."""


class MemoryBackend(Protocol):
    """Keeps owners apart: what one stores, no other can see, count or delete."""

    def for_owner(self, owner: str) -> OwnedMemory:
        """The memory of one owner, a bare JID. Cheap; no I/O."""
        ...
