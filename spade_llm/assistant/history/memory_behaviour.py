"""Memory behaviour: recall before a turn, observe after it, load earlier history, retract.

Observations go through a durable outbox: a turn never waits for memory, and nothing that was
said is lost while memory is away or when this process dies.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.assistant.history.conversation_cache import MAX_MESSAGES, Conversation
from spade_llm.assistant.history.memory_outbox import RETRACTED, OutboxFlusher, QueuedObservation
from spade_llm.assistant.turn.memory_selection import used_memories
from spade_llm.assistant.turn.prompt import user_message
from spade_llm.assistant.turn.recall import MAX_CONCURRENT, SLOT_TIMEOUT_S, Recall, RecallResult
from spade_llm.core.errors import RequestError, ServiceError, StorageFailed
from spade_llm.core.limits import ConcurrencyLimiter
from spade_llm.memory.contract import ObservedMessage, RemovedCounts
from spade_llm.messaging import Encoding
from spade_llm.understanding.clauses import is_off_the_record
from spade_llm.xmpp.spade_adapters import Behaviour

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.history.memory_outbox import MemoryOutbox
    from spade_llm.assistant.turn.turn_options import ContextOptions
    from spade_llm.memory.contract import HistoryStore, OwnedMemory, ScoredMemory
    from spade_llm.providers.model import Embedder
    from spade_llm.rag.contract import Retriever

logger = logging.getLogger(__name__)

DEADLINE_S = 2.0
"""Deadline for all pages together, in seconds; the same as for recall, which runs concurrently."""
PAGE = 200
"""Messages of one request; most of them fit into one answer."""


class HistoryLoader:
    """Loader of a conversation's history from memory and outbox, bounded by MAX_MESSAGES."""

    def __init__(
        self, memory: HistoryStore, outbox: MemoryOutbox, *, deadline_s: float | None = None
    ) -> None:
        """`deadline_s`: time limit of a load in seconds, by default DEADLINE_S."""
        self._memory = memory
        self._outbox = outbox
        self._deadline_s = deadline_s

    async def of(self, conversation: str) -> list[ObservedMessage]:
        """Oldest first; as much as there was time for.

        Raises:
            RequestError, StorageFailed, TimeoutError: not even the newest part could be read.
        """
        # The outbox first: what it hands over meanwhile is found in memory, and known by its id.
        waiting = await self._outbox.of_conversation(conversation, limit=MAX_MESSAGES)
        kept: list[ObservedMessage] = []
        try:
            async with asyncio.timeout(
                DEADLINE_S if self._deadline_s is None else self._deadline_s
            ):
                while page := await self._page(conversation, kept):
                    kept[:0] = page
        except (RequestError, StorageFailed, TimeoutError) as error:
            if not kept:
                raise
            logger.warning(
                "conversation %s: the oldest part of its history could not be loaded: %s",
                conversation,
                error,
            )
        known = {message.id for message in kept}
        said = [*kept, *(message for message in waiting if message.id not in known)]
        retracted = {message.id for message in waiting if message.role == RETRACTED}
        return [message for message in said if message.id not in retracted]

    async def _page(self, conversation: str, kept: list[ObservedMessage]) -> list[ObservedMessage]:
        """Messages before those already loaded; none at the beginning or at the bound."""
        room = MAX_MESSAGES - len(kept)
        if room <= 0:
            return []
        before = kept[0].id if kept else None
        page = await self._memory.history(conversation, limit=min(PAGE, room), before=before)
        # A memory agent of version 0.1.0 does not know `before`, and gives the latest again.
        known = {message.id for message in kept}
        return [message for message in page if message.id not in known]


BATCH_DELAY_S = 0.25
"""Exchanges gather so long before they are handed over: together, and not beside the turn that
they came from."""
FIRST_BACKOFF_S = 0.5
MAX_BACKOFF_S = 10.0
MAX_KEPT_BYTES = 40_000
"""Maximum size of a stored message in bytes: both messages of an exchange fit into one request,
even with the growth by JSON escaping."""
MAX_USED_MEMORIES = 256
"""Ids that wait to be told; beyond, the oldest are not."""
FLUSH_TIMEOUT_S = 5.0
"""Maximum wait in seconds until memory has a person's latest messages; longer than a working memory
agent needs."""
RETRACT_S = 2.0
"""Maximum wait for a retraction, in seconds; the same as for recall, which might otherwise find the
retracted messages."""
IDLE_S = 30.0
"""Interval between checks of an idle outbox, in seconds."""


