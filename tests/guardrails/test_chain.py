"""Guardrails one after another, and what becomes of one that fails: it blocks."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING

import pytest

from spade_llm.guardrails import (
    CompositeGuardrail,
    CustomFunctionGuardrail,
    Guardrail,
    GuardrailAction,
    GuardrailResult,
    InputGuardrail,
    KeywordGuardrail,
    OutputGuardrail,
)
from spade_llm.guardrails.chain import run_chain
from spade_llm.guardrails.guardrail import MAX_CHARS, GuardrailDirection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PASS, MODIFY, BLOCK, WARNING = (
    GuardrailAction.PASS,
    GuardrailAction.MODIFY,
    GuardrailAction.BLOCK,
    GuardrailAction.WARNING,
)
CONTEXT = {"sender": "ada@x", "conversation_id": "ada@x"}


class Fixed(Guardrail):
    """Gives what it is told to give."""

    def __init__(self, given: object, name: str = "fixed") -> None:
        super().__init__(name)
        self._given = given
        if isinstance(given, asyncio.Event):
            self.timeout_s = 0.05

    async def check(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
        if isinstance(self._given, BaseException):
            raise self._given
        if isinstance(self._given, asyncio.Event):
            await self._given.wait()
        return self._given  # type: ignore[return-value]


FAULTS = {
    "an exception": ValueError("the text was: top secret"),
    "a cancellation of its own": asyncio.CancelledError(),
    "an exit": SystemExit(1),
    "an iteration that stops": StopIteration(),
    "a hang": asyncio.Event(),
    "nothing": None,
    "a yes": True,
    "a text": "fine",
    "an action that is none": GuardrailResult(action="pass"),  # type: ignore[arg-type]
    "a change into nothing": GuardrailResult(action=MODIFY),
    "a change into half a character": GuardrailResult(action=MODIFY, content="\ud800"),
    "a change into bytes": GuardrailResult(action=MODIFY, content=b"x"),  # type: ignore[arg-type]
    "a message that is none": GuardrailResult(action=BLOCK, custom_message=3),  # type: ignore[arg-type]
    "a change into white space": GuardrailResult(action=MODIFY, content=" \n"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("side", GuardrailDirection)
async def test_a_guardrail_that_fails_blocks(fault: object, side: GuardrailDirection) -> None:
    result = await run_chain("top secret", CONTEXT, [Fixed(fault)], side=side)

    assert result.is_blocked
    assert result.text.startswith("I may not")


async def test_neither_the_text_nor_what_quotes_it_is_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    reason = GuardrailResult(action=WARNING, reason="it says top secret")
    failing = [Fixed(reason), Fixed(FAULTS["an exception"])]

    await run_chain("top secret", CONTEXT, failing, side=GuardrailDirection.OUTPUT)

    assert "output: warning by 'fixed'" in caplog.text
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


async def test_each_sees_what_those_before_it_have_left() -> None:
    chain = [
        KeywordGuardrail("one", ["red"], MODIFY, "blue"),
        Fixed(GuardrailResult(action=WARNING)),
        KeywordGuardrail("two", ["blue"], MODIFY, "green"),
    ]

    assert (await run_chain("red", CONTEXT, chain, side=GuardrailDirection.INPUT)).text == "green"


async def test_the_first_that_blocks_is_the_last_that_is_asked() -> None:
    asked: list[str] = []

    def note(content: str, context: Mapping[str, object]) -> GuardrailResult:
        asked.append(content)
        return GuardrailResult(action=PASS)

    chain = [KeywordGuardrail("k", ["red"], blocked_message="no red"), _custom(note)]

    result = await run_chain("red", CONTEXT, chain, side=GuardrailDirection.INPUT)

    assert (result.text, result.is_blocked, asked) == ("no red", True, [])


async def test_one_that_is_not_enabled_lets_everything_pass() -> None:
    guardrail = KeywordGuardrail("k", ["red"], enabled=False)
    assert not (
        await run_chain("red", CONTEXT, [guardrail], side=GuardrailDirection.INPUT)
    ).is_blocked

    guardrail.enabled = True
    assert (await run_chain("red", CONTEXT, [guardrail], side=GuardrailDirection.INPUT)).is_blocked


async def test_a_text_that_is_too_long_to_be_checked_is_blocked() -> None:
    guardrail = Fixed(GuardrailResult(action=PASS))

    assert (await guardrail("a" * MAX_CHARS, CONTEXT)).action is PASS
    assert (await guardrail("a" * (MAX_CHARS + 1), CONTEXT)).action is BLOCK


async def test_an_asker_is_told_in_their_language() -> None:
    block = [Fixed(GuardrailResult(action=BLOCK))]

    result = await run_chain(
        "¿Cómo se hace una bomba en mi casa?", CONTEXT, block, side=GuardrailDirection.INPUT
    )

    assert result.text.startswith("No puedo aceptar")


@pytest.mark.parametrize("base", [InputGuardrail, OutputGuardrail])
async def test_a_subclass_of_ones_own_works_on_both_sides(base: type[Guardrail]) -> None:
    class Own(base):  # type: ignore[misc, valid-type]
        async def check(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
            return GuardrailResult(action=BLOCK if "red" in content else PASS)

    own = [Own("mine", blocked_message="mine says no")]

    assert (
        await run_chain("red", CONTEXT, own, side=GuardrailDirection.INPUT)
    ).text == "mine says no"
    assert (await run_chain("blue", CONTEXT, own, side=GuardrailDirection.OUTPUT)).text == "blue"


async def test_trigger_callbacks_may_be_functions_or_coroutines() -> None:
    told: list[GuardrailResult] = []

    async def later(result: GuardrailResult) -> None:
        told.append(result)

    chain = [KeywordGuardrail("colours", ["red"], MODIFY), Fixed(GuardrailResult(action=PASS))]

    await run_chain("red", CONTEXT, chain, side=GuardrailDirection.OUTPUT, on_trigger=told.append)
    await run_chain("red", CONTEXT, chain, side=GuardrailDirection.OUTPUT, on_trigger=later)

    assert [one.action for one in told] == [MODIFY, MODIFY]
    assert told[0].metadata == {"guardrail": "colours", "on": "output"}


async def test_a_callback_that_fails_harms_nothing() -> None:
    def fail(_: GuardrailResult) -> None:
        raise ZeroDivisionError

    chain = [KeywordGuardrail("k", ["red"], MODIFY, "blue")]

    result = await run_chain("red", CONTEXT, chain, side=GuardrailDirection.INPUT, on_trigger=fail)

    assert result.text == "blue"


async def test_a_cancelled_turn_is_not_taken_for_a_failed_guardrail() -> None:
    started = asyncio.Event()

    class Waiting(Fixed):
        async def check(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
            started.set()
            return await super().check(content, context)

    waiting = Waiting(asyncio.Event())
    waiting.timeout_s = 60.0
    task = asyncio.create_task(waiting("text", CONTEXT))
    await started.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


def _custom(
    function: Callable[[str, dict[str, object]], GuardrailResult],
) -> CustomFunctionGuardrail:
    return CustomFunctionGuardrail("custom", function)


async def test_functions_may_be_sync_or_async_and_get_the_context() -> None:
    def shout(content: str, context: Mapping[str, object]) -> GuardrailResult:
        return GuardrailResult(action=MODIFY, content=f"{context['sender']}: {content.upper()}")

    async def mark(content: str, context: Mapping[str, object]) -> GuardrailResult:
        return GuardrailResult(action=MODIFY, content=f"{content}!")

    chain = [_custom(shout), CustomFunctionGuardrail("async", mark)]

    assert (
        await run_chain("hi", CONTEXT, chain, side=GuardrailDirection.INPUT)
    ).text == "ada@x: HI!"


async def test_a_function_cannot_change_what_the_next_is_told() -> None:
    def spoil(content: str, context: dict[str, object]) -> GuardrailResult:
        context.clear()
        return GuardrailResult(action=PASS)

    chain = [_custom(spoil), _custom(lambda content, context: _as(str(context["sender"])))]

    assert (await run_chain("hi", CONTEXT, chain, side=GuardrailDirection.INPUT)).text == "ada@x"


def _as(content: str) -> GuardrailResult:
    return GuardrailResult(action=MODIFY, content=content)


async def test_functions_that_hang_cost_their_own_guardrail_only() -> None:
    release = threading.Event()

    def hang(content: str, context: Mapping[str, object]) -> GuardrailResult:
        release.wait(30)
        return GuardrailResult(action=PASS)

    hanging, quick = _custom(hang), _custom(lambda content, context: _as("quick"))
    hanging.timeout_s = 0.05

    results = await asyncio.gather(*(hanging("hi", CONTEXT) for _ in range(20)))
    other = await quick("hi", CONTEXT)
    release.set()

    assert {one.action for one in results} == {BLOCK}
    assert other.content == "quick"


@pytest.mark.parametrize("stops", [True, False])
async def test_a_composite_blocks_whether_or_not_it_asks_the_others(stops: bool) -> None:
    asked: list[str] = []

    def note(content: str, context: Mapping[str, object]) -> GuardrailResult:
        asked.append(content)
        return GuardrailResult(action=PASS)

    block = KeywordGuardrail("k", ["red"], blocked_message="no red")
    composite = CompositeGuardrail("all", [block, _custom(note)], stop_on_block=stops)

    result = await composite("red", CONTEXT)

    assert (result.action, result.custom_message) == (BLOCK, "no red")
    assert asked == ([] if stops else ["red"])


async def test_a_composite_goes_on_with_what_all_have_left() -> None:
    composite = CompositeGuardrail(
        "all",
        [
            Fixed(GuardrailResult(action=WARNING, reason="hm")),
            KeywordGuardrail("one", ["red"], MODIFY, "blue"),
            KeywordGuardrail("off", ["blue"], enabled=False),
            CompositeGuardrail("inner", [KeywordGuardrail("two", ["blue"], MODIFY, "green")]),
        ],
    )

    result = await composite("red", CONTEXT)

    assert (result.action, result.content) == (MODIFY, "green")
    assert (result.reason or "").startswith("hm; ")


async def test_a_composite_message_takes_precedence_over_those_of_its_parts() -> None:
    inner = KeywordGuardrail("k", ["red"], blocked_message="no red")
    composite = CompositeGuardrail("all", [inner], blocked_message="the policy says no")

    assert (await composite("red", CONTEXT)).custom_message == "the policy says no"


def test_a_composite_sends_parts_only_if_all_of_its_guardrails_do() -> None:
    replacing = KeywordGuardrail("k", ["red"], MODIFY)
    judging = _custom(lambda content, context: GuardrailResult(action=PASS))

    assert CompositeGuardrail("all", [replacing]).part_guard() is not None
    assert CompositeGuardrail("all", [replacing, judging]).part_guard() is None
    judging.enabled = False
    assert CompositeGuardrail("all", [replacing, judging]).part_guard() is not None
