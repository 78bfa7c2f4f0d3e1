"""Conversations of people on many days, as the learner finds them. Knows no pattern."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from spade_llm.memory.contract import ObservedMessage
from spade_llm.memory.learning.learner import Learner
from spade_llm.search.memory_query import Category, MemoryFilter, Origin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory import OwnedMemory
    from spade_llm.memory.contract import MemoryEntry
    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.providers.scripted import ScriptedProvider

START = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)
OWNER, ANA = "assistant@localhost", "ana@localhost"


async def talk(
    store: OwnedMemory,
    texts: Sequence[str],
    *,
    day: int,
    subject: str = ANA,
    conversation: str = "",
    role: str = "user",
) -> None:
    """A short exchange on that day, in the one thread that this person has unless it is named."""
    at = START + timedelta(days=day)
    said = [
        ObservedMessage(
            id=f"{day}.{number}.{role}",
            role=role,
            content=text,
            at=at + timedelta(minutes=2 * number),
        )
        for number, text in enumerate(texts)
    ]
    said.append(ObservedMessage(id=f"{day}.end", role="assistant", content="All right.", at=at))
    await store.observe(conversation or subject, said, subject=subject)


async def learn(backend: DatabaseMemoryBackend, model: ScriptedProvider | None = None) -> None:
    """All that can be learned a year later."""
    later = START + timedelta(days=365)
    await Learner(backend.learning(), backend, model=model, clock=lambda: later).learn()


async def patterns(store: OwnedMemory, subject: str = ANA) -> list[MemoryEntry]:
    page = await store.list(MemoryFilter(subject=subject, category=Category.PATTERN), limit=100)
    return [entry for entry in page.entries if entry.origin is Origin.PATTERN]


async def contents_of_patterns(store: OwnedMemory, subject: str = ANA) -> set[str]:
    return {entry.content for entry in await patterns(store, subject)}