NotesSource = Callable[[str], Awaitable["Sequence[ScoredMemory]"]]
"""Source of the assistant's own notes about a peer (its bare JID), best first. Raises
StorageFailed."""

OnForget = Callable[[str], Awaitable[None]]
"""Takes a bare JID. Raises RequestError, ServiceError."""

OnClear = Callable[[str], Awaitable[None]]
"""Takes a conversation's key. Raises ServiceError."""

OnUse = Callable[["ChatTurnInput", "Sequence[str]"], Awaitable[None]]
"""Takes what was said, and ids of memories. Must not raise."""

Probe = Callable[[], Awaitable[object]]
"""Availability check of a service agent. Raises RequestError if it is offline."""


class MemoryBehaviour(Behaviour):
    """Access of an assistant to memory and documents. `memory` and `retriever` may be clients or
    local; either may be None.

    `embedder`: computes the vectors of questions for both, see Recall.
    `probes` check the availability of services that are separate agents, by name.
    """

    def __init__(
        self,
        *,
        memory: OwnedMemory | None,
        retriever: Retriever | None,
        outbox: MemoryOutbox,
        embedder: Embedder | None = None,
        probes: Mapping[str, Probe] | None = None,
        notes: NotesSource | None = None,
    ) -> None:
        super().__init__()
        self.memory = memory
        self.on_forget: list[OnForget] = []
        """Callbacks for components that store data about people elsewhere, called with the person
        to forget."""
        self.on_clear: list[OnClear] = []
        """Callbacks for components that store conversation data elsewhere, called with the
        conversation to delete."""
        self.on_use: list[OnUse] = []
        """Told of each exchange with a person which memories its answer used."""
        self._probes = probes or {}
        self._notes = notes
        self._used_ids: deque[str] = deque(maxlen=MAX_USED_MEMORIES)
        self._recall = Recall(memory=memory, retriever=retriever, embedder=embedder)
        self._outbox = outbox
        self._history_loader = HistoryLoader(memory, outbox) if memory is not None else None
        self._load_limiter = ConcurrencyLimiter(MAX_CONCURRENT, name="memory", max_waiting=None)
        self._flusher = OutboxFlusher(memory, outbox) if memory is not None else None
        self._pause_s = FIRST_BACKOFF_S

    async def run(self) -> None:
        """Wait for observations and send them to memory; SPADE calls it again and again."""
        with suppress(TimeoutError):
            async with asyncio.timeout(IDLE_S):
                await self._outbox.has_mail.wait()
        await asyncio.sleep(BATCH_DELAY_S)
        try:
            if self._flusher is not None:
                await self._flusher.all()
            self._pause_s = FIRST_BACKOFF_S
            # May be lost: then a memory fades a little sooner.
            used = tuple(self._used_ids)
            self._used_ids.clear()
            if used and self.memory is not None:
                await self.memory.reviewed(used)
        # SPADE ends a behaviour for ever when run() raises.
        except (RequestError, ServiceError) as error:
            logger.warning(
                "memory is unavailable; observations are delivered again in %.1f s: %s",
                self._pause_s,
                error,
            )
            await asyncio.sleep(self._pause_s)
            self._pause_s = min(self._pause_s * 2, MAX_BACKOFF_S)

    async def recall(
        self, question: str, *, subject: str, with_former: bool = False
    ) -> RecallResult:
        """Recall from memory and documents; the result names services that were unavailable.
        `with_former`: see Recall."""
        recalled = await self._recall.about(question, subject=subject, with_former=with_former)
        # Notes first: the quotation's budget is spent in this order.
        return replace(
            recalled,
            memories=(*await self._noted(subject), *recalled.memories),
            is_dated=self.memory is not None,
        )

    async def recall_wished(
        self, question: str, *, subject: str, context_options: ContextOptions
    ) -> RecallResult:
        """Recall only what the context options select."""
        recalled = await self._recall.wished(
            question, subject=subject, context_options=context_options
        )
        if not context_options.use_memory:
            return recalled
        noted = [
            one
            for one in await self._noted(subject)
            if one.entry.type in context_options.memory_types
        ]
        return replace(recalled, memories=(*noted, *recalled.memories))

    async def _noted(self, peer: str) -> Sequence[ScoredMemory]:
        try:
            return () if self._notes is None else await self._notes(peer)
        except StorageFailed as error:
            logger.warning("notes about %s cannot be read: %s", peer, error)
            return ()

    @property
    def is_away(self) -> bool:
        """True while the circuit breaker skips memory, since it did not answer in time."""
        return self._recall.is_away("memory")

    async def away(self) -> tuple[str, ...]:
        """Names of the services that are unavailable now; the probes run concurrently."""
        are_there = await asyncio.gather(*map(_is_reachable, self._probes.values()))
        return tuple(
            name for name, is_there in zip(self._probes, are_there, strict=True) if not is_there
        )

    async def observe(
        self,
        conversation: Conversation,
        *,
        said: ChatTurnInput,
        question: str,
        answer: str,
        recalled: Sequence[ScoredMemory] = (),
    ) -> None:
        """Store an exchange, verbatim up to MAX_KEPT_BYTES. Idempotent by the turn input's id.

        `recalled` are the memories given to the model; those that the answer used are reported to
        memory afterwards. Nothing is stored for senders without a stable identity: they could not
        view or delete it; nor what its sender wants not to be remembered.
        """
        if said.message.said.is_passing or is_off_the_record(said.text):
            return
        now = datetime.now(UTC)
        asked = _observed(f"{said.id}.user", "user", question, said.at)
        asked = replace(asked, speaker=said.message.said.nick or None)
        answered = _observed(f"{said.id}.assistant", "assistant", answer, now)
        ids = tuple(hit.entry.id for hit in recalled)
        messages = (asked, replace(answered, recalled=ids))
        of_use = used_memories(recalled, question=question, answer=answer)
        # Programs do not react to answers.
        if said.message.encoding is Encoding.PLAIN:
            for note in self.on_use:
                await note(said, of_use)
        if self.memory is not None:
            if not conversation.is_loaded:
                conversation.observed.extend(message.id for message in messages)
            self._used_ids.extend(of_use)
            await self._outbox.put(
                QueuedObservation(conversation=said.kept_in, subject=said.peer, messages=messages)
            )
        else:
            conversation.said.extend(messages)

    async def load(self, conversation: Conversation) -> None:
        """Load the history from before the process start; retried at the next turn if memory is
        unavailable."""
        if conversation.is_loaded or self._history_loader is None:
            return
        try:
            earlier = await self._load_history(conversation.key, self._history_loader)
        except (RequestError, StorageFailed, TimeoutError) as error:
            reason = str(error) or "no answer in time"
            logger.warning(
                "conversation %s: its history could not be loaded: %s", conversation.key, reason
            )
            return
        if not conversation.is_loaded:  # Another turn of it, beside this one, may have been faster.
            _prepend_history(earlier, conversation)

    async def _load_history(self, key: str, earlier: HistoryLoader) -> list[ObservedMessage]:
        """Raises as `HistoryLoader.of`; TimeoutError also if memory has no time for it."""
        waits = self._load_limiter.is_full
        async with self._load_limiter.slot_within(SLOT_TIMEOUT_S) as has_place:
            # Those in front have found memory away: nobody waits for that behind them.
            if not has_place or (waits and self._recall.is_away("memory")):
                raise TimeoutError
            return await earlier.of(key)

    async def retract(self, conversation: Conversation, turn_id: str) -> None:
        """Retract an exchange that its sender has corrected. Waits for memory, up to RETRACT_S."""
        ids = (f"{turn_id}.user", f"{turn_id}.assistant")
        if self.memory is None or self._flusher is None:
            conversation.unsay(ids)
            return
        now = datetime.now(UTC)
        messages = tuple(_observed(id, RETRACTED, "", now) for id in ids)
        taken_back = QueuedObservation(
            conversation=conversation.key, subject=conversation.peer, messages=messages
        )
        try:
            # Through the outbox, behind the exchange itself: not lost while memory is away.
            await self._outbox.put(taken_back)
            async with asyncio.timeout(RETRACT_S):
                await self._flusher.of(conversation.key)
        except (RequestError, ServiceError, TimeoutError) as error:
            logger.warning("conversation %s: a retraction is pending: %s", conversation.key, error)

    async def close(self, conversation: str) -> None:
        """Close a conversation, so that the next message starts a new one. Raises RequestError,
        ServiceError: then it continues."""
        if self.memory is not None and self._flusher is not None:
            await self._flusher.of(conversation)
            await self.memory.close_conversation(conversation)

    async def hand_over(self, peer: str) -> None:
        """Flush the outbox for this bare JID: on return, memory has all its messages.

        Raises RequestError, ServiceError, TimeoutError: memory is unavailable.
        """
        if self._flusher is not None:
            async with asyncio.timeout(FLUSH_TIMEOUT_S):
                await self._flusher.about(peer)

    async def forget_peer(self, peer: str) -> int:
        """Remove everything about a person, here and in memory, and return the number of memories.

        Raises RequestError, ServiceError.
        """
        return sum((await self.clear_peer(peer)).by_type.values())

    async def clear_peer(self, peer: str) -> RemovedCounts:
        """Forget a person; returns the counts of what was removed."""
        async with self._delivery_paused():
            # Paused: what is on its way to memory would come back after the deletion.
            await self._outbox.forget(peer)
            for forget in self.on_forget:
                await forget(peer)
            return (
                _NOTHING_RECALLED if self.memory is None else await self.memory.clear_subject(peer)
            )

    async def clear_conversation(self, key: str) -> RemovedCounts:
        """Remove the messages and memories of a conversation. Raises RequestError, ServiceError."""
        async with self._delivery_paused():
            gone = (
                _NOTHING_RECALLED if self.memory is None else await self.memory.forget_session(key)
            )
            await self._outbox.forget_conversations([key])
            return gone

    async def clear_messages(self, keys: Sequence[str]) -> int:
        """Remove the messages of these conversations, not the memories; return how many messages
        memory had. Raises RequestError, ServiceError."""
        async with self._delivery_paused():
            count = 0 if self.memory is None else await self.memory.clear_messages(keys)
            await self._outbox.forget_conversations(keys)
            return count

    async def clear_here(self, key: str) -> None:
        """Remove what other components keep of a conversation. Raises ServiceError."""
        for clear in self.on_clear:
            await clear(key)

    def _delivery_paused(self) -> AbstractAsyncContextManager[object]:
        return nullcontext() if self._flusher is None else self._flusher.paused()


