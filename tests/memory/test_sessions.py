"""A context from its parts: never beyond its budget, and nothing in it passes for a heading."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.core.text import estimate_tokens
from spade_llm.memory.contract import ObservedMessage
from spade_llm.memory.sessions import build_context
from spade_llm.search.memory_query import MemoryType

AT = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)
TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=300), max_size=30)


def said(number: int, text: str) -> ObservedMessage:
    role = "assistant" if number % 2 else "user"
    at = AT + timedelta(minutes=number)
    return ObservedMessage(id=str(number), role=role, content=text, at=at)


@settings(deadline=None)
@given(
    TEXTS, st.dictionaries(st.sampled_from(list(MemoryType)), TEXTS), st.integers(100, 8000),
    st.sampled_from(["en", "es"]),
)  # fmt: skip
def test_the_budget_is_kept_and_what_is_left_out_is_said(
    messages: list[str],
    known: dict[MemoryType, list[str]],
    max_tokens: int,
    language: str,
) -> None:
    history = [said(number, text) for number, text in enumerate(messages)]

    context = build_context(
        "s", history, known, max_tokens=max_tokens, language="en" if language == "en" else "es"
    )

    assert context.token_count == estimate_tokens(context.context_text) <= max_tokens
    lines = context.context_text.splitlines()
    assert all(line.startswith(("- ", "## ")) or not line for line in lines)
    shown = sum(line.startswith("- ") for line in lines)
    total = len(messages) + sum(map(len, known.values()))
    assert context.truncated or shown == total


@pytest.mark.parametrize("max_tokens", [100, 600, 8000])
def test_every_section_has_a_part_however_long_its_texts_are(max_tokens: int) -> None:
    known = {type: ["word " * 10_000] for type in MemoryType}
    history = [said(number, "word " * 10_000) for number in range(9)]

    context = build_context("s", history, known, max_tokens=max_tokens, language="es")

    assert context.memory_types_included == (
        MemoryType.SEMANTIC,
        MemoryType.PROFILE,
        MemoryType.EPISODIC,
        MemoryType.PROCEDURAL,
    )
    assert context.truncated
    assert "## Historial Reciente\n\n- " in context.context_text
