"""Facts from an episode by a language model: one call, and one more to repair its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from spade_llm.memory.learning.extraction_prompt import (
    MAX_FACT_CHARS,
    MAX_FACTS,
    REPAIR,
    TOOL,
    build_extraction,
)
from spade_llm.memory.learning.form import Form
from spade_llm.memory.learning.learned import Learned, about
from spade_llm.memory.one_line import one_line
from spade_llm.memory.store import (
    Category,
    MemoryDraft,
    MemoryFilter,
    MemoryQuery,
    MemoryType,
    Origin,
    SearchMode,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.learning.learned import KnownMemories, Reading
    from spade_llm.memory.store import MemoryEntry
    from spade_llm.providers.model import ChatModel

DEADLINE_S = 120.0
"""For an episode: both calls."""
MAX_KNOWN = 15
MAX_QUERY_CHARS = 2000
TYPES = (MemoryType.SEMANTIC, MemoryType.PROFILE, MemoryType.PROCEDURAL)


class _Fact(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    content: str = Field(min_length=1, max_length=MAX_FACT_CHARS)
    category: Literal["fact", "preference", "pattern", "capability"]
    about: str = "user"
    confidence: float = Field(default=0.7, ge=0, le=1)
    contradicts: list[int] = Field(default=[], max_length=50)


class _Facts(BaseModel):
    model_config = ConfigDict(extra="ignore")

    facts: list[_Fact] = Field(max_length=MAX_FACTS)


FORM = Form(tool=TOOL, fields=_Facts, repair=REPAIR, what="facts")


class ModelExtractor:
    """Raises ModelError; InvalidModelOutput when the second answer is no better than the first."""

    def __init__(self, model: ChatModel, *, deadline_s: float = DEADLINE_S) -> None:
        self._model = model
        self._deadline_s = deadline_s

    async def extract(self, reading: Reading, known: KnownMemories) -> Learned:
        if not any(message.content.strip() for message in reading.messages):
            return Learned()
        candidates = await _candidates(reading, known)
        messages = build_extraction(reading, candidates)
        found = await FORM.filled(self._model, messages, deadline_s=self._deadline_s)
        return Learned(
            drafts=tuple(_draft(fact, reading) for fact in found.facts),
            invalid=_closed(found, candidates),
        )


async def _candidates(reading: Reading, known: KnownMemories) -> list[MemoryEntry]:
    """What was known of the same person, and is near to what was said."""
    which = MemoryFilter(subject=reading.episode.subject, types=TYPES)
    text = reading.episode.content[:MAX_QUERY_CHARS]
    found = await known.search(
        MemoryQuery(text=text, mode=SearchMode.RECALL, limit=MAX_KNOWN, which=which)
    )
    until = max(message.at for message in reading.messages)
    entries = about(reading, [hit.entry for hit in found.hits])
    return [entry for entry in entries if (entry.valid_at or entry.created_at) <= until]


def _closed(found: _Facts, candidates: Sequence[MemoryEntry]) -> tuple[str, ...]:
    """A number that was not given means nothing."""
    numbers = (number for fact in found.facts for number in fact.contradicts)
    ids = (candidates[n - 1].id for n in numbers if 1 <= n <= len(candidates))
    return tuple(dict.fromkeys(ids))


def _draft(fact: _Fact, reading: Reading) -> MemoryDraft:
    episode = reading.episode
    is_other = fact.about.casefold() not in ("user", "")
    return MemoryDraft(
        content=fact.content,
        category=Category(fact.category),
        confidence=fact.confidence,
        subject=episode.subject,
        session=episode.session,
        metadata={"about": one_line(fact.about, 100)} if is_other else {},
        valid_at=episode.valid_at,
        origin=Origin.EXTRACTED,
        sources=(episode.id,),
    )
