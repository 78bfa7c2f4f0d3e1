"""The calls of a turn: whom they are made for, and which need a yes first."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.turn.approval import ApprovalVerdict, Approver
from spade_llm.assistant.turn.prompt import user_message
from spade_llm.assistant.turn.recall import RecallResult
from spade_llm.assistant.turn.tool_calls import ToolCallRunner
from spade_llm.assistant.turn.turn import Turn
from spade_llm.assistant.turn.turn_options import TurnOptions
from spade_llm.context import NoContextManagement
from spade_llm.providers import Completion, ScriptedProvider, ToolCall
from spade_llm.providers.model import ToolSpec
from spade_llm.tools.toolbox import NO_CONTEXT, CallContext, ToolResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from spade_llm.assistant.turn.approval import ApprovalQuestion
    from spade_llm.assistant.turn.tool_loop import TurnResult

PATIENCE_S = 5.0
ANY_ARGUMENTS = {"type": "object", "properties": {}}


class Box:
    """A toolbox with a harmless tool `look` and a `send` that needs a yes."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Mapping[str, object], CallContext]] = []
        self.looked = asyncio.Event()

    async def list(self) -> Sequence[ToolSpec]:
        look = ToolSpec(name="look", description="looks", parameters=ANY_ARGUMENTS)
        send = ToolSpec(
            name="send", description="sends", parameters=ANY_ARGUMENTS, needs_approval=True
        )
        return [look, send]

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        self.calls.append((name, arguments, context))
        if name == "look":
            self.looked.set()
        return ToolResult(text=f"{name} done")


class Asked:
    """A person who answers each question as told; the last answer holds on."""

    def __init__(self, *verdicts: ApprovalVerdict) -> None:
        self.questions: list[ApprovalQuestion] = []
        self._verdicts = list(verdicts)

    async def __call__(self, question: ApprovalQuestion) -> ApprovalVerdict:
        self.questions.append(question)
        return self._verdicts.pop(0) if len(self._verdicts) > 1 else self._verdicts[0]


def wish(name: str, id: str = "1", **arguments: object) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=json.dumps(arguments))


def wishing(*calls: ToolCall) -> Completion:
    return Completion(tool_calls=calls)


async def run(
    box: Box, model: ScriptedProvider, person: Approver, limits: TurnLimits | None = None
) -> TurnResult:
    turn = Turn(
        model,
        strategy=NoContextManagement(),
        system_prompt="Be",
        toolbox=box,
        limits=limits or TurnLimits(),
    )
    history = [user_message("hello?", peer=person.jid)]
    return await turn.run(history, RecallResult(), options=TurnOptions(approver=person))


def person(asked: Asked | None) -> Approver:
    return Approver(jid="ada@x", turn_id="t", ask=asked)


async def test_every_tool_call_carries_its_principal() -> None:
    box = Box()

    await run(box, ScriptedProvider([wishing(wish("look")), "ok"]), person(None))

    assert box.calls == [("look", {}, CallContext(on_behalf_of="ada@x", turn="t"))]


async def keys_of(model: ScriptedProvider, person: Approver) -> list[tuple[str, str]]:
    box = Box()
    await run(box, model, person)
    return [(str(arguments.get("at", "")), one.idempotency_key) for _, arguments, one in box.calls]


async def test_a_call_has_the_same_key_when_its_turn_is_resumed_and_no_other_call_has_it() -> None:
    ada = Approver(jid="ada@x", turn_id="t", turn_key="t.1")
    both = wishing(wish("look", "1", at="sea", by="day"), wish("look", "2", at="sky"))
    other_order = wishing(wish("look", "1", by="day", at="sea"))

    first = await keys_of(ScriptedProvider([both, wishing(wish("look", at="sky")), "ok"]), ada)
    again = await keys_of(ScriptedProvider([wishing(wish("look", at="sky")), other_order, ""]), ada)
    of_others = [
        await keys_of(ScriptedProvider([both, "ok"]), replace(ada, turn_key="t.2")),
        await keys_of(ScriptedProvider([both, "ok"]), replace(ada, jid="bob@x")),
    ]

    assert [at for at, _ in first] == ["sea", "sky", "sky"]
    assert dict(again) == dict(first[:2])
    keys = [key for called in (first, *of_others) for _, key in called]
    assert len(set(keys)) == len(keys) == 7


async def test_an_approved_tool_runs_and_its_approver_is_recorded() -> None:
    box, asked = Box(), Asked(ApprovalVerdict.YES)
    model = ScriptedProvider([wishing(wish("send", to="bob")), "sent"])

    result = await run(box, model, person(asked))

    context = CallContext(on_behalf_of="ada@x", approved_by="ada@x", turn="t")
    assert box.calls == [("send", {"to": "bob"}, context)]
    assert [question.arguments for question in asked.questions] == [('to = "bob"',)]
    assert result.called[0].is_success


