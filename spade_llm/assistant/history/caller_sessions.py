"""Sessions of one person: history, search, context, correction, and deletion of conversations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.messages import ONTOLOGY
from spade_llm.assistant.commands.command_registry import STOP_S
from spade_llm.assistant.history.conversation_cache import conversation_key_for, thread_of_key
from spade_llm.assistant.history.remote_sessions import MAX_SESSIONS, CallerSessions, Language
from spade_llm.core.errors import Busy, NotConfigured, NotFound
from spade_llm.core.text import estimate_tokens
from spade_llm.memory import validation
from spade_llm.memory.contract import MemoryChange, MemoryPage, RemovedCounts
from spade_llm.memory.retrieval import retrieve_memory
from spade_llm.memory.sessions import (
    MAX_MESSAGES,
    MAX_TOKENS,
    MIN_TOKENS,
    SessionCounts,
    SessionHistory,
    build_context,
    search_sessions,
    session_context,
    session_counts,
    session_history,
    session_statistics,
)
from spade_llm.messaging import CHAT_TEXT, Dispatcher
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, MemoryType, SearchMode

if TYPE_CHECKING:
    from spade_llm.assistant.history.conversation_cache import (
        Conversation,
        ConversationCache,
        ConversationLocks,
    )
    from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
    from spade_llm.memory.contract import MemoryEntry, ObservedMessage, OwnedMemory
    from spade_llm.memory.sessions import SessionContext, SessionSearch

NO_MEMORY = "this assistant has no memory agent (`memory` in its agent.toml): it remembers nothing"


def sessions_for(peer: str, clearing: ConversationDeletion) -> CallerSessions:
    """Sessions of a bare JID, stored or in RAM."""
    if clearing.memory.memory is None:
        return InMemorySessions(peer, clearing)
    return StoredSessions(peer, clearing, clearing.memory.memory)


class ClearableSessions:
    """Deletion of sessions, with or without a memory.

    Raises (all methods, including subclasses) RequestError, ServiceError, TimeoutError.
    """

    def __init__(self, peer: str, clearing: ConversationDeletion) -> None:
        self._peer = peer
        self._clearing = clearing

    async def clear(self, session: str) -> SessionCounts:
        validation.check_name("session_id", session)
        cleared = await self._clearing.session(self._peer, session)
        return session_counts(session, cleared.messages, cleared.by_type)

    async def clear_messages(self, sessions: Sequence[str]) -> int:
        validation.check_number("sessions", len(sessions), 0, MAX_SESSIONS)
        for session in sessions:
            validation.check_name("sessions", session)
        return await self._clearing.messages(self._peer, sessions)

    async def forget_everything(self) -> RemovedCounts:
        return await self._clearing.everything(self._peer)


class StoredSessions(ClearableSessions):
    """Sessions of an assistant with a memory."""

    def __init__(self, peer: str, clearing: ConversationDeletion, memory: OwnedMemory) -> None:
        super().__init__(peer, clearing)
        self._memory = memory

    async def history(
        self, session: str, *, limit: int = 50, before: str | None = None
    ) -> SessionHistory:
        place = await self._read(session)
        history = await session_history(self._memory, place, limit=limit, before=before)
        return replace(history, session_id=session)

    async def stats(self, session: str) -> SessionCounts:
        counts = await session_statistics(self._memory, await self._read(session))
        return replace(counts, session_id=session)

    async def context(
        self,
        session: str,
        *,
        max_tokens: int = 2000,
        types: Sequence[MemoryType] = tuple(MemoryType),
        language: Language = "es",
    ) -> SessionContext:
        context = await session_context(
            self._memory,
            await self._read(session),
            max_tokens=max_tokens,
            types=types,
            subject=self._peer,
            language=language,
        )
        return replace(context, session_id=session)

    async def search(
        self, query: str, *, top_k: int = 5, session: str | None = None
    ) -> SessionSearch:
        place = await self._read_any(session)
        found = await search_sessions(
            self._memory,
            query,
            top_k=top_k,
            session=place,
            subject=self._peer,
            with_messages=True,
        )
        named = (replace(one, session_id=self._thread(one.session_id)) for one in found.results)
        return replace(found, results=tuple(named))

    async def retrieve(self, query: str, *, limit: int = 5, detail_limit: int | None = None) -> str:
        await self._settle()
        return await retrieve_memory(
            self._memory,
            query,
            limit=limit,
            detail_limit=detail_limit,
            which=MemoryFilter(subject=self._peer),
            with_messages=True,
        )

    async def memories(
        self,
        *,
        types: Sequence[MemoryType] = (),
        text: str = "",
        session: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> MemoryPage:
        place = await self._read_any(session)
        which = MemoryFilter(
            subject=self._peer, types=tuple(types), session=place, with_invalid=True
        )
        if text:
            page = await self._found(text, which, limit=limit, offset=offset)
        else:
            page = await self._memory.list(which, limit=limit, offset=offset)
        return replace(page, entries=tuple(map(self._named, page.entries)))

    async def correct(self, id: str, content: str) -> MemoryEntry:
        # Another person's id gets the words of an unknown one.
        if not [one for one in await self._memory.peek([id]) if one.subject == self._peer]:
            raise NotFound(f"id: there is no memory {id[:64]!r}")
        return self._named(await self._memory.update(MemoryChange(id=id, content=content)))

    async def forget(self, ids: Sequence[str]) -> int:
        return await self._memory.forget(ids, subject=self._peer)

    async def _found(
        self, text: str, which: MemoryFilter, *, limit: int, offset: int
    ) -> MemoryPage:
        """Search for one result more than requested: `total` shows if there is a next page."""
        validation.check_number("limit", limit, 1, validation.MAX_ROWS)
        validation.check_number("offset", offset, 0, validation.MAX_OFFSET)
        most = min(offset + limit + 1, validation.MAX_ROWS)
        query = MemoryQuery(
            text=text, mode=SearchMode.RECALL, limit=most, which=which, with_messages=True
        )
        found = await self._memory.search(query)
        entries = [hit.entry for hit in found.hits]
        return MemoryPage(
            entries=tuple(entries[offset : offset + limit]), total=len(entries) + found.left_out
        )

    async def _read(self, session: str) -> str:
        """Flush the outbox and return the session's conversation key."""
        validation.check_name("session_id", session)
        await self._settle()
        return conversation_key_for(self._peer, session)

    async def _read_any(self, session: str | None) -> str | None:
        """Flush the outbox and return the conversation key; None selects all sessions."""
        if session is not None:
            return await self._read(session)
        await self._settle()
        return None

    async def _settle(self) -> None:
        # What was said a moment ago is still in the outbox.
        await self._clearing.memory.hand_over(self._peer)

    def _named(self, entry: MemoryEntry) -> MemoryEntry:
        return replace(entry, session=self._thread(entry.session))

    def _thread(self, place: str | None) -> str | None:
        return thread_of_key(place, of=self._peer)


