"""Memory as MCP tools (specs/3), with the effects of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.mcp.server.offered_tools import (
    ADDS,
    ADDS_ONCE,
    READS,
    REMOVES,
    REPLACES,
    OfferedTool,
    ToolEffects,
    offer_entry_tool,
)
from spade_llm.memory.tools.toolset import (
    MAX_BATCH,
    EntryTool,
    SubjectScope,
    entry_tools,
    further_tools,
    owner_tools,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spade_llm.memory.remote import MemoryClient

# A search counts an access and is read-only all the same (docs/design/mcp.md).
EFFECTS: dict[str, ToolEffects] = {
    "memory_store": ADDS,
    "memory_search": READS,
    "memory_get": READS,
    "memory_update": REPLACES,
    "memory_delete": REPLACES,
    "memory_list": READS,
    "memory_batch_store": ADDS,
    "memory_batch_update": REPLACES,
    "memory_get_score": READS,
    "memory_set_score": REPLACES,
    "memory_consolidate": REMOVES,
    "memory_explain": READS,
    "memory_similar": READS,
    "memory_deduplicate": REMOVES,
    "memory_link": ADDS_ONCE,
    "memory_unlink": REPLACES,
    "memory_get_links": READS,
    "memory_decay_configure": REPLACES,
    "memory_decay_run": REMOVES,
    "memory_decay_status": READS,
    "memory_grant": ADDS_ONCE,
    "memory_revoke": REPLACES,
    "memory_grants": READS,
}


class McpMemoryTools:
    """Memory tools of the owner, which is the logged-in account."""

    def __init__(self, memory: MemoryClient, owner: str, *, max_batch: int = MAX_BATCH) -> None:
        self._memory = memory
        self._scope = SubjectScope(store=memory, owner=owner)
        self._max_batch = max_batch

    def specified_tools(self) -> list[OfferedTool]:
        """The eleven."""
        return _offered(entry_tools(self._scope, max_batch=self._max_batch))

    def further_tools(self) -> list[OfferedTool]:
        return _offered(further_tools(self._scope, self._memory))

    def owner_tools(self) -> list[OfferedTool]:
        """Tools for decay and grants; the logged-in account is the owner."""
        return _offered(owner_tools(self._memory))


def _offered(tools: Iterable[EntryTool]) -> list[OfferedTool]:
    return [offer_entry_tool(tool, EFFECTS[tool.name]) for tool in tools]
