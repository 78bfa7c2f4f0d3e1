"""What the model reads about the memory tools: names, descriptions, schemas. Pinned by tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

STORE_NAME = "store_memory"
SEARCH_NAME = "search_memories"
LIST_NAME = "list_memories"

STORE_DESCRIPTION = """\
Store important information in my long-term memory for future use.
Use this tool to remember:
- Facts: Concrete information about APIs, data formats, configurations, etc.
- Patterns: Recurring behaviors or trends I've observed
- Preferences: User preferences or system settings I've learned
- Capabilities: My own abilities or limitations I've discovered

This memory persists across conversations and helps me improve over time."""

SEARCH_DESCRIPTION = """\
Search my long-term memory for information relevant to the current conversation.
Use this tool when you need to recall:
- Previous facts you've learned
- Patterns you've observed
- User preferences you've discovered
- Your own capabilities or limitations

The search looks through all your stored memories to find relevant information."""

LIST_DESCRIPTION = """\
List my memories organized by category.
Use this tool to browse what you've learned in different areas:
- Facts: Concrete information you've stored
- Patterns: Behavioral patterns you've observed
- Preferences: User or system preferences you've learned
- Capabilities: Your own abilities or limitations you've discovered

This helps you understand what knowledge you have available."""

CATEGORIES = ["fact", "pattern", "preference", "capability"]

STORE_PARAMETERS: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "category": {
            "type": "string",
            "enum": CATEGORIES,
            "description": (
                "Type of memory: fact (concrete info), pattern (observed behavior),"
                " preference (learned preference), capability (my ability/limitation)"
            ),
        },
        "content": {
            "type": "string",
            "description": "The information to remember. Be specific and concise.",
        },
        "context": {
            "type": "string",
            "description": "Optional context about when/why this is important",
        },
        "confidence": {
            "type": "number",
            "minimum": 0.0,
            "maximum": 1.0,
            "default": 1.0,
            "description": "Confidence level in this memory (0.0 to 1.0)",
        },
    },
    "required": ["category", "content"],
}

SEARCH_MAX = 20
SEARCH_DEFAULT = 10

SEARCH_PARAMETERS: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": (
                "Search query to find relevant memories."
                " Use keywords related to what you're looking for."
            ),
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": SEARCH_MAX,
            "default": SEARCH_DEFAULT,
            "description": "Maximum number of memories to retrieve",
        },
    },
    "required": ["query"],
}

LIST_MAX = 50
LIST_DEFAULT = 20

LIST_PARAMETERS: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "category": {
            "type": "string",
            "enum": CATEGORIES,
            "description": "Category of memories to list",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": LIST_MAX,
            "default": LIST_DEFAULT,
            "description": "Maximum number of memories to retrieve",
        },
    },
    "required": ["category"],
}