class InMemorySessions(ClearableSessions):
    """Sessions of an assistant without memory: messages since the process start, no memories."""

    async def history(
        self, session: str, *, limit: int = 50, before: str | None = None
    ) -> SessionHistory:
        validation.check_number("limit", limit, 1, MAX_MESSAGES)
        said = self._said(session)
        ids = [message.id for message in said]
        end = len(said) if before is None else (ids.index(before) if before in ids else 0)
        latest = tuple(said[:end][-limit:])
        return SessionHistory(session_id=session, messages=latest, total_count=len(said))

    async def stats(self, session: str) -> SessionCounts:
        said = self._said(session)
        tokens = estimate_tokens("".join(message.content for message in said))
        return SessionCounts(session_id=session, messages=len(said), tokens=tokens)

    async def context(
        self,
        session: str,
        *,
        max_tokens: int = 2000,
        types: Sequence[MemoryType] = tuple(MemoryType),
        language: Language = "es",
    ) -> SessionContext:
        validation.check_number("max_tokens", max_tokens, MIN_TOKENS, MAX_TOKENS)
        said = self._said(session)
        return build_context(session, said, {}, max_tokens=max_tokens, language=language)

    async def search(
        self, query: str, *, top_k: int = 5, session: str | None = None
    ) -> SessionSearch:
        raise _nothing()

    async def retrieve(self, query: str, *, limit: int = 5, detail_limit: int | None = None) -> str:
        raise _nothing()

    async def memories(
        self,
        *,
        types: Sequence[MemoryType] = (),
        text: str = "",
        session: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> MemoryPage:
        raise _nothing()

    async def correct(self, id: str, content: str) -> MemoryEntry:
        raise _nothing()

    async def forget(self, ids: Sequence[str]) -> int:
        raise _nothing()

    def _said(self, session: str) -> list[ObservedMessage]:
        validation.check_name("session_id", session)
        found = self._clearing.conversations.at(conversation_key_for(self._peer, session))
        return list(found.said) if found else []


def _nothing() -> NotConfigured:
    return NotConfigured(NO_MEMORY)


TURN_ONTOLOGIES = (CHAT_TEXT, ONTOLOGY)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationDeletion:
    """Deletion of conversations, with running turns stopped. Peers are bare JIDs, sessions their
    threads. Raises RequestError, ServiceError, TimeoutError; Busy where something that runs does
    not let itself be stopped."""

    dispatcher: Dispatcher
    conversations: ConversationCache
    locks: ConversationLocks
    memory: MemoryBehaviour

    async def session(self, peer: str, session: str) -> RemovedCounts:
        """Delete the messages and memories of a session."""
        place = conversation_key_for(peer, session)
        async with self._stopped(peer, [session]):
            await self.memory.hand_over(peer)
            gone = await self.memory.clear_conversation(place)
            gone = (
                gone if self.memory.memory else _conversation_keys([self.conversations.at(place)])
            )
            await self._clear_here(peer, [session])
        return gone

    async def messages(self, peer: str, sessions: Sequence[str]) -> int:
        """Delete only the messages of these sessions, and return their number."""
        places = [conversation_key_for(peer, session) for session in sessions]
        async with self._stopped(peer, sessions):
            await self.memory.hand_over(peer)
            here = _conversation_keys([self.conversations.at(place) for place in places]).messages
            count = await self.memory.clear_messages(places)
            await self._clear_here(peer, sessions)
        return count if self.memory.memory else here

    async def everything(self, peer: str) -> RemovedCounts:
        """All conversations, and all that is remembered of the peer."""
        async with self._stopped(peer, None):
            await self.memory.hand_over(peer)
            gone = await self.memory.clear_peer(peer)
            gone = (
                gone if self.memory.memory else _conversation_keys(self.conversations.of_peer(peer))
            )
            self.conversations.drop_peer(peer)
        return gone

    async def _clear_here(self, peer: str, sessions: Sequence[str]) -> None:
        for session in sessions:
            place = conversation_key_for(peer, session)
            self.conversations.drop(place)
            await self.memory.clear_here(place)
        await self.dispatcher.scrub_asked(peer, sessions)

    @asynccontextmanager
    async def _stopped(self, peer: str, sessions: Sequence[str] | None) -> AsyncIterator[None]:
        """Block the turns of these sessions (None: of all) within the block."""
        names = (
            [peer] if sessions is None else [conversation_key_for(peer, one) for one in sessions]
        )
        # Held before the stop: no new turn can begin and write again what is deleted.
        async with self.locks.hold(names):
            for session in [None] if sessions is None else sessions:
                stopped = self.dispatcher.stop(peer, session, TURN_ONTOLOGIES)
                if not await stopped.has_ended(timeout_s=STOP_S):
                    raise Busy("a running answer could not be stopped; try again later")
            yield


def _conversation_keys(conversations: Collection[Conversation | None]) -> RemovedCounts:
    return RemovedCounts(messages=sum(len(one.said) for one in conversations if one), by_type={})
