"""Text helpers: lists of words in a sentence."""

from __future__ import annotations

import pytest

from spade_llm.core.text import join_words


@pytest.mark.parametrize(
    ("words", "joined"),
    [
        (["memory"], "memory"),
        (["memory", "tools"], "memory and tools"),
        (["memory", "documents", "tools"], "memory, documents and tools"),
    ],
)
def test_words_are_joined_as_in_a_sentence(words: list[str], joined: str) -> None:
    assert join_words(words, "and") == joined
