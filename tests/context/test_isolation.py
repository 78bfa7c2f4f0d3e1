"""Conversations that share one strategy: what is known of one is in no other's context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.context import AdaptiveSmartContext, CombinedContext, Compression, TokenBudget
from tests.conftest import at_most
from tests.context.histories import assistant, user

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.context import ContextManagement, ContextMessage

PEERS = ("ada", "bea", "eve")
SHARED = (
    assistant("Sorry, something went wrong at 10:15. Please try again."),
    assistant("Welcome to Harbour Lane 7! What can I do for you?"),
)
"""Of a program that puts one object into everybody's history."""
MAKERS: tuple[Callable[[], ContextManagement], ...] = (
    lambda: AdaptiveSmartContext(token_limit=300),
    lambda: CombinedContext([TokenBudget(260), Compression(120)]),
    lambda: AdaptiveSmartContext(token_limit=1024),
)


def turn(peer: str, number: int, shared: int | None) -> list[ContextMessage]:
    said = f"My key {number} is {peer}-{number * 7919}, from {peer.title()} Street {number}."
    answer = assistant(f"Noted {peer}-{number * 7919}.") if shared is None else SHARED[shared]
    return [user(said), answer]


@settings(max_examples=at_most(60))
@given(
    st.sampled_from(MAKERS),
    st.lists(
        st.tuples(st.sampled_from(PEERS), st.none() | st.integers(0, 1), st.booleans()),
        max_size=60,
    ),
)
def test_a_conversation_s_context_is_as_if_there_were_no_other(
    make: Callable[[], ContextManagement], steps: list[tuple[str, int | None, bool]]
) -> None:
    strategy = make()
    histories: dict[str, list[ContextMessage]] = {peer: [] for peer in PEERS}
    for number, (peer, shared, begins_anew) in enumerate(steps):
        if begins_anew and shared is not None:
            histories[peer] = [SHARED[shared]]
        histories[peer] += turn(peer, number, shared)
        asked = [*histories[peer], user("What is my key, and from which street?")]

        context = strategy.apply_context_strategy(asked)

        assert context == make().apply_context_strategy(asked)
        others = [other for other in PEERS if other != peer]
        assert not any(f"{other}-" in str(context) for other in others)


def test_one_message_that_ends_a_history_and_begins_another_tells_nothing() -> None:
    strategy = AdaptiveSmartContext(token_limit=300)
    mine: list[ContextMessage] = [
        message for number in range(40) for message in turn("ada", number, None)
    ]
    strategy.apply_context_strategy([*mine, SHARED[0], user("hello")])
    others: list[ContextMessage] = [
        SHARED[0],
        user("so many words " * 200),
        assistant("as many " * 200),
    ]
    strategy.apply_context_strategy(others[:2])

    context = strategy.apply_context_strategy([*others, user("What is my key?")])

    assert "ada" not in str(context)
