"""What each strategy keeps of a history, as the guide promises."""

from __future__ import annotations

import json

import pytest

from spade_llm.context import (
    ContextManagement,
    ContextMessage,
    NoContextManagement,
    SmartWindowSizeContext,
    WindowSizeContext,
)
from tests.context.histories import assistant, call, exchange, result, system, talk, user


def test_the_defaults_are_those_of_the_guide() -> None:
    window = WindowSizeContext()
    smart = SmartWindowSizeContext()

    assert window.max_messages == 20
    assert (smart.max_messages, smart.preserve_initial, smart.prioritize_tools) == (20, 0, False)


def test_no_management_keeps_everything() -> None:
    history = talk(100)

    assert NoContextManagement().apply_context_strategy(history) == history


def test_a_window_keeps_the_last_messages() -> None:
    assert WindowSizeContext(10).apply_context_strategy(talk(30)) == talk(30)[20:]


def test_a_smart_window_without_options_is_a_window() -> None:
    kept = SmartWindowSizeContext(10).apply_context_strategy(talk(30))

    assert kept == WindowSizeContext(10).apply_context_strategy(talk(30))


def test_initial_messages_and_the_newest_share_the_window() -> None:
    kept = SmartWindowSizeContext(10, preserve_initial=3).apply_context_strategy(talk(30))

    assert kept == [*talk(30)[:3], *talk(30)[23:]]


def test_more_initial_messages_than_room_leave_a_place_for_the_newest_question() -> None:
    kept = SmartWindowSizeContext(4, preserve_initial=9).apply_context_strategy(talk(31))

    assert kept == [*talk(31)[:3], user("31")]


def test_prioritised_tool_exchanges_stay_and_the_rest_is_filled_with_the_newest() -> None:
    history = [user("a"), *exchange("1"), *talk(20)]

    kept = SmartWindowSizeContext(6, prioritize_tools=True).apply_context_strategy(history)

    assert kept == [*exchange("1"), *talk(20)[16:]]


def test_more_tool_exchanges_than_room_leave_the_newest_of_them() -> None:
    history = [*talk(4), *exchange("1"), *exchange("2"), *exchange("3"), *talk(5)]

    kept = SmartWindowSizeContext(5, prioritize_tools=True).apply_context_strategy(history)

    assert kept == [*exchange("2"), *exchange("3"), user("5")]


def test_initial_messages_come_before_tools_and_tools_before_the_newest() -> None:
    history = [*talk(4), *exchange("1"), *talk(20)]
    smart = SmartWindowSizeContext(7, preserve_initial=2, prioritize_tools=True)

    kept = smart.apply_context_strategy(history)

    assert kept == [*talk(2), *exchange("1"), *talk(20)[17:]]


def test_results_without_a_known_call_are_prioritised_one_by_one() -> None:
    history = [result("1"), result("2"), result("3"), *talk(9)]

    kept = SmartWindowSizeContext(3, prioritize_tools=True).apply_context_strategy(history)

    assert kept == [result("2"), result("3"), user("9")]


def test_an_exchange_that_does_not_fit_is_dropped_whole() -> None:
    history = [user("a"), *exchange("1", "2", "3"), assistant("b"), user("c")]

    assert WindowSizeContext(4).apply_context_strategy(history) == [assistant("b"), user("c")]


def test_initial_messages_never_end_within_an_exchange() -> None:
    history = [user("a"), *exchange("1"), *talk(20)]

    kept = SmartWindowSizeContext(5, preserve_initial=2).apply_context_strategy(history)

    assert kept == [user("a"), *talk(20)[16:]]


def test_the_question_and_the_open_exchange_stay_even_beyond_the_window() -> None:
    history = [*talk(9), *exchange("1"), *exchange("2", "3")]

    assert WindowSizeContext(2).apply_context_strategy(history) == [
        user("9"),
        *exchange("2", "3"),
    ]


def test_a_call_still_waiting_for_its_results_stays() -> None:
    history = [*talk(9), call("1")]

    assert WindowSizeContext(1).apply_context_strategy(history) == [user("9"), call("1")]


STRATEGIES = [NoContextManagement(), WindowSizeContext(2), SmartWindowSizeContext(2, 1, True)]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_the_system_prompt_comes_first_and_is_not_counted(strategy: ContextManagement) -> None:
    kept = strategy.apply_context_strategy(talk(2), "Be brief.")

    assert kept == [system("Be brief."), *talk(2)]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_a_system_prompt_that_is_there_is_not_doubled(strategy: ContextManagement) -> None:
    history: list[ContextMessage] = [system("Be brief."), *talk(9)]

    kept = strategy.apply_context_strategy(history, "Be brief.")

    assert kept.count(system("Be brief.")) == 1
    assert kept[0] == system("Be brief.")


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_system_messages_at_the_beginning_are_never_dropped(strategy: ContextManagement) -> None:
    history: list[ContextMessage] = [system("one"), system("two"), *talk(9)]

    kept = strategy.apply_context_strategy(history, "three")

    assert kept[:3] == [system("three"), system("one"), system("two")]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_an_empty_history_gives_an_empty_context(strategy: ContextManagement) -> None:
    assert strategy.apply_context_strategy([]) == []


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_the_history_itself_is_left_alone(strategy: ContextManagement) -> None:
    history = talk(9)

    strategy.apply_context_strategy(history, "Be brief.").append(user("new"))

    assert history == talk(9)


def test_statistics_of_a_smart_window_are_those_of_the_guide() -> None:
    smart = SmartWindowSizeContext(max_messages=20, preserve_initial=3, prioritize_tools=True)

    assert smart.get_stats(total_messages=50) == {
        "strategy": "smart_window_size",
        "max_messages": 20,
        "preserve_initial": 3,
        "prioritize_tools": True,
        "total_messages": 50,
        "messages_in_context": 20,
        "messages_dropped": 30,
    }


def test_statistics_of_a_window() -> None:
    assert WindowSizeContext(20).get_stats(5) == {
        "strategy": "window_size",
        "max_messages": 20,
        "total_messages": 5,
        "messages_in_context": 5,
        "messages_dropped": 0,
    }


def test_statistics_without_management() -> None:
    assert NoContextManagement().get_stats(5) == {
        "strategy": "none",
        "total_messages": 5,
        "messages_in_context": 5,
        "messages_dropped": 0,
    }


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_statistics_of_a_negative_number_are_refused(strategy: ContextManagement) -> None:
    with pytest.raises(ValueError, match="total_messages"):
        strategy.get_stats(-1)


@pytest.mark.parametrize("wrong", [0, -1, True, 2.5, "20", None])
def test_a_wrong_window_size_is_named(wrong: int) -> None:
    with pytest.raises(ValueError, match="max_messages"):
        WindowSizeContext(max_messages=wrong)
    with pytest.raises(ValueError, match="max_messages"):
        SmartWindowSizeContext(max_messages=wrong)


@pytest.mark.parametrize("wrong", [-1, False, 1.5, "3", None])
def test_a_wrong_number_of_initial_messages_is_named(wrong: int) -> None:
    with pytest.raises(ValueError, match="preserve_initial"):
        SmartWindowSizeContext(preserve_initial=wrong)


def test_a_priority_that_is_no_flag_is_named() -> None:
    options = json.loads('{"prioritize_tools": 1}')

    with pytest.raises(ValueError, match="prioritize_tools"):
        SmartWindowSizeContext(**options)
