"""Conversation end middleware: ends a conversation on request or after a number of answers.

TerminationMarkers detects the markers.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.assistant.middleware.chain import TurnOutcome
from spade_llm.assistant.turn.tool_loop import TurnResult
from spade_llm.core.errors import ConversationEnded
from spade_llm.guardrails.guardrail import call_user_code
from spade_llm.messaging import CHAT_TEXT, Encoding

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.history.conversations import Conversation
    from spade_llm.assistant.middleware.chain import CallNext

logger = logging.getLogger(__name__)

COMPLETED = "completed"
"""The model ended a reply with a termination marker."""
MAX_INTERACTIONS = "max_interactions_reached"
CALLBACK_TIMEOUT_S = 5.0
"""Maximum time that an answer is delayed by `on_conversation_end`, in seconds."""
ENDED_TEXT = "This conversation is over. /new begins another one."


class ConversationEndMiddleware:
    """Turn middleware that ends conversations. Later messages do not reach the model until the
    conversation is started anew."""

    def __init__(
        self,
        *,
        max_interactions: int | None = None,
        on_end: Callable[[str, str], Awaitable[None] | None] | None = None,
        goes_on: bool = False,
    ) -> None:
        """`goes_on`: the model's word ends what was asked, not the conversation."""
        self._goes_on = goes_on
        self._max_interactions = max_interactions
        self._on_end = on_end

    async def __call__(
        self, utterance: ChatTurnInput, conversation: Conversation, proceed: CallNext
    ) -> TurnOutcome:
        if conversation.ended:
            return _ended_outcome(utterance, conversation)
        outcome = await proceed(utterance)
        if outcome.is_kept and not outcome.result.is_apology:
            conversation.interactions += 1
            try:
                await self._end(conversation, self._reason(conversation, outcome.result))
            except asyncio.CancelledError:
                conversation.ended = ""  # Who stopped it never got the last answer.
                raise
        return outcome

    def _reason(self, conversation: Conversation, result: TurnResult) -> str:
        """Empty: it goes on."""
        if result.is_last:
            return COMPLETED
        limit = self._max_interactions
        return MAX_INTERACTIONS if limit and conversation.interactions >= limit else ""

    async def _end(self, conversation: Conversation, reason: str) -> None:
        if not reason:
            return
        if self._goes_on and reason == COMPLETED:
            conversation.begin_anew()
        else:
            conversation.ended = reason
        logger.info("conversation %s is over: %s", conversation.key, reason)
        if self._on_end is not None:
            tell = partial(self._on_end, conversation.key, reason)
            await call_user_code(tell, timeout_s=CALLBACK_TIMEOUT_S, what="on_conversation_end")


def _ended_outcome(utterance: ChatTurnInput, conversation: Conversation) -> TurnOutcome:
    """A program's request is refused. A plain SPADE agent is told once: two that answer each other
    would tell each other for ever."""
    message = utterance.message
    if message.ontology != CHAT_TEXT:
        raise ConversationEnded("this conversation is over: /new begins another one")
    is_told = message.encoding is Encoding.FORM and conversation.is_told_over
    conversation.is_told_over = True
    result = TurnResult(text=ENDED_TEXT)
    return TurnOutcome(
        question=utterance.text, result=result, is_kept=False, is_for_asker=not is_told
    )
