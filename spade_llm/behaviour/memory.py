"""MemoryBehaviour: recall before a turn, observe after it; memory and documents by messages.

Observations go through a durable outbox: a turn never waits for memory, and nothing that was
said is lost while memory is away or when this process dies.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.conversation.chosen import used
from spade_llm.conversation.outbox import Observation
from spade_llm.conversation.prompt import user_message
from spade_llm.conversation.recall import Recall, Recalled
from spade_llm.errors import (
    Busy,
    DeadlinePassed,
    Refusal,
    RequestError,
    RequestNotUnderstood,
    RequestRefused,
    ServiceError,
    StorageFailed,
)
from spade_llm.memory.store import ObservedMessage
from spade_llm.xmpp.behaviour import Behaviour

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.conversation.history import Conversation
    from spade_llm.conversation.outbox import Outbox
    from spade_llm.memory.backend import OwnedMemory
    from spade_llm.memory.store import ScoredMemory
    from spade_llm.providers.messages import ContextMessage
    from spade_llm.rag.retriever import Retriever

logger = logging.getLogger(__name__)

LOAD_DEADLINE_S = 2.0
LOADED_MESSAGES = 100
GATHER_S = 0.25
"""Exchanges gather so long before they are handed over: together, and not beside the turn that
they came from."""
MAX_GROUP_BYTES = 96 * 1024
FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 10.0
MAX_KEPT_BYTES = 40_000
"""Of one message: both of an exchange fit into one request, also when they grow as JSON."""
MAX_OF_USE = 256
"""Ids that wait to be told; beyond, the oldest are not."""
IDLE_S = 30.0
"""How often an idle outbox is looked at again."""


Probe = Callable[[], Awaitable[object]]
"""Raises RequestError where somebody is away."""


class MemoryBehaviour(Behaviour):
    """`memory` and `retriever` may be clients or local; either may be None.

    `probes` ask those who are agents of their own, by name, whether they are there.
    """

    def __init__(
        self,
        *,
        memory: OwnedMemory | None,
        retriever: Retriever | None,
        outbox: Outbox,
        probes: Mapping[str, Probe] | None = None,
    ) -> None:
        super().__init__()
        self.memory = memory
        self._probes = probes or {}
        self._of_use: deque[str] = deque(maxlen=MAX_OF_USE)
        self._recall = Recall(memory=memory, retriever=retriever)
        self._outbox = outbox
        self._pause_s = FIRST_PAUSE_S

    async def run(self) -> None:
        """Hand what has gathered to memory, as often as it takes."""
        await self._wait_for_mail()
        await asyncio.sleep(GATHER_S)
        try:
            await self._hand_over()
            await self._tell_of_use()
        except (RequestError, ServiceError) as error:
            await self._pause(error)

    async def recall(self, question: str, *, subject: str) -> Recalled:
        """What memory and documents say; names those that could not be asked."""
        return await self._recall.about(question, subject=subject)

    async def away(self) -> tuple[str, ...]:
        """Who cannot be reached now, asked side by side."""
        are_there = await asyncio.gather(*map(_is_there, self._probes.values()))
        return tuple(
            name for name, is_there in zip(self._probes, are_there, strict=True) if not is_there
        )

    async def observe(
        self,
        conversation: Conversation,
        *,
        turn_id: str,
        question: str,
        answer: str,
        recalled: Sequence[ScoredMemory] = (),
    ) -> None:
        """Keep one exchange, verbatim up to MAX_KEPT_BYTES. Idempotent by `turn_id`.

        `recalled` is what the answer was written with; what of it was of use is told to memory
        after the exchange.
        """
        now = datetime.now(UTC)
        asked = _observed(f"{turn_id}.user", "user", question, now)
        answered = _observed(f"{turn_id}.assistant", "assistant", answer, now)
        ids = tuple(hit.entry.id for hit in recalled)
        messages = (asked, replace(answered, recalled=ids))
        if self.memory is not None:
            self._of_use.extend(used(recalled, question=question, answer=answer))
            await self._outbox.put(
                Observation(
                    conversation=conversation.key, subject=conversation.peer, messages=messages
                )
            )

    async def load(self, conversation: Conversation) -> None:
        """What was said before this process began; tried again next time if memory is away."""
        if conversation.is_loaded or self.memory is None:
            return
        try:
            async with asyncio.timeout(LOAD_DEADLINE_S):
                earlier = await self.memory.history(conversation.key, limit=LOADED_MESSAGES)
                waiting = await self._outbox.of_conversation(conversation.key)
        except (RequestError, StorageFailed, TimeoutError) as error:
            logger.warning("conversation %s could not be loaded: %s", conversation.key, error)
            return
        known = {message.id for message in earlier}
        unknown = [message for message in waiting if message.id not in known]
        conversation.is_loaded = True
        said_meanwhile = tuple(conversation.messages)
        conversation.messages.clear()
        conversation.extend(_message(one, peer=conversation.peer) for one in (*earlier, *unknown))
        conversation.extend(said_meanwhile)

    async def forget_peer(self, peer: str) -> int:
        """Forget a person: what waits here, and all that memory has. Raises RequestError."""
        await self._outbox.forget(peer)
        return 0 if self.memory is None else await self.memory.forget_subject(peer)

    async def _wait_for_mail(self) -> None:
        try:
            async with asyncio.timeout(IDLE_S):
                await self._outbox.has_mail.wait()
        except TimeoutError:
            return

    async def _hand_over(self) -> None:
        """All conversations side by side; each in its order, several exchanges at once."""
        groups = _by_conversation(await self._outbox.oldest())
        outcomes = await asyncio.gather(*map(self._deliver, groups), return_exceptions=True)
        for outcome in outcomes:
            if outcome is not None:
                raise outcome
        self._pause_s = FIRST_PAUSE_S

    async def _tell_of_use(self) -> None:
        """May be lost: then a memory fades a little sooner."""
        ids = tuple(self._of_use)
        self._of_use.clear()
        if ids and self.memory is not None:
            await self.memory.reviewed(ids)

    async def _deliver(self, group: Sequence[Observation]) -> None:
        try:
            await self._observe(group)
        except (RequestRefused, RequestNotUnderstood, Refusal) as error:
            if _is_worth_another_try(error):
                raise
            if len(group) > 1:
                for observation in group:
                    await self._deliver([observation])
                return
            logger.error("an observation cannot be kept, and is given up: %s", error)
        await self._outbox.done(group)

    async def _observe(self, group: Sequence[Observation]) -> None:
        if self.memory is not None:
            messages = [message for observation in group for message in observation.messages]
            first = group[0]
            await self.memory.observe(first.conversation, messages, subject=first.subject)

    async def _pause(self, error: Exception) -> None:
        logger.warning("observations wait %.1f s for memory: %s", self._pause_s, error)
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(self._pause_s * 2, MAX_PAUSE_S)


async def _is_there(probe: Probe) -> bool:
    try:
        await probe()
    except RequestError:
        return False
    return True


def _by_conversation(observations: Sequence[Observation]) -> list[list[Observation]]:
    """Groups that fit into one message each; of one conversation only the first group, so that
    its order is kept."""
    groups: dict[str, list[Observation]] = {}
    full: set[str] = set()
    for observation in observations:
        group = groups.setdefault(observation.conversation, [])
        if group and _size([*group, observation]) > MAX_GROUP_BYTES:
            full.add(observation.conversation)
        if observation.conversation not in full:
            group.append(observation)
    return list(groups.values())


def _size(group: Sequence[Observation]) -> int:
    """Bytes as JSON at the most: a character may become six."""
    texts = (message.content for observation in group for message in observation.messages)
    return sum(2 * len(text.encode()) + 200 for text in texts)


def _is_worth_another_try(error: RequestError | ServiceError) -> bool:
    """True where memory did not look at what is to be kept."""
    code = error.wire_code if isinstance(error, RequestError) else error.code
    return code in (Busy.code, DeadlinePassed.code)


def _observed(id: str, role: str, text: str, at: datetime) -> ObservedMessage:
    kept = text.encode()[:MAX_KEPT_BYTES].decode(errors="ignore")
    note = f"\n[{len(text) - len(kept)} characters were cut]" if len(kept) < len(text) else ""
    return ObservedMessage(id=id, role=role, content=kept + note, at=at)


def _message(observed: ObservedMessage, *, peer: str) -> ContextMessage:
    if observed.role == "user":
        return user_message(observed.content, peer=peer)
    return {"role": "assistant", "content": observed.content}
