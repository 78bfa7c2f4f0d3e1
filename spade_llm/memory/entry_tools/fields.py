"""Arguments that several of the entry tools have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from spade_llm.errors import InvalidArguments
from spade_llm.memory.entry_tools.arguments import Id, JsonObject, Text, Texts, ToolArguments
from spade_llm.memory.store import ContentType, MemoryDraft, Tier

if TYPE_CHECKING:
    from spade_llm.memory.entry_tools.scope import Scope

WithTier = Annotated[Tier | None, Field(description="Only memories of this tier")]
WithTags = Annotated[Texts | None, Field(description="Only memories that have all of these tags")]
WithContentType = Annotated[
    ContentType | None, Field(description="Only memories of this content type")
]


class OfOne(ToolArguments):
    id: Id = Field(description="Memory ID (UUID), as another memory tool gave it")


class Draft(ToolArguments):
    content: Text = Field(description="The text to remember. One self-contained statement is best.")
    content_type: ContentType = Field(default=ContentType.TEXT, description="What the content is")
    memory_tier: Tier = Field(
        default=Tier.LONG_TERM,
        description="short_term: expires by itself (after ttl_seconds, else a default). long_term:"
        " kept. working: for the task at hand.",
    )
    tags: Texts = Field(default=(), description="Labels to find it by later")
    metadata: JsonObject = Field(default={}, description="Anything else to keep with it, as JSON")

    def draft(self, scope: Scope, ttl_s: int | None = None) -> MemoryDraft:
        """Raises InvalidArguments."""
        return MemoryDraft(
            content=with_words(self.content),
            content_type=self.content_type,
            tier=self.memory_tier,
            tags=self.tags,
            metadata=self.metadata,
            ttl_s=ttl_s,
            subject=scope.subject,
            session=scope.session,
        )


def with_words(content: str) -> str:
    """Raises InvalidArguments if it is blank."""
    if not content.strip():
        raise InvalidArguments("Content cannot be empty")
    return content
