"""What is near to the question stays, by words and by vectors; windows follow the conversation."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from spade_llm.context import (
    AdaptiveSmartContext,
    AdaptiveWindow,
    CombinedContext,
    SemanticRetention,
    TokenBudget,
)
from tests.context.histories import assistant, chatter, exchange, user
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.context import ContextManagement, ContextMessage

FACTS: list[ContextMessage] = [
    user("My locker is opened by 7316."),
    assistant("Noted."),
    user("What did Zoë say of the kayak?"),
    assistant("She said that it leaks."),
]
QUESTION = user("How is the locker opened?")


def texts(kept: Sequence[ContextMessage]) -> list[str]:
    return [str(message["content"]) for message in kept]


@pytest.mark.parametrize(
    "strategy",
    [
        SemanticRetention(),
        SemanticRetention(8),
        CombinedContext([TokenBudget(400), SemanticRetention()]),
        AdaptiveSmartContext(400),
    ],
)
def test_relevant_messages_are_kept_with_their_answers(
    strategy: ContextManagement,
) -> None:
    kept = texts(strategy.apply_context_strategy([*FACTS, *chatter(300), QUESTION]))

    assert kept[kept.index("My locker is opened by 7316.") + 1] == "Noted."
    assert "She said that it leaks." not in kept


def test_a_question_may_ask_for_several_things() -> None:
    question = user("Which number opens the locker, and what is wrong with the kayak?")

    kept = texts(SemanticRetention().apply_context_strategy([*FACTS, *chatter(300), question]))

    assert {"My locker is opened by 7316.", "She said that it leaks."} <= set(kept)


def test_words_are_the_same_in_other_forms_and_in_spanish() -> None:
    history: list[ContextMessage] = [
        user("Mis llaves están en la estación."),
        assistant("Vale."),
        user("Two kayaks were painted."),
        assistant("Good."),
        *chatter(100),
    ]
    strategy = SemanticRetention(12)

    one = strategy.apply_context_strategy([*history, user("¿En qué estación?")])
    other = strategy.apply_context_strategy([*history, user("Who paints the kayak?")])

    assert history[0] in one
    assert history[2] in other


async def test_nearness_is_by_vectors_too_once_there_was_time_for_them() -> None:
    history = [*FACTS, *chatter(300), QUESTION]
    strategy = SemanticRetention(12, embedder=BagOfWords())

    before = strategy.stats_of(history)["degraded"]
    await strategy.prepare(history)
    after = strategy.stats_of(history)["degraded"]

    assert (before, after) == ("vectors", "")
    assert FACTS[0] in strategy.apply_context_strategy(history)


async def test_without_its_embedder_it_goes_on_by_words_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    embedder, history = BagOfWords(), [*FACTS, *chatter(300), QUESTION]
    embedder.is_away = True
    strategy = SemanticRetention(12, embedder=embedder)

    with caplog.at_level(logging.WARNING):
        await strategy.prepare(history)

    assert FACTS[0] in strategy.apply_context_strategy(history)
    assert strategy.stats_of(history)["degraded"] == "vectors"
    assert "computed from words" in caplog.text


async def test_nothing_is_embedded_while_everything_fits_and_nothing_twice() -> None:
    embedder = BagOfWords()
    strategy = AdaptiveSmartContext(400, embedder=embedder)
    await strategy.prepare([*FACTS, QUESTION])
    while_it_fits = embedder.embedded

    history = [*FACTS, *chatter(300), QUESTION]
    for _ in range(3):
        await strategy.prepare(history)
        await strategy.work_ahead(history)

    assert while_it_fits == 0
    assert embedder.embedded == len(history)


def test_a_new_topic_makes_the_window_small_and_the_same_topic_keeps_it_large() -> None:
    garden: list[ContextMessage] = []
    for number in range(12):
        garden += [user(f"Garden tulips, row {number}."), assistant("Garden tulips, yes.")]
    window = AdaptiveWindow(min_messages=3, max_messages=40)

    same = window.apply_context_strategy([*garden, user("More tulips for the garden?")])
    new = window.apply_context_strategy([*garden, user("Which train goes to Leeds?")])

    assert len(same) == len(garden) + 1
    assert len(new) == 3


def test_a_window_reaches_as_far_as_answers_refer() -> None:
    history: list[ContextMessage] = []
    for number in range(30):
        history += [user(f"Parcel p{number} has come."), assistant("It is here.")]
        if number >= 10:
            history[-1] = assistant(f"Like p{number - 10}, then.")
    window = AdaptiveWindow(min_messages=3, max_messages=60)

    kept = window.apply_context_strategy([*history, user("Which train goes to Leeds?")])

    assert 20 <= len(kept) <= 24


def test_in_tool_heavy_turns_old_results_give_way_to_talk() -> None:
    history: list[ContextMessage] = []
    for number in range(12):
        ids = [f"{number}.{n}" for n in range(3)]
        history += [user(f"Garden {number}"), *exchange(*ids), assistant(f"Garden {number}, done.")]
    window = AdaptiveWindow(min_messages=3, max_messages=30)

    kept = window.apply_context_strategy([*history, user("Garden?")])

    results = [one for one in kept if one["role"] == "tool"]
    assert len(results) == 6
    assert sum(one["role"] == "user" for one in kept) > 8


def test_an_adaptive_context_uses_its_room_also_when_the_topic_is_new() -> None:
    garden: list[ContextMessage] = []
    for number in range(60):
        garden += [user(f"Garden tulips, row {number}."), assistant("Garden tulips, yes.")]
    strategy = AdaptiveSmartContext(600)

    stats = strategy.stats_of([*garden, user("Which train goes to Leeds?")])

    assert stats["messages_dropped"] > 0
    assert stats["tokens_in_context"] > 500


def test_an_adaptive_context_leaves_nothing_out_while_everything_fits() -> None:
    history = [*FACTS, *chatter(20), QUESTION]

    assert AdaptiveSmartContext(4000).apply_context_strategy(history) == history


def test_the_proposed_api_is_there() -> None:
    context = AdaptiveSmartContext(
        token_limit=4000,
        semantic_similarity_threshold=0.8,
        compression_enabled=True,
        adaptive_window=True,
    )

    stats = context.get_stats(total_messages=500)
    assert stats["strategy"] == "adaptive_smart"
    assert (stats["token_limit"], stats["similarity_threshold"]) == (4000, 0.8)
    assert (stats["token_counter"], stats["tokens_are_exact"]) == ("estimate", False)


@pytest.mark.parametrize("wrong", [-0.1, 1.5, True, "0.8", None])
def test_a_wrong_threshold_is_named(wrong: float) -> None:
    with pytest.raises(ValueError, match="similarity_threshold"):
        SemanticRetention(similarity_threshold=wrong)


@pytest.mark.parametrize("wrong", [0, 63, 4000.0, "4000", None])
def test_a_wrong_budget_is_named(wrong: int) -> None:
    with pytest.raises(ValueError, match="token_limit"):
        AdaptiveSmartContext(wrong)


def test_a_composition_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="strategies"):
        CombinedContext([])
