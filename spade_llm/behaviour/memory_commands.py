"""`/new`, `/memories`, `/correct`, `/forget` and `/export`: what is remembered about a person, in
their own hands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.conversation.commands import is_confirmed, means_all
from spade_llm.conversation.memory_export import exported
from spade_llm.conversation.memory_numbers import (
    MAX_LINE_CHARS,
    NUMBER_CHARS,
    ShownLists,
    plain_item,
    with_number,
)
from spade_llm.memory.store import MemoryChange, MemoryFilter, MemoryQuery
from spade_llm.text.counted import counted

if TYPE_CHECKING:
    from datetime import datetime

    from spade_llm.behaviour.commands import Commands
    from spade_llm.behaviour.memory import MemoryBehaviour
    from spade_llm.conversation.history import Conversations
    from spade_llm.memory.store import MemoryEntry
    from spade_llm.services.chat import Utterance

LISTED_MEMORIES = 20
FORGETTABLE = 1000
"""Of a person's memories, newest first, those that a NUMBER can mean."""
NO_MEMORY = "I have no memory agent."


class MemoryCommands:
    def __init__(self, memory: MemoryBehaviour, conversations: Conversations) -> None:
        self._memory = memory
        self._conversations = conversations
        self._shown = ShownLists()

    def add_to(self, commands: Commands) -> None:
        commands.add(
            "new", self._begin_anew, "/new – begin a new conversation (what I remember stays)"
        )
        commands.add("memories", self._list, "/memories [words] – what I remember about you")
        commands.add(
            "correct",
            self._correct,
            "/correct NUMBER new text – say how one of them really is",
        )
        commands.add(
            "forget",
            self._forget,
            "/forget NUMBER – forget one of the memories that /memories listed",
            "/forget all – forget everything about you, and our conversations; I ask first",
        )
        commands.add(
            "export", self._export, "/export – all that I remember about you, as JSON, one per line"
        )

    async def entries(self, peer: str, limit: int = FORGETTABLE) -> list[MemoryEntry]:
        """Newest first; none without a memory agent. Raises RequestError."""
        if self._memory.memory is None:
            return []
        page = await self._memory.memory.list(_about(peer), limit=limit)
        return list(page.entries)

    async def _begin_anew(self, _argument: str, utterance: Utterance) -> str:
        await self._memory.close(utterance.conversation)
        self._conversations.drop(utterance.conversation)
        return "A new conversation. What I remember about you stays; /forget all removes it."

    async def _list(self, words: str, utterance: Utterance) -> str:
        if self._memory.memory is None:
            return NO_MEMORY
        about = _about(utterance.peer)
        if words:
            query = MemoryQuery(text=words, which=about, limit=LISTED_MEMORIES)
            hits = (await self._memory.memory.search(query)).hits
            entries = sorted((hit.entry for hit in hits), key=_made, reverse=True)
            total = len(entries)
        else:
            page = await self._memory.memory.list(about, limit=LISTED_MEMORIES)
            entries, total = list(page.entries), page.total
        if not entries:
            return "I remember nothing about you" + (" with these words." if words else ".")
        self._shown.show(utterance.peer, entries)
        lines = [f"{number}. {plain_item(one)}" for number, one in enumerate(entries, start=1)]
        more = [f"… and {total - len(entries)} more: /memories WORDS finds them."]
        left = more if total > len(entries) else []
        return "\n".join(["What I remember about you, newest first:", *lines, *left, HOW])

    async def _correct(self, argument: str, utterance: Utterance) -> str:
        number, _, content = argument.partition(" ")
        if self._memory.memory is None or not content.strip():
            return "Write /correct NUMBER (from /memories) and the new text."
        entry = await self._one(utterance.peer, number)
        if entry is None:
            return _no_single(number)
        change = MemoryChange(id=entry.id, content=content.strip())
        corrected = await self._memory.memory.update(change)
        return f"Corrected: {plain_item(corrected, max_chars=MAX_LINE_CHARS)}"

    async def _forget(self, argument: str, utterance: Utterance) -> str:
        if means_all(argument):
            return await self._forget_all(utterance) if is_confirmed(argument) else CONFIRM
        if self._memory.memory is None or not argument:
            return "Write /forget NUMBER (from /memories), or /forget all."
        entry = await self._one(utterance.peer, argument)
        if entry is None:
            return _no_single(argument)
        await self._memory.memory.forget([entry.id], subject=utterance.peer)
        return "Forgotten."

    async def _forget_all(self, utterance: Utterance) -> str:
        self._conversations.drop_peer(utterance.peer)
        count = await self._memory.forget_peer(utterance.peer)
        return f"Forgotten: {counted(count, 'memory', 'memories')} and our conversations."

    async def _one(self, peer: str, number: str) -> MemoryEntry | None:
        """By its place in the list that was shown last, or by what its id begins with."""
        return with_number(await self.entries(peer), self._shown.full_number(peer, number))

    async def _export(self, _argument: str, utterance: Utterance) -> str:
        if self._memory.memory is None:
            return NO_MEMORY
        lines, left_out = exported(await self.entries(utterance.peer))
        if not lines:
            return "I remember nothing about you."
        note = f"({left_out} older ones do not fit into one message.)"
        return "\n".join([*lines, *([note] if left_out else [])])


HOW = "/correct NUMBER new text corrects one, /forget NUMBER forgets one."
CONFIRM = (
    "This removes everything that I remember about you, the files that you shared with me and our"
    " conversations, for good. Write /forget all yes if that is what you want."
)


def _about(peer: str) -> MemoryFilter:
    """Also what is no longer true: it is there to be seen and forgotten."""
    return MemoryFilter(subject=peer, with_invalid=True)


def _made(entry: MemoryEntry) -> datetime:
    return entry.created_at


def _no_single(number: str) -> str:
    shown = number if len(number) <= MAX_SHOWN_CHARS else f"{number[:MAX_SHOWN_CHARS]}…"
    return f"There is no single memory {shown!r}: /memories lists them."


MAX_SHOWN_CHARS = 2 * NUMBER_CHARS
