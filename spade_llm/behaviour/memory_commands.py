"""`/new`, `/memories`, `/correct`, `/forget` and `/export`: what is remembered about a person, in
their own hands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.conversation.memory_export import exported
from spade_llm.conversation.memory_numbers import NUMBER_CHARS, numbered_line, with_number
from spade_llm.memory.store import MemoryChange, MemoryFilter, MemoryQuery

if TYPE_CHECKING:
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
            "/forget all – forget everything about you, and this conversation",
        )
        commands.add(
            "export", self._export, "/export – all that I remember about you, as JSON, one per line"
        )

    async def entries(self, peer: str, limit: int = FORGETTABLE) -> list[MemoryEntry]:
        """Newest first; none without a memory agent. Raises RequestError."""
        if self._memory.memory is None:
            return []
        page = await self._memory.memory.list(MemoryFilter(subject=peer), limit=limit)
        return list(page.entries)

    async def _begin_anew(self, _argument: str, utterance: Utterance) -> str:
        await self._memory.close(utterance.conversation)
        self._conversations.drop(utterance.conversation)
        return "A new conversation. What I remember about you stays; /forget all removes it."

    async def _list(self, words: str, utterance: Utterance) -> str:
        if self._memory.memory is None:
            return NO_MEMORY
        if words:
            about = MemoryFilter(subject=utterance.peer)
            query = MemoryQuery(text=words, which=about, limit=LISTED_MEMORIES)
            entries = [hit.entry for hit in (await self._memory.memory.search(query)).hits]
        else:
            entries = await self.entries(utterance.peer, LISTED_MEMORIES)
        if not entries:
            return "I remember nothing about you" + (" with these words." if words else ".")
        lines = map(numbered_line, entries)
        return "\n".join(["What I remember about you:", *lines, HOW])

    async def _correct(self, argument: str, utterance: Utterance) -> str:
        number, _, content = argument.partition(" ")
        if self._memory.memory is None or not content.strip():
            return "Write /correct NUMBER (from /memories) and the new text."
        entry = with_number(await self.entries(utterance.peer), number)
        if entry is None:
            return _no_single(number)
        change = MemoryChange(id=entry.id, content=content.strip())
        return f"Corrected: {numbered_line(await self._memory.memory.update(change))}"

    async def _forget(self, argument: str, utterance: Utterance) -> str:
        if argument.lower() == "all":
            return await self._forget_all(utterance)
        if self._memory.memory is None or not argument:
            return "Write /forget NUMBER (from /memories), or /forget all."
        entry = with_number(await self.entries(utterance.peer), argument)
        if entry is None:
            return _no_single(argument)
        await self._memory.memory.forget([entry.id], subject=utterance.peer)
        return "Forgotten."

    async def _forget_all(self, utterance: Utterance) -> str:
        self._conversations.drop_peer(utterance.peer)
        count = await self._memory.forget_peer(utterance.peer)
        return f"Forgotten: {count} memories and our conversations."

    async def _export(self, _argument: str, utterance: Utterance) -> str:
        if self._memory.memory is None:
            return NO_MEMORY
        lines, left_out = exported(await self.entries(utterance.peer))
        if not lines:
            return "I remember nothing about you."
        note = f"({left_out} older ones do not fit into one message.)"
        return "\n".join([*lines, *([note] if left_out else [])])


HOW = "/correct NUMBER new text corrects one, /forget NUMBER forgets one."


def _no_single(number: str) -> str:
    shown = number if len(number) <= MAX_SHOWN_CHARS else f"{number[:MAX_SHOWN_CHARS]}…"
    return f"There is no single memory {shown!r}: /memories lists them."


MAX_SHOWN_CHARS = 2 * NUMBER_CHARS
