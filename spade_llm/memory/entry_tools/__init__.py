"""The tools of specs/3 by which a model keeps its memories, and further ones of their kind.

They know no store and no wire: any MemoryStore will do, near or far.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Protocol

from spade_llm.memory.entry_tools.batches import MAX_BATCH, BatchTools
from spade_llm.memory.entry_tools.consolidation import ConsolidateTool
from spade_llm.memory.entry_tools.decay import DecayTools
from spade_llm.memory.entry_tools.entries import SingleTools
from spade_llm.memory.entry_tools.grants import GrantTools
from spade_llm.memory.entry_tools.links import LinkTools
from spade_llm.memory.entry_tools.scope import Scope
from spade_llm.memory.entry_tools.scores import ScoreTools
from spade_llm.memory.entry_tools.searching import ExplainTool, SearchTool
from spade_llm.memory.entry_tools.similarity import DeduplicateTool, SimilarTool
from spade_llm.memory.entry_tools.tool import EntryTool
from spade_llm.memory.store import DecayStore, GrantStore, LinkStore, MemoryStore

if TYPE_CHECKING:
    from spade_llm.providers.model import ChatModel

__all__ = [
    "MAX_BATCH",
    "EntryTool",
    "LinkedMemory",
    "ManagedMemory",
    "Scope",
    "entry_tools",
    "further_tools",
    "owner_tools",
]


class LinkedMemory(MemoryStore, LinkStore, Protocol):
    """Memories, and which of them belong together."""


class ManagedMemory(DecayStore, GrantStore, Protocol):
    """What an owner decides about its whole memory."""


def entry_tools(
    scope: Scope, *, max_batch: int = MAX_BATCH, model: ChatModel | None = None
) -> tuple[EntryTool, ...]:
    """The eleven of specs/3. With a model, summaries may be abstractive."""
    groups = (
        SingleTools(scope),
        SearchTool(scope),
        BatchTools(scope, max_batch=max_batch),
        ScoreTools(scope),
        ConsolidateTool(scope, model),
    )
    return tuple(chain.from_iterable(groups))


def further_tools(scope: Scope, links: LinkStore) -> tuple[EntryTool, ...]:
    """memory_explain, memory_similar, memory_deduplicate, and those for links."""
    groups = (
        ExplainTool(scope),
        SimilarTool(scope),
        DeduplicateTool(scope),
        LinkTools(scope, links),
    )
    return tuple(chain.from_iterable(groups))


def owner_tools(memory: ManagedMemory) -> tuple[EntryTool, ...]:
    """Those for decay and grants. They act on all that an owner has: never offer them in a
    conversation with one person, who could open or remove the memories of others."""
    return (*DecayTools(memory), *GrantTools(memory))
