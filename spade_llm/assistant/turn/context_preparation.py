"""Context preparation: runs the context strategy before and between turns; caches token counts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.assistant.turn.turn_recorder import record_phase
from spade_llm.context import ContextManagement, counter_for
from spade_llm.context.token_counter import CachedTokenCounter
from spade_llm.core.errors import ModelError
from spade_llm.guardrails.guardrail import call_user_code
from spade_llm.xmpp.spade_adapters import Behaviour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.assistant.history.conversations import Conversation
    from spade_llm.providers.messages import ContextMessage

logger = logging.getLogger(__name__)

PREPARE_DEADLINE_S = 0.5
AHEAD_DEADLINE_S = 120.0
"""Deadline for the work on one conversation between its turns, in seconds; it may call a model."""
GRACE_S = 2.0
"""Grace period after a deadline, in seconds; code that does not end when cancelled is abandoned
then."""
MAX_WAITING = 1000
"""Conversations; the one that waited longest is given up, and comes again with its next turn."""
IDLE_S = 30.0

BillingScope = Callable[[str], AbstractContextManager[None]]
"""Around work for the peer with this bare JID: what models cost inside is theirs."""


class ContextPreparationBehaviour(Behaviour):
    """Background preparation of contexts, one conversation at a time, outside turns."""

    def __init__(self, billing: BillingScope | None = None) -> None:
        super().__init__()
        self._billing = billing
        self._waiting: dict[str, tuple[ContextManagement, Conversation]] = {}
        self._has_work = asyncio.Event()

    async def prepare(
        self, strategy: ContextManagement, key: str, messages: Sequence[ContextMessage]
    ) -> None:
        """Prepare a turn's context, within a deadline; unfinished work continues in `run`. An
        exception of a custom strategy does not prevent the answer."""
        with record_phase("prepare"):
            if not strategy.has_preparations:
                return  # A timer over nothing: among hundreds of turns it runs out all the same.
            await call_user_code(
                partial(_prepared, strategy, key, messages),
                timeout_s=PREPARE_DEADLINE_S + GRACE_S,
                what=f"conversation {key}: preparing its context",
            )

    def work_ahead(self, strategy: ContextManagement, conversation: Conversation) -> None:
        """Schedule work on a conversation after a turn; several turns before it runs cause one
        run."""
        if not strategy.has_preparations:
            return
        self._waiting[conversation.key] = (strategy, conversation)
        if len(self._waiting) > MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._has_work.set()

    async def run(self) -> None:
        await self._wait()
        if not self._waiting:
            return
        key = next(iter(self._waiting))
        strategy, conversation = self._waiting.pop(key)
        billed = self._billing(conversation.peer) if self._billing else nullcontext()
        with billed:
            await call_user_code(
                partial(_worked_ahead, strategy, conversation),
                timeout_s=AHEAD_DEADLINE_S + GRACE_S,
                what=f"conversation {key}: working ahead",
            )

    async def _wait(self) -> None:
        if self._waiting:
            return
        self._has_work.clear()
        try:
            async with asyncio.timeout(IDLE_S):
                await self._has_work.wait()
        except TimeoutError:
            return


async def _prepared(
    strategy: ContextManagement, key: str, messages: Sequence[ContextMessage]
) -> None:
    try:
        async with asyncio.timeout(PREPARE_DEADLINE_S):
            await strategy.prepare(messages)
    except TimeoutError:
        logger.info("conversation %s: its context is not prepared yet", key)


async def _worked_ahead(strategy: ContextManagement, conversation: Conversation) -> None:
    try:
        async with asyncio.timeout(AHEAD_DEADLINE_S):
            # A copy: a turn may extend the deque meanwhile.
            await strategy.work_ahead(tuple(conversation.messages))
    except (ModelError, TimeoutError) as error:
        key = conversation.key
        logger.warning("conversation %s: nothing was worked out ahead: %s", key, error)


class TokenCounterCache:
    """Token counter of an assistant, created for its first model and kept if a fallback changes the
    model's name."""

    def __init__(self) -> None:
        self._first: asyncio.Future[Callable[[str], int]] | None = None

    async def count_for(self, model: str) -> Callable[[str], int]:
        """Exact where the table is at hand; else an estimate on the large side."""
        if self._first is None:
            self._first = asyncio.ensure_future(asyncio.to_thread(_count_for, model))
        # Shielded: other turns need the counter when this one is stopped.
        return await asyncio.shield(self._first)


def _count_for(model: str) -> Callable[[str], int]:
    """Most lines of a turn stood in the one before."""
    return CachedTokenCounter(counter_for(model)).text
