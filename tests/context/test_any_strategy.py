"""What holds of every strategy and every composition, over every conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spade_llm.context import CombinedContext, EstimatedTokens, TokenBudget
from spade_llm.context.token_counter import CachedTokenCounter
from spade_llm.providers.quoted_context import CONTEXT_NAME
from tests.conftest import at_most
from tests.context.histories import conversations, exchange, system, user, wordy_conversations
from tests.context.strategies import BUDGETS, COMBINED, SINGLE, STRATEGIES, WITHIN_TOKENS, LastThree
from tests.context.test_window_properties import has_whole_exchanges_only, open_turn

if TYPE_CHECKING:
    from spade_llm.context import ContextManagement, ContextMessage

PROMPT = "You are brief."
FEW = settings(max_examples=at_most(40))
HISTORIES = st.one_of(conversations(), wordy_conversations())


def without_summary(kept: list[ContextMessage]) -> list[ContextMessage]:
    return [one for one in kept if one.get("name") != CONTEXT_NAME]


def is_same(shown: ContextMessage, said: ContextMessage) -> bool:
    """The same message, or what is shown of it."""
    if shown is said:
        return True
    if shown["role"] != said["role"] or shown.keys() != said.keys():
        return False
    return "characters left out to fit" in (shown["content"] or "") and all(
        shown.get(key) == said.get(key) for key in shown if key != "content"
    )


@FEW
@given(STRATEGIES, HISTORIES)
def test_the_system_prompt_comes_first_and_once(
    strategy: ContextManagement, history: list[ContextMessage]
) -> None:
    kept = strategy.apply_context_strategy(history, PROMPT)

    assert kept[0] == system(PROMPT)
    assert kept.count(system(PROMPT)) == 1


@FEW
@given(STRATEGIES, HISTORIES)
def test_no_call_is_without_results_and_no_result_without_its_call(
    strategy: ContextManagement, history: list[ContextMessage]
) -> None:
    assert has_whole_exchanges_only(strategy.apply_context_strategy(history, PROMPT))


@FEW
@given(STRATEGIES, HISTORIES)
def test_the_newest_question_is_there_as_it_was_said(
    strategy: ContextManagement, history: list[ContextMessage]
) -> None:
    kept = strategy.apply_context_strategy(history, PROMPT)

    question, *_ = open_turn(history)
    assert any(one is question for one in kept)


@FEW
@given(STRATEGIES, HISTORIES)
def test_the_exchange_that_is_being_answered_is_there(
    strategy: ContextManagement, history: list[ContextMessage]
) -> None:
    kept = strategy.apply_context_strategy(history, PROMPT)

    assert all(any(is_same(one, said) for one in kept) for said in open_turn(history))


@FEW
@given(STRATEGIES, HISTORIES)
def test_kept_messages_are_in_the_order_of_the_history(
    strategy: ContextManagement, history: list[ContextMessage]
) -> None:
    kept = without_summary(strategy.apply_context_strategy(history, PROMPT))[1:]

    rest = iter(history)
    assert all(any(is_same(one, said) for said in rest) for one in kept)


@FEW
@given(STRATEGIES, HISTORIES)
def test_a_summary_is_quoted_in_a_message_of_lower_trust_before_everything_that_was_said(
    strategy: ContextManagement, history: list[ContextMessage]
) -> None:
    kept = strategy.apply_context_strategy(history, PROMPT)

    places = [i for i, one in enumerate(kept) if one.get("name") == CONTEXT_NAME]
    assert len(places) <= 1
    for place in places:
        assert kept[place]["role"] == "user"
        assert all(one["role"] == "system" for one in kept[:place])


@FEW
@given(STRATEGIES, HISTORIES)
def test_the_same_history_gives_the_same_context(
    strategy: ContextManagement, history: list[ContextMessage]
) -> None:
    once = strategy.apply_context_strategy(history, PROMPT)

    assert strategy.apply_context_strategy(list(history), PROMPT) == once


@FEW
@given(SINGLE, HISTORIES)
def test_a_context_does_not_depend_on_what_was_asked_before(
    strategy: ContextManagement, history: list[ContextMessage]
) -> None:
    """A conversation that was followed turn by turn, and the same one read at once."""
    at_once = [one.copy() for one in history]
    questions = [i for i, one in enumerate(history) if one["role"] == "user"]
    for stop in questions:
        strategy.apply_context_strategy(history[: stop + 1], PROMPT)

    followed = strategy.apply_context_strategy(history, PROMPT)

    assert strategy.apply_context_strategy(at_once, PROMPT) == followed


@FEW
@given(STRATEGIES, HISTORIES)
def test_the_history_is_left_as_it_was(
    strategy: ContextManagement, history: list[ContextMessage]
) -> None:
    before = [one.copy() for one in history]

    strategy.apply_context_strategy(history, PROMPT).append(user("new"))

    assert history == before


@FEW
@given(STRATEGIES, HISTORIES)
def test_statistics_of_a_history_match_the_context(
    strategy: ContextManagement, history: list[ContextMessage]
) -> None:
    stats = strategy.stats_of(history, PROMPT)

    kept = without_summary(strategy.apply_context_strategy(history, PROMPT))
    total = sum(one["role"] != "system" for one in history)
    assert stats["messages_in_context"] == sum(one["role"] != "system" for one in kept)
    assert stats["messages_dropped"] == total - stats["messages_in_context"]


@FEW
@given(WITHIN_TOKENS, HISTORIES)
def test_the_budget_is_never_exceeded_but_by_what_no_context_can_do_without(
    strategy: CombinedContext, history: list[ContextMessage]
) -> None:
    limit = min(part.limits().token_limit for part in strategy.parts)
    count = CachedTokenCounter(EstimatedTokens()).messages

    kept = strategy.apply_context_strategy(history, PROMPT)

    if count(kept) > limit:
        needed = [one for one in history if one["role"] == "system"] + open_turn(history)
        assert len(kept) == len(needed) + 1
        assert strategy.stats_of(history, PROMPT)["is_over_limit"]
        assert count([one for one in kept if one["role"] == "tool"]) <= 40 * len(kept)


@FEW
@given(BUDGETS, st.integers(1, 40), st.integers(1, 5))
def test_a_result_larger_than_the_budget_is_cut_with_a_note(
    limit: int, times: int, results: int
) -> None:
    assume(limit >= 90 + 40 * results)
    history: list[ContextMessage] = [user("look"), *exchange(*map(str, range(results)))]
    for one in history[2:]:
        one["content"] = "line of a result\n" * 100 * times

    strategy = TokenBudget(limit)
    kept = strategy.apply_context_strategy(history, PROMPT)

    assert CachedTokenCounter(EstimatedTokens()).messages(kept) <= limit
    assert len(kept) == len(history) + 1
    assert all("characters left out" in str(one["content"]) for one in kept[3:])
    assert strategy.stats_of(history, PROMPT)["messages_cut"] == results


@FEW
@given(COMBINED, st.integers(0, 5000))
def test_statistics_of_a_number_add_up(strategy: CombinedContext, total: int) -> None:
    stats = strategy.get_stats(total)

    assert stats["total_messages"] == total
    assert stats["messages_in_context"] + stats["messages_dropped"] == total
    assert stats["messages_in_context"] >= 0


@FEW
@given(HISTORIES)
def test_messages_dropped_by_a_custom_strategy_are_hidden_from_others(
    history: list[ContextMessage],
) -> None:
    kept = CombinedContext([LastThree(), TokenBudget(4000)]).apply_context_strategy(history)

    turn = history[history.index(open_turn(history)[0]) :]
    wanted = [*history[-3:], *turn, *(one for one in history if one["role"] == "system")]
    assert all(any(is_same(one, said) for said in wanted) for one in kept)
