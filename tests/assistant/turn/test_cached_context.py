"""One turn's context is worked out once, and anew when the turn has gone on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.turn.prompt import CachedContext, user_message
from spade_llm.context import WindowSizeContext

if TYPE_CHECKING:
    from spade_llm.providers.model import ContextMessage


class CountingContext(WindowSizeContext):
    def __init__(self, max_messages: int) -> None:
        super().__init__(max_messages)
        self.times = 0

    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        self.times += 1
        return super().apply_context_strategy(messages, system_prompt)


def test_a_repeated_request_gets_an_own_copy_of_the_cached_context() -> None:
    strategy = CountingContext(2)
    of_turn = CachedContext(strategy)
    history: list[ContextMessage] = [
        user_message(text, peer="you@x") for text in ("one", "two", "three")
    ]

    of_turn.apply_context_strategy(list(history), "Be.").clear()
    again = of_turn.apply_context_strategy(list(history), "Be.")

    assert [message["content"] for message in again] == ["Be.", "two", "three"]
    assert strategy.times == 1


def test_a_history_that_has_grown_and_another_prompt_get_another_context() -> None:
    of_turn = CachedContext(CountingContext(2))
    history: list[ContextMessage] = [user_message(text, peer="you@x") for text in ("one", "two")]
    of_turn.apply_context_strategy(list(history), "Be.")

    history.append(user_message("three", peer="you@x"))
    grown = of_turn.apply_context_strategy(history, "Be.")
    other = of_turn.apply_context_strategy(history, "Be kind.")

    assert [message["content"] for message in grown] == ["Be.", "two", "three"]
    assert [message["content"] for message in other] == ["Be kind.", "two", "three"]


def test_a_strategy_that_returns_no_list_is_named() -> None:
    class Forgotten(WindowSizeContext):
        def apply_context_strategy(
            self, messages: list[ContextMessage], system_prompt: str | None = None
        ) -> list[ContextMessage]:
            return None  # type: ignore[return-value]

    with pytest.raises(TypeError, match=r"Forgotten.apply_context_strategy.*return a list"):
        CachedContext(Forgotten(2)).apply_context_strategy([user_message("one", peer="you@x")])
