"""Markers: the words with which a model says that a conversation is over, and nobody else.

A layer right around the turn, so that nobody further out sees them, neither in parts nor at last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spade_llm.behaviour.layers import Outcome, Proceed
    from spade_llm.conversation.history import Conversation
    from spade_llm.conversation.turn import OnDelta
    from spade_llm.conversation.turn_result import TurnResult
    from spade_llm.providers.messages import ContextMessage
    from spade_llm.services.chat import Utterance

FAREWELL = "(This conversation is over.)"
"""For a reply that is nothing but a marker."""


class Markers:
    def __init__(self, markers: Iterable[str]) -> None:
        self._markers = tuple(filter(None, (marker.strip() for marker in markers)))

    async def __call__(
        self, utterance: Utterance, conversation: Conversation, proceed: Proceed
    ) -> Outcome:
        """A marker that somebody else wrote in this turn says nothing in it: the model may only
        have repeated it."""
        on_delta = utterance.on_delta
        if self._markers and on_delta is not None:
            on_delta = _HeldBack(self._markers, on_delta).add
        outcome = await proceed(replace(utterance, on_delta=on_delta))
        others = "\n".join(_said_by_others(outcome))
        own = [marker for marker in self._markers if marker not in others]
        if not outcome.result.is_formed:
            _take_away(outcome.result, own)
        return outcome


def _said_by_others(outcome: Outcome) -> Iterator[str]:
    yield outcome.question
    yield from (one.entry.content for one in outcome.recalled.memories)
    yield from (one.chunk.text for one in outcome.recalled.passages)
    yield from (str(one["content"]) for one in outcome.result.added if one["role"] == "tool")


def _take_away(result: TurnResult, markers: Sequence[str]) -> None:
    text = result.text[: end_of(result.text, markers)]
    if not _has_marker(result.text[len(text) :], markers):
        return
    result.is_last, result.text = True, text or FAREWELL
    result.added = [_without(message, markers) for message in result.added]


def _without(message: ContextMessage, markers: Sequence[str]) -> ContextMessage:
    if message["role"] != "assistant" or message.get("tool_calls"):
        return message
    said = message["content"] or ""
    return {**message, "content": said[: end_of(said, markers)] or FAREWELL}


def _has_marker(text: str, markers: Sequence[str]) -> bool:
    return any(marker in text for marker in markers)


def end_of(text: str, markers: Sequence[str]) -> int:
    """Where the markers at its end begin, with the white space before them."""
    end = len(text.rstrip())
    while found := next((one for one in markers if text.endswith(one, 0, end)), ""):
        end = len(text[: end - len(found)].rstrip())
    return end


def sure_of(text: str, markers: Sequence[str]) -> int:
    """So much of a text that goes on cannot be a part of markers at its end."""
    begun = {marker[:length] for marker in markers for length in range(1, len(marker))}
    ends = [len(text) - len(one) for one in begun if text.endswith(one)]
    return min(end_of(text[:end], markers) for end in (len(text), *ends))


class _HeldBack:
    """Hands on the pieces of an answer, except what may be a marker; that comes with the whole
    answer, if it is none. Holds no more than the markers and the white space between them."""

    def __init__(self, markers: Sequence[str], on_delta: OnDelta) -> None:
        self._markers = markers
        self._on_delta = on_delta
        self._held = ""

    async def add(self, piece: str) -> None:
        self._held += piece
        sure = sure_of(self._held, self._markers)
        shown, self._held = self._held[:sure], self._held[sure:]
        if shown:
            await self._on_delta(shown)
