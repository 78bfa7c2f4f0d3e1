"""`/new`, `/memories` and `/forget`: what is remembered about a person, in their own hands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.conversation.memory_numbers import numbered_line, with_number
from spade_llm.memory.store import MemoryFilter, MemoryQuery

if TYPE_CHECKING:
    from spade_llm.behaviour.commands import Commands
    from spade_llm.behaviour.memory import MemoryBehaviour
    from spade_llm.conversation.history import Conversations
    from spade_llm.services.chat import Utterance

LISTED_MEMORIES = 20
FORGETTABLE = 1000
"""Of a person's memories, newest first, those that /forget NUMBER can mean."""


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
            "forget",
            self._forget,
            "/forget NUMBER – forget one of the memories that /memories listed",
            "/forget all – forget everything about you, and this conversation",
        )

    async def _begin_anew(self, _argument: str, utterance: Utterance) -> str:
        await self._memory.close(utterance.conversation)
        self._conversations.drop(utterance.conversation)
        return "A new conversation. What I remember about you stays; /forget all removes it."

    async def _list(self, words: str, utterance: Utterance) -> str:
        if self._memory.memory is None:
            return "I have no memory agent."
        about = MemoryFilter(subject=utterance.peer)
        if words:
            query = MemoryQuery(text=words, which=about, limit=LISTED_MEMORIES)
            entries = [hit.entry for hit in (await self._memory.memory.search(query)).hits]
        else:
            page = await self._memory.memory.list(about, limit=LISTED_MEMORIES)
            entries = list(page.entries)
        if not entries:
            return "I remember nothing about you" + (" with these words." if words else ".")
        lines = map(numbered_line, entries)
        return "\n".join(["What I remember about you:", *lines, "/forget NUMBER forgets one."])

    async def _forget(self, argument: str, utterance: Utterance) -> str:
        if argument.lower() == "all":
            return await self._forget_all(utterance)
        if self._memory.memory is None or not argument:
            return "Write /forget NUMBER (from /memories), or /forget all."
        about = MemoryFilter(subject=utterance.peer)
        page = await self._memory.memory.list(about, limit=FORGETTABLE)
        entry = with_number(page.entries, argument)
        if entry is None:
            return f"There is no single memory {argument!r}: /memories lists them."
        await self._memory.memory.forget([entry.id], subject=utterance.peer)
        return "Forgotten."

    async def _forget_all(self, utterance: Utterance) -> str:
        self._conversations.drop_peer(utterance.peer)
        count = await self._memory.forget_peer(utterance.peer)
        return f"Forgotten: {count} memories and our conversations."
