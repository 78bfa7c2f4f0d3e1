"""The texts that messages were written with, by the ids that they name. Knows no store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from spade_llm.memory.store import MemoryQuery, SearchMode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from spade_llm.memory.store import Found, MemoryEntry, ObservedMessage

    Given = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]
    """Content of messages that were found lately, by id."""

MAX_IDS = 1000
"""Looked up at once: what `peek` gives."""
MAX_SEARCHES = 100
"""For recalled messages of conversations, which can be searched but not looked up."""
MAX_HITS = 50
MAX_QUERY_CHARS = 1000


class Lookup(Protocol):
    """What is needed of an owner's memory."""

    async def peek(self, ids: Sequence[str]) -> Sequence[MemoryEntry]: ...

    async def search(self, query: MemoryQuery) -> Found: ...


async def recalled_texts(
    memory: Lookup, messages: Sequence[ObservedMessage], *, given: Given
) -> Mapping[str, str]:
    """Content by id; what was forgotten is missing.

    An id may be that of a message that a search gave. `given` knows those of late. Another one
    nobody can look up; but an answer that repeats the message has its words, so that a search for
    the answer finds it, and the id proves that it is the one.
    """
    ids = list(dict.fromkeys(id for message in messages for id in message.recalled))[:MAX_IDS]
    entries = await memory.peek(ids) if ids else ()
    texts = {entry.id: entry.content for entry in entries}
    if other := [id for id in ids if id not in texts]:
        texts |= await given(other)
    searched = [one for one in messages if any(id not in texts for id in one.recalled)]
    for message in searched[:MAX_SEARCHES]:
        texts |= await _found(memory, message)
    return texts


async def _found(memory: Lookup, message: ObservedMessage) -> Mapping[str, str]:
    query = MemoryQuery(
        text=message.content[:MAX_QUERY_CHARS],
        mode=SearchMode.KEYWORD,
        limit=MAX_HITS,
        with_messages=True,
    )
    hits = (await memory.search(query)).hits
    wanted = frozenset(message.recalled)
    return {hit.entry.id: hit.entry.content for hit in hits if hit.entry.id in wanted}
