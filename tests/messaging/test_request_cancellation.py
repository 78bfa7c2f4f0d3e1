"""What is stopped by whoever asked for it, or because they have left; and nobody else's."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from spade_llm.messaging import (
    CHAT_TEXT,
    Dispatcher,
    DispatcherLimits,
    Encoding,
    Idempotency,
    Request,
    Route,
    VolatileAnswerLog,
)
from spade_llm.messaging.message import stable_id
from tests.messaging.node_harness import PATIENCE_S, TEST, Gate, Outbox, code_of, echo, request

ANA = "ana@home/phone"


def a_turn(gate: Gate, *, ends_with_asker: bool = True) -> Route:
    return Route(
        handler=gate, effect_of=lambda _: Idempotency.RESUME, ends_with_asker=ends_with_asker
    )


def serving_turns(gate: Gate, outbox: Outbox, *, patience_s: float = 0.01) -> Dispatcher:
    made = Dispatcher(outbox, VolatileAnswerLog(), limits=DispatcherLimits(patience_s=patience_s))
    made.route(TEST, a_turn(gate))
    made.route(CHAT_TEXT, a_turn(gate, ends_with_asker=False))
    return made


async def test_a_stop_ends_what_runs_and_what_waits_in_one_conversation_only() -> None:
    gate, outbox = Gate(), Outbox()
    serving = serving_turns(gate, outbox)
    for text, conversation in (("first", "c"), ("second", "c"), ("other", "d")):
        serving.receive(request(text, conversation_id=conversation))
    serving.receive(request("eve's", sender="eve@home/1", conversation_id="c"))
    await gate.is_entered(3)

    stopped = serving.stop("ana@home", "c", (TEST,))

    assert [one.content for one in stopped.requests] == ["first", "second"]
    assert await stopped.has_ended(timeout_s=PATIENCE_S)
    assert [code_of(answer) for answer in outbox.sent] == ["cancelled", "cancelled"]
    gate.open()
    assert {answer.content for answer in (await outbox.has(4))[2:]} == {"other", "eve's"}
    await serving.close(patience_s=0)


async def test_a_person_s_stopped_message_is_answered_by_nothing() -> None:
    gate, outbox = Gate(), Outbox()
    serving = serving_turns(gate, outbox)
    serving.receive(replace(request("hi", ontology=CHAT_TEXT), encoding=Encoding.PLAIN))
    await gate.is_entered()

    await serving.stop("ana@home", "", (CHAT_TEXT,)).has_ended(timeout_s=PATIENCE_S)

    assert gate.was_cancelled.is_set()
    assert outbox.sent == []
    await serving.close(patience_s=0)


async def test_a_request_stopped_twice_is_reported_once() -> None:
    gate, outbox = Gate(), Outbox()
    serving = serving_turns(gate, outbox)
    serving.receive(request("hi", conversation_id="c"))
    await gate.is_entered()

    first, second = (serving.stop("ana@home", "c", (TEST,)) for _ in range(2))

    assert [len(one.requests) for one in (first, second)] == [1, 0]
    assert await first.has_ended(timeout_s=PATIENCE_S)
    await serving.close(patience_s=0)


async def test_a_turn_that_begins_to_wait_in_the_moment_of_the_stop_is_stopped() -> None:
    """It would wait for an expert until the question expires."""
    go, outbox = asyncio.Event(), Outbox()
    is_entered = asyncio.Event()

    async def ask_somebody(running: Request) -> str:
        is_entered.set()
        await go.wait()
        async with running.set_aside():
            await asyncio.Event().wait()
        return ""

    serving = Dispatcher(outbox, VolatileAnswerLog())
    serving.route(TEST, Route(handler=ask_somebody, effect_of=lambda _: Idempotency.RESUME))
    serving.receive(request("hi", conversation_id="c"))
    await asyncio.wait_for(is_entered.wait(), PATIENCE_S)

    go.set()
    stopped = serving.stop("ana@home", "c", (TEST,))

    assert await stopped.has_ended(timeout_s=PATIENCE_S)
    assert [code_of(answer) for answer in outbox.sent] == ["cancelled"]
    await serving.close(patience_s=0)


async def test_a_stopped_turn_sends_no_answer_even_if_its_handler_continues() -> None:
    entered, outbox = asyncio.Event(), Outbox()
    serving = Dispatcher(outbox, VolatileAnswerLog())

    async def deaf(asked: Request) -> str:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return asked.message.content
        return ""

    serving.route(TEST, Route(handler=deaf, effect_of=lambda _: Idempotency.RESUME))
    serving.receive(request("hi", conversation_id="c"))
    await entered.wait()

    await serving.stop("ana@home", "c", (TEST,)).has_ended(timeout_s=PATIENCE_S)

    assert [code_of(answer) for answer in outbox.sent] == ["cancelled"]
    await serving.close(patience_s=0)


async def test_an_answer_without_words_is_not_sent_to_a_person() -> None:
    outbox = Outbox()
    serving = Dispatcher(outbox, VolatileAnswerLog())
    serving.route(CHAT_TEXT, Route(handler=echo, effect_of=lambda _: Idempotency.RESUME))
    serving.receive(request("", ontology=CHAT_TEXT))
    serving.receive(request("words", ontology=CHAT_TEXT))

    assert [answer.content for answer in await outbox.has(1)] == ["words"]
    await serving.close(patience_s=PATIENCE_S)
    assert len(outbox.sent) == 1


class Presences:
    """Who is there, as a server says it when it is asked."""

    def __init__(self, *answers: bool) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []
        self.is_over = asyncio.Event()

    async def __call__(self, jid: str) -> bool:
        self.asked.append(jid)
        if len(self._answers) == 1:
            self.is_over.set()
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


async def test_a_program_that_has_left_is_worked_for_no_longer() -> None:
    gate, outbox = Gate(), Outbox()
    serving = serving_turns(gate, outbox)
    serving.is_there = presences = Presences(True, False)
    asked = request("hi", conversation_id="c")
    serving.receive(asked)

    await asyncio.wait_for(gate.was_cancelled.wait(), PATIENCE_S)

    assert presences.asked == [ANA] * 3
    serving.is_there = None
    serving.receive(asked)
    gate.open()
    assert [one.content for one in await outbox.has(1)] == ["hi"]
    await serving.close(patience_s=0)


async def test_a_program_that_is_back_in_time_gets_its_answer() -> None:
    gate, outbox = Gate(), Outbox()
    serving = serving_turns(gate, outbox)
    serving.is_there = presences = Presences(False, True, False, True)
    serving.receive(request("hi", conversation_id="c"))
    await asyncio.wait_for(presences.is_over.wait(), PATIENCE_S)
    gate.open()

    assert [one.content for one in await outbox.has(1)] == ["hi"]
    assert not gate.was_cancelled.is_set()
    await serving.close(patience_s=0)


async def test_a_request_that_will_be_repeated_goes_on_without_its_asker() -> None:
    gate, outbox = Gate(), Outbox()
    serving = serving_turns(gate, outbox, patience_s=0)
    serving.is_there = presences = Presences(False)
    asked = request("hi", id=stable_id("key"), conversation_id="c")
    serving.receive(asked)
    serving.receive(request("ho", sender="bea@home/program"))
    await asyncio.wait_for(gate.was_cancelled.wait(), PATIENCE_S)
    gate.open()
    await outbox.has(1)
    serving.receive(asked)

    assert [one.content for one in await outbox.has(2)] == ["hi", "hi"]
    assert set(presences.asked) == {"bea@home/program"}
    assert gate.left == ["hi"]
    await serving.close(patience_s=0)


async def test_whether_a_person_is_there_is_not_asked() -> None:
    gate, outbox = Gate(), Outbox()
    serving = serving_turns(gate, outbox, patience_s=0)
    serving.is_there = presences = Presences(False)
    serving.receive(request("hi", ontology=CHAT_TEXT, sender="bea@home/phone"))
    serving.receive(request("ho", conversation_id="c"))
    await asyncio.wait_for(gate.was_cancelled.wait(), PATIENCE_S)
    gate.open()

    assert [one.content for one in await outbox.has(1)] == ["hi"]
    assert set(presences.asked) == {ANA}
    await serving.close(patience_s=0)
