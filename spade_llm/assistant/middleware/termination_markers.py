"""Termination markers: words with which the model ends a conversation, removed from its answer.

The middleware is the innermost one, so that the others never see a marker, streamed or whole.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.history.conversations import Conversation
    from spade_llm.assistant.middleware.chain import CallNext, TurnOutcome
    from spade_llm.assistant.turn.tool_loop import OnDelta
    from spade_llm.assistant.turn.turn_result import TurnResult
    from spade_llm.providers.messages import ContextMessage

FAREWELL = "(This conversation is over.)"
"""Reply that replaces an answer consisting only of a marker."""


class TerminationMarkers:
    def __init__(self, markers: Iterable[str]) -> None:
        self._markers = tuple(filter(None, (marker.strip() for marker in markers)))

    async def __call__(
        self, utterance: ChatTurnInput, conversation: Conversation, proceed: CallNext
    ) -> TurnOutcome:
        """Remove markers and note the end of the conversation. A marker that also occurs in the
        turn's inputs is ignored: the model may only have repeated it."""
        on_delta = utterance.on_delta
        if self._markers and on_delta is not None:
            on_delta = _MarkerBuffer(self._markers, on_delta).add
        outcome = await proceed(replace(utterance, on_delta=on_delta))
        others = "\n".join(_quoted_markers(outcome))
        own = [marker for marker in self._markers if marker not in others]
        if not outcome.result.is_formed:
            _remove_markers(outcome.result, own)
        return outcome


def _quoted_markers(outcome: TurnOutcome) -> Iterator[str]:
    yield outcome.question
    yield from (one.entry.content for one in outcome.recalled.memories)
    yield from (one.chunk.text for one in outcome.recalled.passages)
    yield from (str(one["content"]) for one in outcome.result.added if one["role"] == "tool")


def _remove_markers(result: TurnResult, markers: Sequence[str]) -> None:
    text = result.text[: markers_start(result.text, markers)]
    if not _has_marker(result.text[len(text) :], markers):
        return
    result.is_last, result.text = True, text or FAREWELL
    result.added = [_without(message, markers) for message in result.added]


def _without(message: ContextMessage, markers: Sequence[str]) -> ContextMessage:
    if message["role"] != "assistant" or message.get("tool_calls"):
        return message
    said = message["content"] or ""
    return {**message, "content": said[: markers_start(said, markers)] or FAREWELL}


def _has_marker(text: str, markers: Sequence[str]) -> bool:
    return any(marker in text for marker in markers)


def markers_start(text: str, markers: Sequence[str]) -> int:
    """Start of the trailing markers, including the white space before them."""
    end = len(text.rstrip())
    while found := next((one for one in markers if text.endswith(one, 0, end)), ""):
        end = len(text[: end - len(found)].rstrip())
    return end


def safe_length(text: str, markers: Sequence[str]) -> int:
    """Length of the prefix that cannot be part of trailing markers, while the text still grows."""
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
