"""What is stopped by whoever asked for it, or because they have left; and nobody else's."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from spade_llm.acl import CHAT_TEXT, Encoding, Performative
from spade_llm.runtime import (
    Bounce,
    Dispatcher,
    Effect,
    Limits,
    Request,
    Route,
    VolatileAnswerLog,
)
from tests.runtime.harness import PATIENCE_S, TEST, Gate, Outbox, code_of, echo, request

ANA = "ana@home/phone"


def a_turn(gate: Gate, *, ends_with_asker: bool = True) -> Route:
    return Route(handler=gate, effect_of=lambda _: Effect.RESUME, ends_with_asker=ends_with_asker)


def serving_turns(gate: Gate, outbox: Outbox, *, patience_s: float = 0.01) -> Dispatcher:
    made = Dispatcher(outbox, VolatileAnswerLog(), limits=Limits(patience_s=patience_s))
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


async def test_what_is_stopped_twice_is_found_once() -> None:
    gate, outbox = Gate(), Outbox()
    serving = serving_turns(gate, outbox)
    serving.receive(request("hi", conversation_id="c"))
    await gate.is_entered()

    first, second = (serving.stop("ana@home", "c", (TEST,)) for _ in range(2))

    assert [len(one.requests) for one in (first, second)] == [1, 0]
    assert await first.has_ended(timeout_s=PATIENCE_S)
    await serving.close(patience_s=0)


async def test_who_stops_a_turn_gets_none_of_it_even_if_it_does_not_listen() -> None:
    entered, outbox = asyncio.Event(), Outbox()
    serving = Dispatcher(outbox, VolatileAnswerLog())

    async def deaf(asked: Request) -> str:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return asked.message.content
        return ""

    serving.route(TEST, Route(handler=deaf, effect_of=lambda _: Effect.RESUME))
    serving.receive(request("hi", conversation_id="c"))
    await entered.wait()

    await serving.stop("ana@home", "c", (TEST,)).has_ended(timeout_s=PATIENCE_S)

    assert [code_of(answer) for answer in outbox.sent] == ["cancelled"]
    await serving.close(patience_s=0)


async def test_an_answer_without_words_is_not_sent_to_a_person() -> None:
    outbox = Outbox()
    serving = Dispatcher(outbox, VolatileAnswerLog())
    serving.route(CHAT_TEXT, Route(handler=echo, effect_of=lambda _: Effect.RESUME))
    serving.receive(request("", ontology=CHAT_TEXT))
    serving.receive(request("words", ontology=CHAT_TEXT))

    assert [answer.content for answer in await outbox.has(1)] == ["words"]
    await serving.close(patience_s=PATIENCE_S)
    assert len(outbox.sent) == 1


async def test_a_program_that_has_left_is_worked_for_no_longer() -> None:
    gate, outbox = Gate(), Outbox()
    serving = serving_turns(gate, outbox)
    asked = request("hi", conversation_id="c")
    serving.receive(asked)
    await gate.is_entered()

    serving.bounced(bounce_of(f"{asked.reply_with}.0"))
    probe = (await outbox.has(1))[0]
    assert probe.performative is Performative.AGREE
    assert not gate.was_cancelled.is_set()
    serving.bounced(bounce_of(probe.reply_with))

    await asyncio.wait_for(gate.was_cancelled.wait(), PATIENCE_S)
    serving.receive(asked)
    gate.open()
    assert (await outbox.has(2))[1].content == "hi"
    await serving.close(patience_s=0)


async def test_a_program_that_is_back_in_time_gets_its_answer() -> None:
    gate, outbox = Gate(), Outbox()
    serving = serving_turns(gate, outbox)
    asked = request("hi", conversation_id="c")
    serving.receive(asked)
    await gate.is_entered()

    serving.bounced(bounce_of(f"{asked.reply_with}.0"))
    serving.bounced(bounce_of(f"{asked.reply_with}.1"))
    await outbox.has(1)
    gate.open()

    assert [one.content for one in (await outbox.has(2))[1:]] == ["hi"]
    await serving.close(patience_s=PATIENCE_S)
    assert len(outbox.sent) == 2


async def test_a_person_who_goes_offline_and_others_bounces_stop_nothing() -> None:
    gate, outbox = Gate(), Outbox()
    serving = serving_turns(gate, outbox)
    person = request("hi", ontology=CHAT_TEXT)
    program = request("ho", conversation_id="c")
    serving.receive(person)
    serving.receive(program)
    await gate.is_entered(2)

    for suffix in ("0", "agree"):
        serving.bounced(bounce_of(f"{person.reply_with}.{suffix}"))
        serving.bounced(bounce_of(f"{program.reply_with}.{suffix}", peer="eve@home/1"))
        serving.bounced(bounce_of(f"{program.reply_with}.{suffix}", condition="not-allowed"))
    gate.open()

    assert {one.content for one in await outbox.has(2)} == {"hi", "ho"}
    await serving.close(patience_s=0)


def bounce_of(
    message_id: str, *, peer: str = ANA, condition: str = "service-unavailable"
) -> Bounce:
    return Bounce(message_id=message_id, peer=peer, condition=condition)
