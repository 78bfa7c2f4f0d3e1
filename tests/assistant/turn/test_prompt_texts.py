"""Texts that a model reads in a prompt: memories with the same text are not quoted again."""

from __future__ import annotations

from spade_llm.assistant.turn.prompt import shown_texts
from spade_llm.providers.quoted_context import CONTEXT_NAME, quote_earlier
from tests.context.histories import assistant, user


def test_messages_that_a_strategy_quotes_count_as_shown() -> None:
    quoted = user(quote_earlier(["- user: My boat: Quillon.", "- assistant: Nice."]))
    quoted["name"] = CONTEXT_NAME

    texts = shown_texts([assistant("Hello."), quoted, user("And my boat?")])

    assert {"Hello.", "My boat: Quillon.", "Nice.", "And my boat?"} <= texts
