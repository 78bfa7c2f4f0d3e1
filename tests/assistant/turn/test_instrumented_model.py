"""Every call of a model is counted before it is made, and its tokens however it ends."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Unpack

import pytest

from spade_llm.assistant.commands.reports import usage_text
from spade_llm.assistant.middleware.usage_ledger import UsageLedger
from spade_llm.assistant.turn.prompt import call_message
from spade_llm.assistant.turn.recall import RecallResult
from spade_llm.assistant.turn.turn_recorder import (
    InstrumentedModel,
    TurnRecorder,
    UsageTotals,
    recording,
)
from spade_llm.core.errors import ModelUnavailable
from spade_llm.providers import (
    Completion,
    FallbackModel,
    OfflineProvider,
    ScriptedProvider,
    TextDelta,
)
from spade_llm.providers.model import (
    NonStreamingModel,
    ReplaceableModel,
    ToolCall,
    ToolSpec,
    Usage,
    same_model,
)
from tests.integration.gated_model import GatedModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence

    from spade_llm.providers.model import CallOptions, ContextMessage

PEER = "ada@x"
QUESTION: list[ContextMessage] = [{"role": "user", "content": "wait" + "a" * 36, "name": "ada"}]


@asynccontextmanager
async def a_turn() -> AsyncIterator[tuple[UsageLedger, TurnRecorder]]:
    async with UsageLedger(None) as ledger:
        recorder = TurnRecorder(ledger, peer=PEER)
        with recording(recorder):
            yield ledger, recorder


async def test_rules_are_no_model_and_use_no_tokens() -> None:
    async with a_turn() as (ledger, recorder):
        await InstrumentedModel(OfflineProvider()).complete(QUESTION)
        spent = await ledger.of_today(PEER)

    assert spent == UsageTotals(turns=1)
    assert usage_text(spent) == "answers: 1, tool calls: 0, no language model was used"


async def test_tokens_are_as_the_server_counted_them() -> None:
    said = Completion(text="hi", usage=Usage(prompt_tokens=7, completion_tokens=5), model="second")
    async with a_turn() as (ledger, recorder):
        await InstrumentedModel(ScriptedProvider([said])).complete(QUESTION)
        spent = await ledger.of_today(PEER)
        record = recorder.record(RecallResult(), ())

    assert (spent.turns, spent.model_calls) == (1, 1)
    assert (spent.prompt_tokens, spent.completion_tokens, spent.estimated_tokens) == (7, 5, 0)
    assert [(call.model, call.is_estimated) for call in record.models] == [("second", False)]


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_tokens_that_no_server_counts_are_estimated_and_said_to_be(
    is_streamed: bool,
) -> None:
    model = InstrumentedModel(ScriptedProvider(["b" * 80]))
    async with a_turn() as (ledger, recorder):
        if is_streamed:
            pieces = [piece async for piece in model.stream(QUESTION)]
            assert isinstance(pieces[0], TextDelta)
        else:
            await model.complete(QUESTION)
        spent = await ledger.of_today(PEER)
        (call,) = recorder.record(RecallResult(), ()).models

    assert (spent.prompt_tokens, spent.completion_tokens) == (10, 20)
    assert spent.estimated_tokens == 30
    assert call.is_estimated


async def test_an_estimate_counts_tools_and_calls_too() -> None:
    tool = ToolSpec(name="t" * 10, description="d" * 10, parameters={"a": "b" * 10})
    call = ToolCall(id="1", name="n" * 10, arguments='{"x": 123}')
    history = [*QUESTION, call_message(Completion(tool_calls=(call,)))]
    async with a_turn() as (ledger, _):
        await InstrumentedModel(ScriptedProvider(["ok"])).complete(history, [tool])

        assert (await ledger.of_today(PEER)).prompt_tokens == 25


async def test_a_call_is_in_the_ledger_before_it_is_answered() -> None:
    model = GatedModel()
    async with a_turn() as (ledger, _):
        asking = asyncio.create_task(_ask(InstrumentedModel(model)))
        async with asyncio.timeout(5):
            await model.was_asked.wait()

        assert await ledger.of_today(PEER) == UsageTotals(turns=1, model_calls=1)

        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        assert (await ledger.of_today(PEER)).prompt_tokens == 10


async def _ask(model: InstrumentedModel) -> None:
    await model.complete(QUESTION)


async def test_a_call_that_fails_counts_and_has_its_kind_noted() -> None:
    async with a_turn() as (ledger, recorder):
        with pytest.raises(ModelUnavailable):
            await InstrumentedModel(ScriptedProvider([ModelUnavailable("gone")])).complete(QUESTION)
        spent = await ledger.of_today(PEER)
        (call,) = recorder.record(RecallResult(), ()).models

    assert (spent.model_calls, spent.tokens) == (1, 0)
    assert call.error == "ModelUnavailable"


async def test_a_stream_that_is_left_is_charged_what_came_of_it() -> None:
    model = InstrumentedModel(ScriptedProvider([" ".join(["word"] * 40)]))
    async with a_turn() as (ledger, recorder):
        pieces = model.stream(QUESTION)
        await anext(pieces)
        await pieces.aclose()

        spent = await ledger.of_today(PEER)
        (call,) = recorder.record(RecallResult(), ()).models

    assert spent.prompt_tokens == 10
    assert 0 < spent.completion_tokens < 40
    assert call.error == "not read to its end"


async def test_the_model_that_answered_for_another_is_named() -> None:
    away = ScriptedProvider([ModelUnavailable("gone")])
    async with a_turn() as (_, recorder):
        await InstrumentedModel(FallbackModel(away, ScriptedProvider.echo())).complete(QUESTION)
        (call,) = recorder.record(RecallResult(), ()).models

    assert (call.model, call.error) == ("scripted", "")


async def test_model_calls_outside_of_a_turn_are_not_charged() -> None:
    answer = await InstrumentedModel(ScriptedProvider(["hi"])).complete(QUESTION)

    assert answer.text == "hi"


async def test_a_late_failure_of_the_old_model_is_no_fault_of_the_new_one() -> None:
    old = ScriptedProvider(["ok", ModelUnavailable("It is away.")])
    replaceable = ReplaceableModel(old)
    model = InstrumentedModel(replaceable)
    with same_model():
        await model.complete([])
        replaceable.replace(ScriptedProvider([ModelUnavailable("So is this one.")]))
        with pytest.raises(ModelUnavailable, match="It is away"):
            await model.complete([])
    fault_of_old = model.health.fault
    with pytest.raises(ModelUnavailable, match="So is this"):
        await model.complete([])

    assert fault_of_old is None
    assert model.health.fault is not None


class WrongModel(NonStreamingModel):
    """A program's model that returns text instead of a Completion."""

    name = "wrong"

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> Completion:
        return "a secret"  # type: ignore[return-value]

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> AsyncGenerator[TextDelta | Completion]:
        yield "a secret"  # type: ignore[misc]


async def test_a_model_that_returns_text_is_named_without_the_text() -> None:
    model = InstrumentedModel(WrongModel())
    with pytest.raises(TypeError, match="wrong.*return a Completion") as of_answer:
        await model.complete(QUESTION)
    with pytest.raises(TypeError, match="wrong.*a Completion") as of_stream:
        _ = [part async for part in model.stream(QUESTION)]

    assert "secret" not in f"{of_answer.value} {of_stream.value}"
