"""Notes of histories are bounded, and are not made anew without need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.context.notes import MAX_NOTES_PER_HISTORY, HistoryNotesCache

if TYPE_CHECKING:
    from spade_llm.providers.model import ContextMessage


def talk(start: int, stop: int, *, text: str = "hello") -> list[ContextMessage]:
    return [{"role": "user", "content": f"{text} {number}"} for number in range(start, stop)]


def test_the_longest_rested_histories_lose_their_notes_when_all_are_too_large() -> None:
    histories = HistoryNotesCache(max_bytes=100_000)
    first, others = talk(0, 5), [talk(0, 5, text="x" * 1000) for _ in range(10)]
    noted = histories.notes_of(first, 0, 5).notes

    before = histories.notes_of(first, 0, 5).notes
    for other in others:
        histories.notes_of(other, 0, 5)
    newest = histories.notes_of(others[-1], 0, 5).notes

    assert before is noted
    assert histories.notes_of(others[-1], 0, 5).notes is newest
    assert histories.notes_of(first, 0, 5).notes is not noted


@pytest.mark.thorough
def test_a_history_longer_than_what_notes_may_hold_is_read_on_all_the_same() -> None:
    histories = HistoryNotesCache()
    history = talk(0, MAX_NOTES_PER_HISTORY + 2)
    noted = histories.notes_of(history, 0, len(history)).notes

    history += talk(0, 2)

    assert histories.notes_of(history, 0, len(history)).notes is noted
    assert len(noted.messages) == MAX_NOTES_PER_HISTORY + 4
