"""A context grows at its end until its budget is passed, and is cut then (hysteresis)."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.context import (
    AdaptiveSmartContext,
    AdaptiveWindow,
    CombinedContext,
    Compression,
    EstimatedTokens,
    SemanticRetention,
    SmartWindowSizeContext,
    TokenBudget,
    WindowSizeContext,
)
from spade_llm.context.stable_prefix import MIN_TOKENS
from spade_llm.context.token_counter import CachedTokenCounter
from spade_llm.providers.quoted_context import CONTEXT_NAME
from tests.conftest import at_most
from tests.context.histories import WORDS, assistant, exchange, system, user
from tests.context.test_any_strategy import is_same
from tests.context.test_window_properties import has_whole_exchanges_only, open_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spade_llm.context import ContextManagement, ContextMessage

PROMPT = "You are brief."
LIMIT = 1500
COUNT = CachedTokenCounter(EstimatedTokens()).messages
MAKERS: dict[str, Callable[[int], ContextManagement]] = {
    "adaptive": AdaptiveSmartContext,
    "tokens": TokenBudget,
    "composed": lambda limit: CombinedContext(
        [TokenBudget(limit), SemanticRetention(), Compression()]
    ),
    "few messages": lambda limit: CombinedContext([TokenBudget(limit), SemanticRetention(60)]),
    "window if needed": lambda limit: CombinedContext(
        [AdaptiveWindow(only_if_needed=True), TokenBudget(limit)]
    ),
}
EACH_STRATEGY = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def talk(turns: int, *, seed: int = 3, longest: int = 40) -> list[ContextMessage]:
    """Every fourth turn calls a tool; the last question is still to be answered."""
    chance = random.Random(seed)
    history: list[ContextMessage] = []
    for turn in range(turns):
        said = " ".join(chance.choices(WORDS, k=chance.randint(1, longest)))
        history.append(user(f"{said}, number {turn}?"))
        if chance.random() < 0.25:
            history += exchange(f"{seed}.{turn}")
        history.append(assistant(" ".join(chance.choices(WORDS, k=chance.randint(1, longest)))))
    return history[:-1] if history[-2]["role"] == "user" else [*history, user("And then?")]


def calls(history: list[ContextMessage]) -> Iterator[list[ContextMessage]]:
    """The history at each call of the model: behind each question, and behind each result."""
    for stop in range(1, len(history) + 1):
        if history[stop - 1]["role"] in ("user", "tool"):
            yield history[:stop]


def equal_messages(one: list[ContextMessage], other: list[ContextMessage]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (left, right) in pairs if left != right), min(len(one), len(other)))


@EACH_STRATEGY
def test_contexts_keep_their_beginning_for_several_turns(
    make: Callable[[int], ContextManagement],
) -> None:
    strategy, history = make(LIMIT), talk(200)

    contexts = [strategy.apply_context_strategy(one, PROMPT) for one in calls(history)]

    # A cut changes the message behind the system prompt, at the latest the one behind a summary.
    cuts = sum(equal_messages(one, other) <= 2 for one, other in pairwise(contexts[5:]))
    assert 5 <= cuts <= len(contexts) / 4
    equal = sum(COUNT(other[: equal_messages(one, other)]) for one, other in pairwise(contexts))
    assert equal >= 0.6 * sum(map(COUNT, contexts[1:]))


@EACH_STRATEGY
def test_a_call_behind_a_tool_s_result_only_appends_to_the_call_before(
    make: Callable[[int], ContextManagement],
) -> None:
    strategy, history = make(LIMIT), talk(150)
    appended = rounds = 0

    for stop in range(1, len(history) + 1):
        if history[stop - 1]["role"] == "tool":
            before = strategy.apply_context_strategy(history[: stop - 2], PROMPT)
            context = strategy.apply_context_strategy(history[:stop], PROMPT)
            rounds += 1
            appended += context == [*before, *history[stop - 2 : stop]]

    # The others are cuts.
    assert rounds > 20
    assert appended >= 0.8 * rounds


@settings(max_examples=at_most(30))
@given(
    st.sampled_from([*MAKERS.values()]),
    st.integers(MIN_TOKENS, 2500),
    st.integers(40, 120),
    st.integers(0, 9999),
    st.sampled_from([10, 60, 400]),
)
def test_guarantees_hold_with_a_stable_prefix(
    make: Callable[[int], ContextManagement], limit: int, turns: int, seed: int, longest: int
) -> None:
    history = talk(turns, seed=seed, longest=longest)
    followed = make(limit)
    for one in calls(history[:-1]):
        followed.apply_context_strategy(one, PROMPT)

    kept = followed.apply_context_strategy(history, PROMPT)

    assert kept == make(limit).apply_context_strategy([one.copy() for one in history], PROMPT)
    assert kept.count(system(PROMPT)) == 1
    assert kept[0] == system(PROMPT)
    assert any(one is open_turn(history)[0] for one in kept)
    assert has_whole_exchanges_only(kept)
    rest = iter(history)
    said = [one for one in kept[1:] if one.get("name") != CONTEXT_NAME]
    assert all(any(is_same(one, other) for other in rest) for one in said)
    stats = followed.stats_of(history, PROMPT)
    assert stats["messages_in_context"] == len(said)
    assert stats["messages_cut"] == sum(all(one is not other for other in history) for one in said)
    assert COUNT(kept) <= limit or stats["is_over_limit"]


def test_a_cut_leaves_room_for_a_quarter_of_the_budget() -> None:
    strategy, history = TokenBudget(LIMIT), talk(200, longest=12)

    sizes = [COUNT(strategy.apply_context_strategy(one, PROMPT)) for one in calls(history)]

    after_cut = [now for before, now in pairwise(sizes) if now < before]
    assert all(0.7 * LIMIT <= size <= 0.85 * LIMIT for size in after_cut)
    assert max(sizes) >= 0.95 * LIMIT


def test_what_a_question_is_about_is_quoted_right_before_it() -> None:
    fact = user("My sailing boat is called Quillon.")
    history = [fact, assistant("Nice."), *talk(150)[:-1], user("What is my sailing boat called?")]

    kept = AdaptiveSmartContext(LIMIT).apply_context_strategy(history, PROMPT)

    assert kept[-2].get("name") == CONTEXT_NAME
    assert "- user: My sailing boat is called Quillon." in str(kept[-2]["content"])
    assert fact not in kept


def test_a_statement_is_quoted_with_a_reply_that_is_nearer_to_the_question() -> None:
    told: list[ContextMessage] = [user("The code of my locker is 7316-K.")]
    told.append(assistant("Noted: your locker, station."))
    history = [*told, *talk(150)[:-1], user("Which locker at the station?")]

    kept = AdaptiveSmartContext(LIMIT).apply_context_strategy(history, PROMPT)

    assert "- user: The code of my locker is 7316-K." in str(kept[-2]["content"])


def test_a_result_too_large_for_the_stable_prefix_is_shown_as_far_as_the_budget_goes() -> None:
    strategy, history = AdaptiveSmartContext(LIMIT), talk(150)
    strategy.apply_context_strategy(history, PROMPT)
    asked = [*history[:-1], user("Look it up."), *exchange("large")]
    asked[-1]["content"] = "one line of many\n" * 200

    kept = strategy.apply_context_strategy(asked, PROMPT)

    assert kept[-1]["content"] == asked[-1]["content"]
    assert COUNT(kept) <= LIMIT


@pytest.mark.parametrize(
    "window", [WindowSizeContext(40), SmartWindowSizeContext(40, 3)], ids=["window", "smart"]
)
def test_windows_keep_their_exact_rules_beside_a_token_budget(window: ContextManagement) -> None:
    strategy = CombinedContext([window, TokenBudget(100_000)])

    for one in calls(talk(100)):
        assert strategy.apply_context_strategy(one) == window.apply_context_strategy(one)


def test_replaced_messages_are_in_no_later_context() -> None:
    strategy = AdaptiveSmartContext(LIMIT)
    told: list[ContextMessage] = [
        user("My locker is Zeldrick-4471."),
        assistant("Noted: Zeldrick."),
    ]
    later, question = talk(100)[:-1], user("Which locker is mine?")
    for one in calls([*told, *later]):
        strategy.apply_context_strategy(one, PROMPT)
    assert "Zeldrick" in str(strategy.apply_context_strategy([*told, *later, question], PROMPT))

    redacted: list[ContextMessage] = [user("(forgotten)"), assistant("(forgotten)")]

    for asked in (question, user("Which locker is mine?"), user("Zeldrick?")):
        kept = strategy.apply_context_strategy([*redacted, *later, asked], PROMPT)
        assert "Zeldrick" not in str(kept[:-1])


def test_a_discarded_history_leaves_no_notes() -> None:
    strategy, history = AdaptiveSmartContext(LIMIT), talk(100)
    other = talk(100, seed=5)
    strategy.apply_context_strategy(other, PROMPT)
    before = strategy._histories._bytes
    strategy.apply_context_strategy(history, PROMPT)
    assert strategy._histories._bytes > before

    strategy.discard(history)

    assert strategy._histories._bytes == before
    assert [*strategy._histories._by_last] == [id(other[-2])]


def test_a_history_that_loses_its_beginning_shows_only_what_it_still_has() -> None:
    strategy, history = AdaptiveSmartContext(LIMIT), talk(300)
    for one in calls(history):
        kept = strategy.apply_context_strategy(one[-40:], PROMPT)

        here = {id(message) for message in one[-40:]}
        said = [message for message in kept[1:] if message.get("name") != CONTEXT_NAME]
        assert all(
            id(message) in here or "left out to fit" in str(message["content"]) for message in said
        )
