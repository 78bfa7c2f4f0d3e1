"""What can be chosen after `spade-llm mcp`. Names only."""

from __future__ import annotations

FAMILIES = {
    "memory": "the eleven memory_* tools",
    "further": "memory_explain, memory_similar, memory_deduplicate and links",
    "owner": "decay and grants of your memories",
    "documents": "search_documents, answer_from_documents and list_documents",
    "ask": "ask_agent and list_agents",
    "tools": "the tool agent's own",
}
DEFAULT_FAMILIES = "memory,documents,ask"
"""What serves a model most; each tool more is read by it with every turn."""
EVERYTHING = "all"

SETTINGS_KEYS = ("mcpServers", "servers")
"""Under which MCP clients keep their list of servers: most of them, and some editors."""
