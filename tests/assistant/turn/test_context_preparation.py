"""A strategy gets its time before turns and between them, and no more than that."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.history.conversation_cache import Conversation
from spade_llm.assistant.middleware.quota import NO_QUOTA
from spade_llm.assistant.middleware.usage_ledger import UsageTracking
from spade_llm.assistant.turn import prompt
from spade_llm.assistant.turn.prompt import ContextPreparationBehaviour
from spade_llm.assistant.turn.turn_recorder import InstrumentedModel
from spade_llm.context import NoContextManagement
from spade_llm.core.errors import ModelUnavailable
from spade_llm.providers import ScriptedProvider

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.context import ContextMessage


class Thorough(NoContextManagement):
    """Takes as long as it is let."""

    def __init__(self) -> None:
        self.was_cut_off = asyncio.Event()
        self.worked_on: list[int] = []
        self.has_worked = asyncio.Event()

    async def prepare(self, messages: Sequence[ContextMessage]) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.was_cut_off.set()

    async def work_ahead(self, messages: Sequence[ContextMessage]) -> None:
        self.worked_on.append(len(messages))
        self.has_worked.set()
        raise ModelUnavailable("away")


class Broken(NoContextManagement):
    """A strategy of somebody's own, with a fault."""

    async def prepare(self, messages: Sequence[ContextMessage]) -> None:
        raise ValueError("my own fault")

    async def work_ahead(self, messages: Sequence[ContextMessage]) -> None:
        raise ValueError("my own fault")


def a_conversation(key: str, messages: int) -> Conversation:
    conversation = Conversation(key, "ada@x")
    conversation.extend({"role": "user", "content": "x"} for _ in range(messages))
    return conversation


async def test_a_turn_does_not_wait_for_a_strategy_without_end() -> None:
    strategy = Thorough()

    await ContextPreparationBehaviour().prepare(strategy, "talk", ())

    assert strategy.was_cut_off.is_set()


async def test_a_turn_does_not_even_let_others_before_it_for_a_strategy_that_prepares_nothing() -> (
    None
):
    preparing_nothing = ContextPreparationBehaviour().prepare(NoContextManagement(), "talk", ())

    with pytest.raises(StopIteration):
        preparing_nothing.send(None)


async def test_strategies_without_preparation_are_not_awaited() -> None:
    strategy, behaviour = Thorough(), ContextPreparationBehaviour()
    behaviour.work_ahead(NoContextManagement(), a_conversation("talk", 1))
    behaviour.work_ahead(strategy, a_conversation("other", 5))

    await behaviour.run()

    assert strategy.worked_on == [5]


async def test_a_conversation_is_worked_on_once_and_as_it_is_then() -> None:
    strategy, behaviour = Thorough(), ContextPreparationBehaviour()
    talk = a_conversation("talk", 1)
    behaviour.work_ahead(strategy, talk)
    talk.extend([{"role": "user", "content": "y"}])
    behaviour.work_ahead(strategy, talk)
    behaviour.work_ahead(strategy, a_conversation("other", 5))

    await behaviour.run()
    await behaviour.run()

    assert strategy.worked_on == [2, 5]


async def test_a_strategy_that_raises_costs_neither_the_answer_nor_others_their_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    strategy, behaviour = Thorough(), ContextPreparationBehaviour()
    behaviour.work_ahead(Broken(), a_conversation("talk", 1))
    behaviour.work_ahead(strategy, a_conversation("other", 5))

    await behaviour.prepare(Broken(), "talk", ())
    await behaviour.run()
    await behaviour.run()

    assert strategy.worked_on == [5]
    assert "talk: preparing its context failed: ValueError" in caplog.text
    assert "talk: working ahead failed: ValueError" in caplog.text
    assert "my own fault" not in caplog.text


async def test_it_waits_until_there_is_something_to_do() -> None:
    strategy, behaviour = Thorough(), ContextPreparationBehaviour()
    running = asyncio.create_task(behaviour.run())
    await asyncio.sleep(0)

    behaviour.work_ahead(strategy, a_conversation("talk", 3))
    await asyncio.wait_for(running, 5)

    assert strategy.worked_on == [3]


async def test_conversations_that_wait_are_bounded() -> None:
    strategy, behaviour = Thorough(), ContextPreparationBehaviour()
    for number in range(prompt.MAX_WAITING + 1):
        behaviour.work_ahead(strategy, a_conversation(f"{number}", number))

    await behaviour.run()

    assert strategy.worked_on == [1]


class Summarising(NoContextManagement):
    """Asks a model between turns."""

    def __init__(self, model: InstrumentedModel) -> None:
        self._model = model

    async def work_ahead(self, messages: Sequence[ContextMessage]) -> None:
        await self._model.complete(messages)


async def test_work_between_turns_is_used_by_its_own_conversation_only() -> None:
    watch = UsageTracking(None, limits=NO_QUOTA)
    behaviour = ContextPreparationBehaviour(watch.billing)
    behaviour.work_ahead(
        Summarising(InstrumentedModel(ScriptedProvider.echo())), a_conversation("talk", 4)
    )

    async with watch.ledger:
        await behaviour.run()
        spent = await watch.ledger.of_today("ada@x")

    assert (spent.turns, spent.model_calls, spent.prompt_tokens) == (0, 1, 1)
