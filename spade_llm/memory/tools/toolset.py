"""Sets of memory tools: entry tools, further tools, tools for the owner."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Protocol

from spade_llm.memory.contract import DecayStore, GrantStore, LinkStore, MemoryStore
from spade_llm.memory.tools.batches import MAX_BATCH, BatchTools
from spade_llm.memory.tools.consolidation import ConsolidateTool
from spade_llm.memory.tools.duplicates import DeduplicateTool, SimilarTool
from spade_llm.memory.tools.entries import EntryTools
from spade_llm.memory.tools.entry_tool import EntryTool, SubjectScope
from spade_llm.memory.tools.importance import DecayTools, ScoreTools
from spade_llm.memory.tools.relations import GrantTools, LinkTools
from spade_llm.memory.tools.search import ExplainTool, SearchTool

if TYPE_CHECKING:
    from spade_llm.providers.model import ChatModel

__all__ = [
    "MAX_BATCH",
    "EntryTool",
    "LinkedMemory",
    "ManagedMemory",
    "SubjectScope",
    "entry_tools",
    "further_tools",
    "owner_tools",
]


class LinkedMemory(MemoryStore, LinkStore, Protocol):
    """Memories, and which of them belong together."""


class ManagedMemory(DecayStore, GrantStore, Protocol):
    """Administration of an owner's whole memory: decay and grants."""


def entry_tools(
    scope: SubjectScope, *, max_batch: int = MAX_BATCH, model: ChatModel | None = None
) -> tuple[EntryTool, ...]:
    """The eleven of specs/3. With a model, summaries may be abstractive."""
    groups = (
        EntryTools(scope),
        SearchTool(scope),
        BatchTools(scope, max_batch=max_batch),
        ScoreTools(scope),
        ConsolidateTool(scope, model),
    )
    return tuple(chain.from_iterable(groups))


def further_tools(scope: SubjectScope, links: LinkStore) -> tuple[EntryTool, ...]:
    """memory_explain, memory_similar, memory_deduplicate, and those for links."""
    groups = (
        ExplainTool(scope),
        SimilarTool(scope),
        DeduplicateTool(scope),
        LinkTools(scope, links),
    )
    return tuple(chain.from_iterable(groups))


def owner_tools(memory: ManagedMemory) -> tuple[EntryTool, ...]:
    """Tools for decay and grants.

    They act on all data of an owner: never offer them in a conversation with one person, because
    that person could share or remove memories about others.
    """
    return (*DecayTools(memory), *GrantTools(memory))