_NOTHING_RECALLED = RemovedCounts(messages=0, by_type={})


async def _is_reachable(probe: Probe) -> bool:
    try:
        await probe()
    except RequestError:
        return False
    return True


def _observed(id: str, role: str, text: str, at: datetime) -> ObservedMessage:
    # "ignore" drops a character that the cut went through.
    kept = text.encode()[:MAX_KEPT_BYTES].decode(errors="ignore")
    note = f"\n[{len(text) - len(kept)} characters were cut]" if len(kept) < len(text) else ""
    return ObservedMessage(id=id, role=role, content=kept + note, at=at)


def _prepend_history(earlier: Sequence[ObservedMessage], conversation: Conversation) -> None:
    """Insert the loaded history before the messages in RAM. Exchanges from a memory outage are
    taken from RAM, where they are complete: memory stores no tool calls."""
    conversation.is_loaded = True
    if earlier and not conversation.messages:
        conversation.last_turn = earlier[-1].id.rpartition(".")[0]
    said_meanwhile, known = tuple(conversation.messages), frozenset(conversation.observed)
    conversation.messages.clear()
    for one in earlier:
        if one.id not in known and one.role == "user":
            peer = one.speaker or conversation.peer
            conversation.extend([user_message(one.content, peer=peer)])
        elif one.id not in known:
            conversation.extend([{"role": "assistant", "content": one.content}])
    conversation.extend(said_meanwhile)
    conversation.observed.clear()
