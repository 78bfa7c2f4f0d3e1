"""Texts that a model reads in a prompt: memories with the same text are not quoted again."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from spade_llm.assistant.turn.prompt import build_prompt, quoted_memory, shown_texts
from spade_llm.assistant.turn.recall import RecallResult
from spade_llm.context import NoContextManagement
from spade_llm.memory.contract import MemoryEntry, ScoredMemory
from spade_llm.memory.learning.novelty import strip_quotes
from spade_llm.providers.quoted_context import CONTEXT_NAME, quote_earlier, read_context
from tests.context.histories import assistant, user

if TYPE_CHECKING:
    import pytest


def test_messages_that_a_strategy_quotes_count_as_shown() -> None:
    quoted = user(quote_earlier(["- user: My boat: Quillon.", "- assistant: Nice."]))
    quoted["name"] = CONTEXT_NAME

    texts = shown_texts([assistant("Hello."), quoted, user("And my boat?")])

    assert {"Hello.", "My boat: Quillon.", "Nice.", "And my boat?"} <= texts


def test_what_is_quoted_comes_with_the_date_of_today() -> None:
    def prompt(missing: tuple[str, ...], *, is_dated: bool = False) -> list[str]:
        recalled = RecallResult(missing=missing, is_dated=is_dated)
        built = build_prompt(
            NoContextManagement(),
            [user("And tomorrow?")],
            system_prompt="Be brief.",
            recalled=recalled,
            today=date(2026, 11, 23),
        )
        return [str(message["content"]) for message in built]

    _, quoted, question = prompt(("memory",))
    assert "<today>Monday 2026-11-23</today>" in quoted
    assert read_context(quoted).unavailable == ("memory",)
    assert strip_quotes(f"{quoted}\nThanks") == "Thanks"
    assert prompt(()) == ["Be brief.", question]
    # An assistant with a memory always knows it: plans are stored with their dates.
    assert prompt((), is_dated=True)[1:] == ["<today>Monday 2026-11-23</today>", question]


def test_memories_of_one_date_are_quoted_with_their_times() -> None:
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)

    def memory(text: str, since: datetime, until: datetime | None = None) -> ScoredMemory:
        entry = MemoryEntry(
            id=text, owner="a@x", content=text, created_at=since, updated_at=since, invalid_at=until
        )
        return ScoredMemory(entry=entry, score=1.0)

    moved = noon + timedelta(days=2, milliseconds=250)
    recalled = RecallResult(
        memories=(
            memory("I work at Lidl", noon),
            memory("I live in Hull", noon - timedelta(days=9), moved),
            memory("I live in Leeds", moved),
            memory("My flat is red", moved + timedelta(seconds=5)),
        )
    )

    prompt = build_prompt(
        NoContextManagement(), [user("Where?")], system_prompt="Be", recalled=recalled
    )

    text = str(prompt[-2]["content"])
    assert "I work at Lidl (since 2026-11-20)" in text
    assert "I live in Hull (from 2026-11-11 until 2026-11-22 12:00:00, no longer true)" in text
    assert "I live in Leeds (since 2026-11-22 12:00:00)" in text
    assert "My flat is red (since 2026-11-22 12:00:05)" in text


def test_times_are_no_more_precise_than_is_needed_to_tell_them_apart() -> None:
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
    seconds = {"a": 0.25, "b": 0.25, "c": 90, "d": 180.5, "e": 180.75}
    memories = [
        MemoryEntry(id=text, owner="a@x", content=text, created_at=at, updated_at=at)
        for text, after in seconds.items()
        for at in [noon + timedelta(seconds=after)]
    ]
    recalled = RecallResult(memories=tuple(ScoredMemory(entry=one, score=1.0) for one in memories))

    _, quoted, _ = build_prompt(
        NoContextManagement(), [user("Where?")], system_prompt="Be", recalled=recalled
    )

    assert [one.time for one in read_context(str(quoted["content"])).memories] == [
        *("12:00", "12:00", "12:01"),
        *("12:03:00.500", "12:03:00.750"),
    ]


def test_memories_are_dated_in_the_time_zone_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    late = datetime(2026, 11, 20, 3, tzinfo=UTC)
    entry = MemoryEntry(
        id="1", owner="a@x", content="The dentist is tomorrow", created_at=late, updated_at=late
    )
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        quoted = quoted_memory(ScoredMemory(entry=entry, score=1.0))
    time.tzset()

    assert quoted.date == "2026-11-19"
