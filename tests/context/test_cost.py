"""What a context costs grows with what is kept, not with the history. Counted, not timed."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import pytest

from spade_llm.context import (
    AdaptiveSmartContext,
    AdaptiveWindow,
    CombinedContext,
    Compression,
    ContextManagement,
    SemanticRetention,
    TokenBudget,
    WindowSizeContext,
)
from tests.context.histories import assistant, exchange, user

if TYPE_CHECKING:
    from spade_llm.context import ContextMessage, UserMessage

LONG = 10_000
STRATEGIES: dict[str, ContextManagement] = {
    "window": WindowSizeContext(40),
    "tokens": TokenBudget(4000),
    "semantic": SemanticRetention(40),
    "compression": Compression(1000),
    "adaptive window": AdaptiveWindow(),
    "adaptive": AdaptiveSmartContext(4000),
    "several": CombinedContext([TokenBudget(4000), SemanticRetention(), Compression()]),
}


class Read(dict[str, object]):
    """A message that counts how often something of it is read."""

    times = 0

    def __getitem__(self, key: str) -> object:
        Read.times += 1
        return super().__getitem__(key)


def read_by(strategy: ContextManagement, history: list[ContextMessage]) -> int:
    Read.times = 0
    strategy.apply_context_strategy(history, "Be brief.")
    return Read.times


def a_history(messages: int) -> list[ContextMessage]:
    history: list[ContextMessage] = []
    while len(history) < messages:
        n = len(history)
        history += [
            user(f"Let me tell you about parcel {n} and the {n % 97}th gate."),
            *(exchange(f"{n}") if n % 5 == 0 else []),
        ]
        history.append(assistant(f"Parcel {n}, then, at the gate of {n % 89}."))
    read: list[ContextMessage] = []
    for one in history:
        counting = Read(one)
        read.append(counting)  # type: ignore[arg-type]  # TypedDicts cannot be inherited from.
    question: UserMessage = user("Which gate had parcel 40?")
    return [*read, question]


@pytest.mark.thorough
@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
def test_a_history_of_ten_thousand_messages_costs_no_more_than_one_of_a_thousand(
    strategy: ContextManagement,
) -> None:
    costs = []
    for length in (LONG // 10, LONG):
        history = a_history(length)
        read_by(strategy, history)
        costs.append(read_by(strategy, history))

    assert costs[1] <= 1.3 * costs[0] + 50
    assert costs[1] < 5000


def test_a_turn_more_is_read_on_and_not_anew() -> None:
    strategy, history = AdaptiveSmartContext(4000), a_history(LONG)
    first = read_by(strategy, history)

    longer = [*history, assistant("At the seventh."), user("And parcel 50?")]
    read_on = read_by(strategy, longer)

    assert first > LONG
    assert read_on <= LONG / 50


def test_the_thousandth_message_is_read_as_fast_as_the_first_behind_a_cut() -> None:
    """Most turns append to the context before; what they quote has a bound."""
    strategy, history = AdaptiveSmartContext(4000), a_history(1200)
    asked = [at for at, one in enumerate(history) if one["role"] == "user"]
    costs = {at: read_by(strategy, history[: at + 1]) for at in asked}

    early = [cost for at, cost in costs.items() if 200 <= at < 400]
    late = [cost for at, cost in costs.items() if 1000 <= at < 1200]

    assert median(late) <= 1.2 * median(early)
    assert sum(late) <= 1.2 * sum(early)
