"""Conversation end middleware: maximum number of answers, and termination markers of the model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.assistant.turn.tool_loop import TurnResult
from spade_llm.assistant.turn.turn import CallNext, TurnOutcome
from spade_llm.core.errors import ConversationEnded
from spade_llm.guardrails.guardrail import call_user_code
from spade_llm.messaging import CHAT_TEXT, Encoding

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.history.conversation_cache import Conversation
    from spade_llm.assistant.turn.turn_options import OnDelta

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
        self, turn_input: ChatTurnInput, conversation: Conversation, call_next: CallNext
    ) -> TurnOutcome:
        if conversation.ended:
            return _ended_outcome(turn_input, conversation)
        outcome = await call_next(turn_input)
        # Apologies and refusals do not count as answers.
        if outcome.is_kept and not outcome.result.is_apology:
            conversation.interactions += 1
            limit = self._max_interactions
            try:
                if outcome.result.is_last:
                    await self._end(conversation, COMPLETED)
                elif limit and conversation.interactions >= limit:
                    await self._end(conversation, MAX_INTERACTIONS)
            except asyncio.CancelledError:
                conversation.ended = ""  # Who stopped it never got the last answer.
                raise
        return outcome

    async def _end(self, conversation: Conversation, reason: str) -> None:
        if self._goes_on and reason == COMPLETED:
            conversation.begin_anew()
        else:
            conversation.ended = reason
        logger.info("conversation %s is over: %s", conversation.key, reason)
        if self._on_end is not None:
            tell = partial(self._on_end, conversation.key, reason)
            await call_user_code(tell, timeout_s=CALLBACK_TIMEOUT_S, what="on_conversation_end")


def _ended_outcome(turn_input: ChatTurnInput, conversation: Conversation) -> TurnOutcome:
    """A program's request is refused. A plain SPADE agent is told once: two that answer each other
    would tell each other for ever."""
    message = turn_input.message
    if message.ontology != CHAT_TEXT:
        raise ConversationEnded("this conversation is over: /new begins another one")
    is_told = message.encoding is Encoding.FORM and conversation.is_told_over
    conversation.is_told_over = True
    result = TurnResult(text=ENDED_TEXT)
    return TurnOutcome(
        question=turn_input.text, result=result, is_kept=False, is_for_asker=not is_told
    )


FAREWELL = "(This conversation is over.)"
"""Reply that replaces an answer consisting only of a marker."""


class TerminationMarkers:
    """Turn middleware that removes termination markers from the answer and ends the conversation.

    It is the innermost one, so that the others never see a marker, streamed or whole.
    """

    def __init__(self, markers: Iterable[str]) -> None:
        self._markers = tuple(filter(None, (marker.strip() for marker in markers)))

    async def __call__(
        self, turn_input: ChatTurnInput, conversation: Conversation, call_next: CallNext
    ) -> TurnOutcome:
        """Remove markers and note the end of the conversation. A marker that also occurs in the
        turn's inputs is ignored: the model may only have repeated it."""
        on_delta = turn_input.on_delta
        if self._markers and on_delta is not None:
            on_delta = _MarkerBuffer(self._markers, on_delta).add
        outcome = await call_next(replace(turn_input, on_delta=on_delta))
        recalled, result = outcome.recalled, outcome.result
        if result.is_formed:
            return outcome
        others = "\n".join(
            (
                outcome.question,
                *(one.entry.content for one in recalled.memories),
                *(one.chunk.text for one in recalled.passages),
                *(str(one["content"]) for one in result.added if one["role"] == "tool"),
            )
        )
        own = [marker for marker in self._markers if marker not in others]
        text = result.text[: markers_start(result.text, own)]
        if any(marker in result.text[len(text) :] for marker in own):
            result.is_last, result.text = True, text or FAREWELL
            for message in result.added:
                if message["role"] == "assistant" and not message.get("tool_calls"):
                    said = message["content"] or ""
                    message["content"] = said[: markers_start(said, own)] or FAREWELL
        return outcome


def markers_start(text: str, markers: Sequence[str]) -> int:
    """Start of the trailing markers, including the white space before them."""
    end = len(text.rstrip())
    while found := next((one for one in markers if text.endswith(one, 0, end)), ""):
        end = len(text[: end - len(found)].rstrip())
    return end


def safe_length(text: str, markers: Sequence[str]) -> int:
    """Length of the prefix that cannot be part of trailing markers, while the text still grows."""
    # Every beginning of a marker: it may be cut anywhere between two pieces.
    begun = {marker[:length] for marker in markers for length in range(1, len(marker))}
    ends = [len(text) - len(one) for one in begun if text.endswith(one)]
    return min(markers_start(text[:end], markers) for end in (len(text), *ends))


class _MarkerBuffer:
    """Hands on the pieces of an answer, except what may be a marker; that comes with the whole
    answer, if it is none. Holds no more than the markers and the white space between them."""

    def __init__(self, markers: Sequence[str], on_delta: OnDelta) -> None:
        self._markers = markers
        self._on_delta = on_delta
        self._held = ""

    async def add(self, piece: str) -> None:
        self._held += piece
        sure = safe_length(self._held, self._markers)
        shown, self._held = self._held[:sure], self._held[sure:]
        if shown:
            await self._on_delta(shown)
