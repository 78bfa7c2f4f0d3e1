"""The texts that messages were written with: entries are looked up, messages searched for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.memory.contract import (
    MemoryEntry,
    ObservedMessage,
    ScoredMemory,
    SearchOutcome,
    SearchResult,
)
from spade_llm.memory.learning.novelty import recalled_texts
from spade_llm.search.memory_query import MemoryQuery, Origin

if TYPE_CHECKING:
    from collections.abc import Sequence

AT = datetime(2026, 3, 1, tzinfo=UTC)


class Memory:
    """Entries that can be looked up, and messages that every search finds."""

    def __init__(self, entries: dict[str, str], messages: dict[str, str]) -> None:
        self._entries, self._messages = entries, messages
        self.queries: list[MemoryQuery] = []

    async def peek(self, ids: Sequence[str]) -> Sequence[MemoryEntry]:
        return [_entry(id, self._entries[id], Origin.TOLD) for id in ids if id in self._entries]

    async def search(self, query: MemoryQuery) -> SearchResult:
        self.queries.append(query)
        found = [_entry(id, text, Origin.MESSAGE) for id, text in self._messages.items()]
        hits = tuple(ScoredMemory(entry=entry, score=1.0) for entry in found)
        return SearchResult(outcome=SearchOutcome.OK, hits=hits)


def _entry(id: str, content: str, origin: Origin) -> MemoryEntry:
    return MemoryEntry(
        id=id, owner="a@localhost", content=content, origin=origin, created_at=AT, updated_at=AT
    )


def said(text: str, *recalled: str) -> ObservedMessage:
    return ObservedMessage(id=text, role="assistant", content=text, at=AT, recalled=recalled)


async def nothing(ids: Sequence[str]) -> dict[str, str]:
    return {}


async def test_entries_are_looked_up_without_a_search() -> None:
    memory = Memory({"1": "one", "2": "two"}, {})

    assert await recalled_texts(
        memory, [said("a", "1"), said("b", "1", "2")], resolve_recent=nothing
    ) == {
        "1": "one",
        "2": "two",
    }
    assert memory.queries == []


async def test_messages_are_searched_for_with_the_answer_and_known_by_their_id() -> None:
    memory = Memory({"1": "one"}, {"8": "eight", "9": "nine"})

    assert await recalled_texts(memory, [said("the answer", "1", "9")], resolve_recent=nothing) == {
        "1": "one",
        "9": "nine",
    }
    assert [(query.text, query.with_messages) for query in memory.queries] == [("the answer", True)]


async def test_messages_that_were_found_lately_are_not_searched_for() -> None:
    memory = Memory({"1": "one"}, {"9": "nine"})
    asked: list[Sequence[str]] = []

    async def resolve_recent(ids: Sequence[str]) -> dict[str, str]:
        asked.append(ids)
        return {"8": "eight"}

    assert await recalled_texts(
        memory, [said("the answer", "1", "8")], resolve_recent=resolve_recent
    ) == {
        "1": "one",
        "8": "eight",
    }
    assert asked == [["8"]]
    assert memory.queries == []


async def test_without_recalled_ids_nothing_is_asked() -> None:
    memory = Memory({}, {"9": "nine"})

    assert await recalled_texts(memory, [said("a")], resolve_recent=nothing) == {}
    assert memory.queries == []
