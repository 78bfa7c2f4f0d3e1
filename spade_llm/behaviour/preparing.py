"""PreparingBehaviour: gives a context strategy its time, before the turns and between them.

Knows no strategy. A strategy that gets none still works (docs/design/context.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.conversation.recorder import phase
from spade_llm.errors import ModelError
from spade_llm.guardrails.others_code import given_by
from spade_llm.xmpp.behaviour import Behaviour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.context import ContextManagement
    from spade_llm.conversation.history import Conversation
    from spade_llm.providers.messages import ContextMessage

logger = logging.getLogger(__name__)

PREPARE_DEADLINE_S = 0.5
AHEAD_DEADLINE_S = 120.0
"""For one conversation, between its turns: it may ask a model."""
GRACE_S = 2.0
"""Beyond a deadline: who has not let itself be ended by then is left behind."""
MAX_WAITING = 1000
"""Conversations; the one that waited longest is given up, and comes again with its next turn."""
IDLE_S = 30.0

Billing = Callable[[str], AbstractContextManager[None]]
"""Around work for the peer with this bare JID: what models cost inside is theirs."""


class PreparingBehaviour(Behaviour):
    """One conversation after another: what is worked out ahead is in nobody's way."""

    def __init__(self, billing: Billing | None = None) -> None:
        super().__init__()
        self._billing = billing
        self._waiting: dict[str, tuple[ContextManagement, Conversation]] = {}
        self._has_work = asyncio.Event()

    async def prepare(
        self, strategy: ContextManagement, key: str, messages: Sequence[ContextMessage]
    ) -> None:
        """Before a turn; what it could not do in time is done in `run`. A strategy may be somebody
        else's: whatever it raises costs nobody the answer."""
        with phase("prepare"):
            if not strategy.has_preparations:
                return  # A timer over nothing: among hundreds of turns it runs out all the same.
            await given_by(
                partial(_prepared, strategy, key, messages),
                timeout_s=PREPARE_DEADLINE_S + GRACE_S,
                what=f"conversation {key}: preparing its context",
            )

    def work_ahead(self, strategy: ContextManagement, conversation: Conversation) -> None:
        """After a turn: soon, and once however many turns there were by then."""
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
            await given_by(
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
            await strategy.work_ahead(tuple(conversation.messages))
    except (ModelError, TimeoutError) as error:
        key = conversation.key
        logger.warning("conversation %s: nothing was worked out ahead: %s", key, error)
