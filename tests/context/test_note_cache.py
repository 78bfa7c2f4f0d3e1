"""Notes of histories are bounded, and are not made anew without need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.context.notes import MAX_NOTES_PER_HISTORY, HistoryNotes, HistoryNotesCache

if TYPE_CHECKING:
    from spade_llm.providers.model import ContextMessage


def talk(start: int, stop: int, *, text: str = "hello") -> list[ContextMessage]:
    return [{"role": "user", "content": f"{text} {number}"} for number in range(start, stop)]


def notes_of(histories: HistoryNotesCache, messages: list[ContextMessage]) -> HistoryNotes:
    """Notes of all messages."""
    noted, count = histories.follow(messages, 0, len(messages)), len(messages)
    for _ in histories.note_in_steps(noted, count, count + 1):
        pass
    return noted.notes


def test_the_longest_rested_histories_lose_their_notes_when_all_are_too_large() -> None:
    histories = HistoryNotesCache(max_bytes=100_000)
    first, others = talk(0, 5), [talk(0, 5, text="x" * 1000) for _ in range(10)]
    noted = notes_of(histories, first)

    before = notes_of(histories, first)
    for other in others:
        notes_of(histories, other)
    newest = notes_of(histories, others[-1])

    assert before is noted
    assert notes_of(histories, others[-1]) is newest
    assert notes_of(histories, first) is not noted


@pytest.mark.thorough
def test_a_history_longer_than_what_notes_may_hold_is_read_on_all_the_same() -> None:
    histories = HistoryNotesCache()
    history = talk(0, MAX_NOTES_PER_HISTORY + 2)
    noted = notes_of(histories, history)

    history += talk(0, 2)

    assert notes_of(histories, history) is noted
    assert len(noted.messages) == MAX_NOTES_PER_HISTORY + 4
