"""Parameters that several of the entry tools have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.memory.entry_tools.kinds import ID, OBJECT, TEXT, TEXTS, choice
from spade_llm.memory.entry_tools.parameters import defaulted, optional, required
from spade_llm.memory.store import ContentType, MemoryDraft, Tier

if TYPE_CHECKING:
    from spade_llm.memory.entry_tools.parameters import Arguments
    from spade_llm.memory.entry_tools.scope import Scope

TIER = choice(tuple(Tier))
CONTENT_TYPE = choice(tuple(ContentType))

ID_OF_ONE = required("id", ID, "Memory ID (UUID), as another memory tool gave it")

CONTENT = required("content", TEXT, "The text to remember. One self-contained statement is best.")
NEW_CONTENT_TYPE = defaulted(
    "content_type", CONTENT_TYPE, "What the content is", ContentType.TEXT, shown="text"
)
NEW_TIER = defaulted(
    "memory_tier",
    TIER,
    "short_term: expires by itself (after ttl_seconds, else a default). long_term: kept."
    " working: for the task at hand.",
    Tier.LONG_TERM,
    shown="long_term",
)
NEW_TAGS = defaulted("tags", TEXTS, "Labels to find it by later", (), shown=[])
NEW_METADATA = defaulted("metadata", OBJECT, "Anything else to keep with it, as JSON", {})

WITH_TIER = optional("memory_tier", TIER, "Only memories of this tier")
WITH_TAGS = optional("tags", TEXTS, "Only memories that have all of these tags")
WITH_CONTENT_TYPE = optional("content_type", CONTENT_TYPE, "Only memories of this content type")

DRAFT = (CONTENT, NEW_CONTENT_TYPE, NEW_TIER, NEW_TAGS, NEW_METADATA)


def tags_of(arguments: Arguments) -> tuple[str, ...]:
    """To filter by; empty if none were given."""
    tags = arguments[WITH_TAGS]
    return tags or ()


def draft_of(arguments: Arguments, scope: Scope, ttl_s: int | None = None) -> MemoryDraft:
    """Raises InvalidArguments."""
    return MemoryDraft(
        content=with_words(arguments[CONTENT]),
        content_type=arguments[NEW_CONTENT_TYPE],
        tier=arguments[NEW_TIER],
        tags=arguments[NEW_TAGS],
        metadata=arguments[NEW_METADATA],
        ttl_s=ttl_s,
        subject=scope.subject,
        session=scope.session,
    )


def with_words(content: str) -> str:
    """Raises InvalidArguments if it is blank."""
    if not content.strip():
        raise InvalidArguments("Content cannot be empty")
    return content