async def test_a_no_is_told_to_the_model_and_nothing_runs() -> None:
    box, asked = Box(), Asked(ApprovalVerdict.NO)
    model = ScriptedProvider([wishing(wish("send")), "I did not."])

    result = await run(box, model, person(asked))

    assert box.calls == []
    assert "said no" in str(model.requests[1].messages[-1]["content"])
    assert not result.called[0].is_success


async def test_an_unreachable_approver_counts_as_a_refusal() -> None:
    box = Box()

    result = await run(box, ScriptedProvider([wishing(wish("send")), "ok"]), person(None))

    assert box.calls == []
    assert "nobody can be asked" in result.called[0].result


async def test_the_same_call_is_not_asked_for_again_after_a_no() -> None:
    box, asked = Box(), Asked(ApprovalVerdict.NO)
    again = wishing(wish("send", to="bob"))
    model = ScriptedProvider([again, again, wishing(wish("send", to="eve")), "ok"])

    await run(box, model, person(asked))

    assert [question.arguments for question in asked.questions] == [
        ('to = "bob"',),
        ('to = "eve"',),
    ]


async def test_after_an_approval_timeout_no_more_questions_are_asked_in_this_turn() -> None:
    box, asked = Box(), Asked(ApprovalVerdict.EXPIRED)
    model = ScriptedProvider([wishing(wish("send", to="a"), wish("send", "2", to="b")), "ok"])

    result = await run(box, model, person(asked))

    assert len(asked.questions) == 1
    assert [called.result for called in result.called] == [result.called[0].result] * 2


async def test_questions_come_one_after_another_and_other_calls_run_meanwhile() -> None:
    box = Box()
    open_questions: list[str] = []

    async def ask(question: ApprovalQuestion) -> ApprovalVerdict:
        open_questions.append(question.id)
        assert len(open_questions) == 1
        async with asyncio.timeout(5):
            await box.looked.wait()
        open_questions.remove(question.id)
        return ApprovalVerdict.YES

    calls = (wish("send", "1", to="a"), wish("send", "2", to="b"), wish("look", "3"))
    model = ScriptedProvider([wishing(*calls), "ok"])

    result = await run(box, model, Approver(jid="ada@x", turn_id="t", ask=ask))

    assert [called.is_success for called in result.called] == [True] * 3


async def test_each_question_has_an_id_of_its_own() -> None:
    asked = Asked(ApprovalVerdict.YES)
    twice = wishing(wish("send", "1"), wish("send", "2"))

    await run(Box(), ScriptedProvider([twice, "ok"]), person(asked))

    assert len({question.id for question in asked.questions}) == 2


async def test_waiting_for_a_person_does_not_use_up_the_turn_s_time() -> None:
    box, ends_at = Box(), list[float | None]()

    async def ask(_question: ApprovalQuestion) -> ApprovalVerdict:
        ends_at.append(scope.when())
        return ApprovalVerdict.YES

    async with asyncio.timeout(PATIENCE_S) as scope:
        whose = Approver(jid="ada@x", turn_id="t", ask=ask)
        calls = ToolCallRunner(box, await box.list(), approver=whose, scope=scope)
        (called,) = await calls.run([wish("send")], round=1, room=9)

        assert scope.when() is not None

    assert (called.is_success, ends_at) == (True, [None])


async def test_a_tool_that_was_not_offered_is_not_called() -> None:
    box = Box()
    model = ScriptedProvider([wishing(wish("delete_everything")), "ok"])

    result = await run(box, model, person(Asked(ApprovalVerdict.YES)))

    assert box.calls == []
    assert "There is no tool 'delete_everything'" in result.called[0].result


class Asking(Box):
    """Its tools wait for others, each until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.answered = [asyncio.Event(), asyncio.Event()]

    async def list(self) -> Sequence[ToolSpec]:
        return [replace(one, asks_others=True) for one in await super().list()]

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        await self.answered[int(str(arguments["whom"]))].wait()
        return await super().call(name, arguments, context=context)


async def test_a_tool_that_asks_others_does_not_use_up_the_turn_s_time_not_even_several() -> None:
    box, aside = Asking(), list[str]()
    both_wait = asyncio.Event()

    @asynccontextmanager
    async def step_aside() -> AsyncIterator[None]:
        aside.append("in")
        if len(aside) == len(box.answered):
            both_wait.set()
        yield
        aside.append("out")

    async with asyncio.timeout(PATIENCE_S) as scope:
        whose = Approver(jid="ada@x", turn_id="t", release_slot=step_aside)
        calls = ToolCallRunner(box, await box.list(), approver=whose, scope=scope)
        wishes = [wish("look", "1", whom=0), wish("look", "2", whom=1)]
        running = asyncio.create_task(calls.run(wishes, round=1, room=9))
        await both_wait.wait()
        box.answered[0].set()
        await box.looked.wait()
        with_one_left = scope.when()
        box.answered[1].set()
        await running

        assert (with_one_left, scope.when() is None) == (None, False)

    assert aside == ["in", "in", "out", "out"]
