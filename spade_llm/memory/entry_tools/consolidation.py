"""memory_consolidate: one memory that stands for several."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import Field, StrictBool

from spade_llm.errors import InvalidArguments
from spade_llm.memory.abstract import abstractive_summary
from spade_llm.memory.entry_tools.arguments import (
    Ids,
    JsonObject,
    Texts,
    ToolArguments,
)
from spade_llm.memory.entry_tools.tool import EntryTool
from spade_llm.memory.limits import MAX_CONTENT_CHARS, MAX_TAGS
from spade_llm.memory.store import ContentType, MemoryDraft, Origin
from spade_llm.memory.summary import extractive_summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from spade_llm.memory.entry_tools.scope import Scope
    from spade_llm.memory.entry_tools.tool import Answer
    from spade_llm.memory.store import MemoryEntry
    from spade_llm.providers.model import ChatModel

FEWEST, MOST = 2, 50
SHORT_CHARS = 1000
"""Sources of up to this many characters together keep every sentence that says something new;
longer ones are brought to half, names, numbers and dates apart."""

T = TypeVar("T")


class Strategy(StrEnum):
    EXTRACTIVE = "extractive"
    ABSTRACTIVE = "abstractive"


class Consolidate(ToolArguments):
    memory_ids: Ids = Field(description=f"IDs of the memories to consolidate ({FEWEST}-{MOST})")
    summary_strategy: Strategy = Field(
        default=Strategy.EXTRACTIVE,
        description="extractive: the important sentences as they are; abstractive: written anew by"
        " a language model",
    )
    preserve_originals: StrictBool = Field(
        default=True, description="false deletes the originals when the summary is stored"
    )
    tags: Texts | None = Field(
        default=None, description="Tags of the new memory; without: those of the originals"
    )
    metadata: JsonObject | None = Field(default=None, description="Metadata of the new memory")


class ConsolidateWithoutModel(Consolidate):
    summary_strategy: Literal[Strategy.EXTRACTIVE] = Field(
        default=Strategy.EXTRACTIVE, description="extractive: the important sentences as they are"
    )


class ConsolidateTool:
    def __init__(self, scope: Scope, model: ChatModel | None = None) -> None:
        self._scope = scope
        self._model = model

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_consolidate",
            description="Make one memory of several that belong together: a summary that keeps"
            " names, numbers and dates. The originals stay unless you say otherwise.",
            arguments=Consolidate if self._model else ConsolidateWithoutModel,
            run=self.consolidate,
        )

    async def consolidate(self, arguments: Consolidate) -> Answer:
        ids, keep = _enough(arguments.memory_ids), arguments.preserve_originals
        sources = await self._scope.all_of(ids)
        summary = await self._summary(
            [source.content for source in sources], arguments.summary_strategy
        )
        draft = _draft(sources, summary, arguments.tags, arguments.metadata or {})
        entry = await self._scope.store.replace(ids, draft, keep=keep)
        return {
            "success": True,
            "consolidated_memory_id": entry.id,
            "original_count": len(ids),
            "preserved": keep,
            "summary_length": len(summary),
        }

    async def _summary(self, texts: Sequence[str], strategy: Strategy) -> str:
        if strategy is Strategy.ABSTRACTIVE and self._model is not None:
            return await abstractive_summary(self._model, texts)
        aim = max(SHORT_CHARS, sum(map(len, texts)) // 2)
        # Fifty long memories are 1.6 million characters: seconds, not to be spent in the loop.
        return await asyncio.to_thread(
            extractive_summary, texts, MAX_CONTENT_CHARS, aim_chars=min(aim, MAX_CONTENT_CHARS)
        )


def _enough(ids: tuple[str, ...]) -> tuple[str, ...]:
    if not FEWEST <= len(ids) <= MOST:
        raise InvalidArguments(
            f"memory_ids must have {FEWEST} to {MOST} different elements, not {len(ids)}"
        )
    return ids


def _draft(
    sources: Sequence[MemoryEntry],
    summary: str,
    tags: tuple[str, ...] | None,
    metadata: Mapping[str, object],
) -> MemoryDraft:
    """It is what all sources are; of what they differ in, nothing is said."""
    inherited = tuple(dict.fromkeys(tag for source in sources for tag in source.tags))[:MAX_TAGS]
    return MemoryDraft(
        content=summary,
        tags=inherited if tags is None else tags,
        metadata=metadata,
        category=_common(source.category for source in sources),
        type=_common(source.type for source in sources),
        content_type=_common(source.content_type for source in sources) or ContentType.TEXT,
        session=_common(source.session for source in sources),
        subject=_subject(sources),
        confidence=min(source.confidence for source in sources),
        origin=Origin.CONSOLIDATED,
        sources=tuple(source.id for source in sources),
    )


def _common(values: Iterable[T]) -> T | None:
    found = list(values)
    return found[0] if all(value == found[0] for value in found) else None


def _subject(sources: Sequence[MemoryEntry]) -> str | None:
    """Everybody may see and remove what is stored about them: so it is about one, or about none."""
    subjects = {source.subject for source in sources if source.subject is not None}
    if len(subjects) > 1:
        raise InvalidArguments("memory_ids are about different people; consolidate each apart")
    return next(iter(subjects), None)
