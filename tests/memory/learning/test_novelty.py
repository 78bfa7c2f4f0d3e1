"""What is new in a message."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from spade_llm.memory.contract import ObservedMessage
from spade_llm.memory.learning.novelty import novel_text, topics_by_text
from spade_llm.providers.quoted_context import FIRST_LINE, QuotedMemory, quote_context

RECALLED = {"1": "Ana lives in Lisbon with two cats.", "2": "Ana's flight leaves on 4 May at 9:20."}


def fresh(text: str, *, role: str = "assistant", recalled: tuple[str, ...] = ("1", "2")) -> str:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    message = ObservedMessage(id="m", role=role, content=text, at=at, recalled=recalled)
    return novel_text(message, topics_by_text(RECALLED))


def test_sentences_that_repeat_what_was_recalled_are_left_out() -> None:
    text = "You live in Lisbon. Your flight leaves on 4 May. The train there takes 20 minutes."

    assert fresh(text) == "The train there takes 20 minutes."


def test_what_is_only_partly_known_is_new() -> None:
    text = "You live in Lisbon and you asked me for a vet near the river."

    assert fresh(text) == text


def test_what_was_not_recalled_for_this_message_is_new() -> None:
    assert fresh("Your flight leaves on 4 May.", recalled=("1",)) == "Your flight leaves on 4 May."


def test_what_a_person_says_is_said_by_them() -> None:
    assert fresh("I live in Lisbon.", role="user") == "I live in Lisbon."


def test_quoted_lines_are_not_new() -> None:
    assert fresh("> I live in Rome\nReally?", role="user") == "Really?"


def test_the_quoted_context_of_a_prompt_is_not_new() -> None:
    context = quote_context(
        [QuotedMemory(kind="fact", text="Ana lives in Lisbon", date="")], (), ()
    )

    assert fresh(f"{context}\nWhat about trams?", role="user") == "What about trams?"


@pytest.mark.timeout(5)
def test_sections_that_are_never_closed_cost_no_time() -> None:
    text = FIRST_LINE + "\n<memories>" * 12_000

    assert fresh(text, role="user").startswith("<memories>\n<memories>")
