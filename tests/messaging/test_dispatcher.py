"""What a dispatcher promises: order, bounds, and exactly one answer to each request."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import (
    Busy,
    ConfigurationError,
    InvalidArguments,
    MalformedContent,
    ModelUnavailable,
    NotFound,
    PeerUnavailable,
    RequestTimeout,
    StorageFailed,
    ToolFailed,
    Unauthorised,
    UnknownOntology,
)
from spade_llm.messaging import (
    CHAT_TEXT,
    MAX_BODY_BYTES,
    AclMessage,
    AnswerLog,
    Dispatcher,
    DispatcherLimits,
    DispatcherLoad,
    ErrorBody,
    Idempotency,
    Performative,
    Request,
    Route,
    VolatileAnswerLog,
)
from tests.messaging.node_harness import (
    PATIENCE_S,
    TEST,
    Gate,
    Outbox,
    cancel,
    code_of,
    echo,
    request,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.messaging import Handler


@asynccontextmanager
async def serving(
    handler: Handler,
    effect: Idempotency = Idempotency.READ,
    *,
    log: AnswerLog | None = None,
    limits: DispatcherLimits | None = None,
) -> AsyncIterator[tuple[Dispatcher, Outbox]]:
    outbox = Outbox()
    dispatcher = Dispatcher(outbox, log or VolatileAnswerLog(), limits=limits)
    for ontology in (TEST, CHAT_TEXT):
        dispatcher.route(ontology, Route(handler=handler, effect_of=lambda _: effect))
    try:
        yield dispatcher, outbox
    finally:
        await dispatcher.close(patience_s=0)


def raising(error: BaseException) -> Handler:
    async def handler(_: Request) -> str:
        raise error

    return handler


async def test_requests_of_one_conversation_are_answered_in_order() -> None:
    async with serving(echo) as (dispatcher, outbox):
        for number in range(50):
            dispatcher.receive(request(str(number), conversation_id="c"))

        answers = await outbox.has(50)

    assert [answer.content for answer in answers] == [str(number) for number in range(50)]


async def test_replicas_divide_requests_without_a_conversation_only() -> None:
    gate = Gate()
    async with serving(gate) as (dispatcher, _):
        route = Route(
            handler=gate,
            effect_of=lambda _: Idempotency.READ,
            replica_key=lambda _content, id: id,
        )
        dispatcher.route("divided", route)
        alone = request("1", id="1", ontology="divided")
        ordered = request("2", id="2", ontology="divided", conversation_id="talk")
        keys = [
            dispatcher.replica_key(one.ontology, one.content, one.reply_with)
            for one in (alone, request("3"))
        ]
        dispatcher.receive(alone)
        while_alone = dispatcher.is_serving(alone.owner)
        dispatcher.receive(ordered)

        assert keys == ["1", ""]
        assert (while_alone, dispatcher.is_serving(alone.owner)) == (False, True)
        gate.open()


async def test_a_slow_conversation_does_not_hold_up_another_one() -> None:
    gate = Gate()

    async def handler(asked: Request) -> str:
        return await gate(asked) if asked.message.content == "slow" else "quick"

    async with serving(handler) as (dispatcher, outbox):
        dispatcher.receive(request("slow", conversation_id="a"))
        dispatcher.receive(request("slow too", conversation_id="a"))
        dispatcher.receive(request("quick", conversation_id="b"))

        assert [answer.conversation_id for answer in await outbox.has(1)] == ["b"]
        gate.open()
        assert [answer.content for answer in await outbox.has(3)] == ["quick", "slow", "quick"]


@pytest.mark.parametrize(("max_time_s", "is_stopped"), [(None, True), (PATIENCE_S, False)])
async def test_a_route_may_give_its_handler_more_time_than_others_have(
    max_time_s: float | None, is_stopped: bool
) -> None:
    async def handler(_: Request) -> str:
        await asyncio.sleep(0.05)
        return "done"

    async with serving(handler, limits=DispatcherLimits(max_time_s=0.01)) as (dispatcher, outbox):
        route = Route(
            handler=handler,
            effect_of=lambda _: Idempotency.READ,
            max_time_s_of=lambda _: max_time_s,
        )
        dispatcher.route(TEST, route)
        dispatcher.receive(request("long"))

        answer = (await outbox.has(1))[0]
    assert (answer.performative is Performative.FAILURE) == is_stopped


async def test_long_requests_are_cancelled_at_shutdown_and_resumed() -> None:
    log, gate = VolatileAnswerLog(), Gate()
    async with serving(gate, log=log) as (dispatcher, outbox):
        route = Route(
            handler=gate, effect_of=lambda _: Idempotency.RESUME, max_time_s_of=lambda _: 3600.0
        )
        dispatcher.route(TEST, route)
        dispatcher.receive(request("long"))
        await gate.is_entered()

        async with asyncio.timeout(1):
            await dispatcher.close(patience_s=PATIENCE_S)

        assert outbox.sent == []
    assert [one.content for one in await log.unfinished()] == ["long"]


async def test_a_person_is_answered_in_order_whichever_client_is_used() -> None:
    gate = Gate()
    async with serving(gate) as (dispatcher, _):
        dispatcher.receive(request("1", sender="ana@home/phone", ontology=CHAT_TEXT))
        dispatcher.receive(request("2", sender="ana@home/desk", ontology=CHAT_TEXT))
        dispatcher.receive(request("3", sender="eva@home/desk", ontology=CHAT_TEXT))

        await gate.is_entered(2)

        assert gate.entered == ["1", "3"]
        assert dispatcher.load == DispatcherLoad(running=2, queued=1)


@pytest.mark.parametrize(
    ("error", "performative", "code", "detail"),
    [
        (InvalidArguments("k: too big"), "refuse", "invalid-arguments", "k: too big"),
        (Unauthorised("not yours"), "refuse", "unauthorised", "not yours"),
        (Busy("later"), "refuse", "busy", "later"),
        (NotFound("no such id"), "refuse", "not-found", "no such id"),
        (MalformedContent("no JSON"), "not-understood", "malformed", "no JSON"),
        (UnknownOntology("what?"), "not-understood", "unknown-ontology", "what?"),
        (ToolFailed("it broke"), "failure", "tool-failed", "it broke"),
        (StorageFailed("disk full"), "failure", "storage-failed", "disk full"),
        (ModelUnavailable("secret"), "failure", "model-unavailable", "the language model does not"),
        (ConfigurationError("secret"), "failure", "configuration", "something went wrong"),
        (RequestTimeout("secret", peer="m"), "failure", "timeout", "something went wrong"),
        (ValueError("secret"), "failure", "internal", "something went wrong"),
        (TimeoutError("secret"), "failure", "internal", "something went wrong"),
        (RecursionError("secret"), "failure", "internal", "something went wrong"),
        (asyncio.CancelledError("secret"), "failure", "cancelled", "it was cancelled"),
        (InvalidArguments("\ud83d" * 200_000), "refuse", "invalid-arguments", "???"),
    ],
)
@pytest.mark.parametrize("effect", [Idempotency.READ, Idempotency.WRITE])
async def test_each_error_is_one_answer_of_its_family_without_internals(
    error: BaseException,
    performative: str,
    code: str,
    detail: str,
    effect: Idempotency,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "spade_llm")
    async with serving(raising(error), effect) as (dispatcher, outbox):
        dispatcher.receive(request("first", conversation_id="c"))
        dispatcher.receive(request("second", conversation_id="c"))

        answers = await outbox.has(2)
        await dispatcher.close()

    assert len(answers) == 2
    assert answers[0].performative == performative
    assert ErrorBody.decode(answers[0].content).code == code
    assert ErrorBody.decode(answers[0].content).detail.startswith(detail)
    assert "secret" not in answers[0].content
    # No log file can hold a lone surrogate, nor should it hold all that a peer sends.
    assert all(len(record.getMessage().encode()) < 1000 for record in caplog.records)


async def test_an_answer_is_one_inform_that_names_its_question() -> None:
    asked = request("hello", conversation_id="c", id="q1")
    async with serving(echo) as (dispatcher, outbox):
        dispatcher.receive(asked)

        answers = await outbox.has(1)

    assert [(a.performative, a.in_reply_to, a.receiver) for a in answers] == [
        (Performative.INFORM, "q1", asked.sender)
    ]


async def test_an_unknown_ontology_is_not_understood_however_long_its_name() -> None:
    async with serving(echo) as (dispatcher, outbox):
        dispatcher.receive(request(ontology="weather/9" * 50_000))

        answer = (await outbox.has(1))[0]

    assert answer.performative is Performative.NOT_UNDERSTOOD
    assert code_of(answer) == "unknown-ontology"
    assert len(answer.content) < 1000


async def test_a_message_with_an_unreadable_op_is_left_to_its_handler() -> None:
    async def handler(_: Request) -> str:
        raise MalformedContent("the body is not a JSON object")

    def effect_of(_: AclMessage) -> Idempotency:
        raise MalformedContent("the body is not a JSON object")

    async with serving(handler) as (dispatcher, outbox):
        dispatcher.route(TEST, Route(handler=handler, effect_of=effect_of))
        dispatcher.receive(request("{", conversation_id="c"))
        dispatcher.receive(request("[", conversation_id="c"))

        answers = await outbox.has(2)

    assert [code_of(answer) for answer in answers] == ["malformed", "malformed"]


@pytest.mark.parametrize("content", ["x" * (MAX_BODY_BYTES + 1), "\ud83d"])
async def test_an_answer_that_cannot_travel_is_a_failure_instead(content: str) -> None:
    async def handler(_: Request) -> str:
        return content

    async with serving(handler, Idempotency.WRITE) as (dispatcher, outbox):
        dispatcher.receive(request())

        assert (await outbox.has(1))[0].performative is Performative.FAILURE


async def test_a_full_conversation_is_refused_at_once_and_others_are_not() -> None:
    gate = Gate()
    async with serving(gate, limits=DispatcherLimits(max_per_conversation=2)) as (
        dispatcher,
        outbox,
    ):
        for number in range(3):
            dispatcher.receive(request(str(number), conversation_id="c", id=f"q{number}"))
        dispatcher.receive(request("other", conversation_id="d"))

        refusal = (await outbox.has(1))[0]
        await gate.is_entered(2)

    assert (refusal.in_reply_to, code_of(refusal)) == ("q2", "busy")
    assert gate.entered == ["0", "other"]


async def test_a_full_queue_is_refused_at_once_and_there_is_room_again_later() -> None:
    gate = Gate()
    async with serving(gate, limits=DispatcherLimits(max_queued=3)) as (dispatcher, outbox):
        for number in range(4):
            dispatcher.receive(request(id=f"q{number}"))
        refusal = (await outbox.has(1))[0]
        gate.open()
        await outbox.has(4)
        dispatcher.receive(request(id="q3"))

        answers = await outbox.has(5)

    assert (refusal.in_reply_to, code_of(refusal)) == ("q3", "busy")
    assert (answers[4].in_reply_to, answers[4].performative) == ("q3", Performative.INFORM)
    assert dispatcher.load == DispatcherLoad(running=0, queued=0)


async def test_a_flood_from_one_peer_leaves_room_for_the_others() -> None:
    gate = Gate()
    async with serving(gate, limits=DispatcherLimits(max_per_peer=2)) as (dispatcher, outbox):
        for number in range(3):
            dispatcher.receive(request(sender=f"flood@x/{number}", id=f"q{number}"))
        dispatcher.receive(request("hello"))

        await gate.is_entered(3)

        assert [(a.in_reply_to, code_of(a)) for a in await outbox.has(1)] == [("q2", "busy")]
        assert "hello" in gate.entered


async def test_no_more_handlers_run_than_allowed() -> None:
    gate = Gate()
    async with serving(gate, limits=DispatcherLimits(max_running=2)) as (dispatcher, outbox):
        for _ in range(5):
            dispatcher.receive(request())
        await gate.is_entered(2)

        assert dispatcher.load == DispatcherLoad(running=2, queued=3)
        gate.open()
        assert len(await outbox.has(5)) == 5


async def test_a_cancel_stops_what_runs_and_only_that() -> None:
    gate = Gate()
    asked = request("1", conversation_id="c")
    async with serving(gate) as (dispatcher, outbox):
        dispatcher.receive(asked)
        dispatcher.receive(request("2", conversation_id="c"))
        await gate.is_entered()

        dispatcher.receive(cancel(asked))
        dispatcher.receive(cancel(asked))
        await gate.is_entered(2)
        gate.open()
        answers = await outbox.has(2)

    assert gate.was_cancelled.is_set()
    assert code_of(answers[0]) == "cancelled"
    assert (answers[1].performative, answers[1].content) == (Performative.INFORM, "2")


async def test_a_cancel_drops_what_waits() -> None:
    gate = Gate()
    waiting = request("2", conversation_id="c")
    async with serving(gate) as (dispatcher, outbox):
        dispatcher.receive(request("1", conversation_id="c"))
        dispatcher.receive(waiting)
        await gate.is_entered()

        dispatcher.receive(cancel(waiting))
        gate.open()
        answers = await outbox.has(2)

    assert gate.entered == ["1"]
    assert code_of(answers[1]) == "cancelled"


async def test_only_the_sender_can_cancel() -> None:
    gate = Gate()
    asked = request("1", conversation_id="c")
    async with serving(gate) as (dispatcher, outbox):
        dispatcher.receive(asked)
        await gate.is_entered()

        dispatcher.receive(cancel(asked, sender="eva@home/phone"))
        dispatcher.receive(cancel(asked, sender="ana@home/other"))
        gate.open()

        assert (await outbox.has(1))[0].performative is Performative.INFORM
    assert not gate.was_cancelled.is_set()


async def test_a_request_past_its_deadline_is_refused() -> None:
    limits = DispatcherLimits(clock_skew=timedelta(0))
    async with serving(echo, limits=limits) as (dispatcher, outbox):
        dispatcher.receive(request(reply_by=datetime.now(UTC)))

        answer = (await outbox.has(1))[0]

    assert (answer.performative, code_of(answer)) == (Performative.REFUSE, "deadline-passed")


@pytest.mark.parametrize("reply_by", [datetime.max.replace(tzinfo=UTC), None])
async def test_the_farthest_deadline_is_one(reply_by: datetime | None) -> None:
    async with serving(echo) as (dispatcher, outbox):
        dispatcher.receive(request(reply_by=reply_by))

        assert (await outbox.has(1))[0].performative is Performative.INFORM


async def test_a_handler_over_its_deadline_is_stopped_and_fails() -> None:
    gate = Gate()
    async with serving(gate, limits=DispatcherLimits(max_time_s=0.02)) as (dispatcher, outbox):
        dispatcher.receive(request())

        answer = (await outbox.has(1))[0]

    assert gate.was_cancelled.is_set()
    assert (answer.performative, code_of(answer)) == (Performative.FAILURE, "failed")


@pytest.mark.parametrize("effect", list(Idempotency))
async def test_a_retry_of_a_running_request_does_not_run_twice(effect: Idempotency) -> None:
    gate = Gate()
    asked = request("1", conversation_id="c")
    async with serving(gate, effect) as (dispatcher, outbox):
        dispatcher.receive(asked)
        await gate.is_entered()
        dispatcher.receive(asked)
        gate.open()
        await outbox.has(1)
        await dispatcher.close()

    assert gate.entered == ["1"]
    assert len(outbox.sent) == 1


@pytest.mark.parametrize("effect", [Idempotency.WRITE, Idempotency.RESUME, Idempotency.ONCE])
async def test_a_retry_of_an_answered_request_gets_the_same_answer(effect: Idempotency) -> None:
    times = iter(range(9))

    async def handler(_: Request) -> str:
        return f"done {next(times)}"

    asked = request("1", conversation_id="c")
    async with serving(handler, effect) as (dispatcher, outbox):
        dispatcher.receive(asked)
        await outbox.has(1)
        dispatcher.receive(asked)

        first, second = await outbox.has(2)

    assert first == second
    assert first.content == "done 0"


async def test_a_used_id_with_other_text_is_another_request() -> None:
    gate = Gate()
    async with serving(gate, Idempotency.ONCE) as (dispatcher, outbox):
        for content in ("1", "2"):
            dispatcher.receive(request(content, id="same", conversation_id="c"))
        gate.open()

        assert [answer.content for answer in await outbox.has(2)] == ["1", "2"]


@pytest.mark.parametrize(
    ("error", "effect", "runs"),
    [
        (Busy("later"), Idempotency.WRITE, 2),
        (Busy("later"), Idempotency.ONCE, 2),
        (StorageFailed("disk full"), Idempotency.WRITE, 2),
        (StorageFailed("disk full"), Idempotency.ONCE, 1),
    ],
)
async def test_asking_anew_under_the_same_id_tries_again_where_that_is_safe(
    error: Exception, effect: Idempotency, runs: int
) -> None:
    entered: list[str] = []

    async def handler(asked: Request) -> str:
        entered.append(asked.message.content)
        raise error

    deadline = datetime.now(UTC) + timedelta(minutes=1)
    first = request(id="q", reply_by=deadline)
    anew = request(id="q", reply_by=deadline + timedelta(minutes=1))
    async with serving(handler, effect) as (dispatcher, outbox):
        for count, message in enumerate((first, first, anew), start=1):
            dispatcher.receive(message)
            await outbox.has(count)

    assert len(entered) == runs


async def test_people_get_errors_as_a_plain_sentence() -> None:
    async with serving(raising(ToolFailed("the calendar is away"))) as (dispatcher, outbox):
        dispatcher.receive(request("hello", ontology=CHAT_TEXT))

        assert (await outbox.has(1))[0].content == "the calendar is away"


async def test_a_chat_answer_is_forgotten_once_sent_and_never_given_twice() -> None:
    log = VolatileAnswerLog()
    asked = request("hello", ontology=CHAT_TEXT)
    async with serving(echo, Idempotency.RESUME, log=log) as (dispatcher, outbox):
        dispatcher.receive(asked)
        await outbox.has(1)
        await dispatcher.close()
    async with serving(echo, Idempotency.RESUME, log=log) as (dispatcher, later):
        dispatcher.receive(asked)
        await dispatcher.resend()
        await dispatcher.close()

    assert await log.unsent() == []
    assert later.sent == []


async def test_unsent_answers_to_people_are_sent_once_after_reconnecting() -> None:
    log = VolatileAnswerLog()
    async with serving(echo, Idempotency.RESUME, log=log) as (dispatcher, outbox):
        outbox.is_connected = False
        dispatcher.receive(request("chat", ontology=CHAT_TEXT))
        dispatcher.receive(request("service"))
        await dispatcher.close()
        outbox.is_connected = True

        await asyncio.gather(dispatcher.resend(), dispatcher.resend())

    assert [answer.content for answer in outbox.sent] == ["chat"]


async def test_an_answer_that_is_sent_while_earlier_ones_are_resent_is_not_sent_again() -> None:
    log, writing, sent = VolatileAnswerLog(), asyncio.Queue[str](), []
    may_leave = {"old": asyncio.Event(), "new": asyncio.Event()}
    is_connected = False

    async def send(message: AclMessage) -> None:
        if not is_connected:
            raise PeerUnavailable("not connected", peer=message.receiver)
        writing.put_nowait(message.content)
        await may_leave[message.content].wait()
        sent.append(message.content)

    dispatcher = Dispatcher(send, log)
    route = Route(handler=echo, effect_of=lambda _: Idempotency.RESUME)
    dispatcher.route(CHAT_TEXT, route)
    async with asyncio.timeout(PATIENCE_S):
        dispatcher.receive(request("old", id="1", sender="ann@home/1", ontology=CHAT_TEXT))
        await dispatcher.has_room(below=1)
        is_connected = True
        dispatcher.receive(request("new", id="2", sender="bob@home/1", ontology=CHAT_TEXT))
        assert await writing.get() == "new"
        resending = asyncio.create_task(dispatcher.resend())
        assert await writing.get() == "old"
        may_leave["new"].set()
        await dispatcher.has_room(below=1)
        may_leave["old"].set()
        await resending
    await dispatcher.close()

    assert sent == ["new", "old"]


async def test_closing_lets_what_runs_end_and_refuses_what_comes() -> None:
    gate = Gate()
    async with serving(gate) as (dispatcher, outbox):
        dispatcher.receive(request("1"))
        await gate.is_entered()
        closing = asyncio.create_task(dispatcher.close(patience_s=PATIENCE_S))
        await asyncio.sleep(0)
        dispatcher.receive(request("2"))
        await outbox.has(1)
        gate.open()
        await closing

    assert [answer.performative for answer in outbox.sent] == ["refuse", "inform"]


async def test_closing_cancels_what_does_not_end_in_time() -> None:
    gate = Gate()
    async with serving(gate) as (dispatcher, outbox):
        dispatcher.receive(request("1", conversation_id="c"))
        dispatcher.receive(request("2", conversation_id="c"))
        await gate.is_entered()

        await dispatcher.close(patience_s=0)

    assert gate.was_cancelled.is_set()
    assert dispatcher.load == DispatcherLoad(running=0, queued=0)
    assert outbox.sent == []


async def test_a_storm_leaves_memory_and_tasks_bounded() -> None:
    gate = Gate()
    limits = DispatcherLimits(max_queued=100, max_running=10)
    async with serving(gate, limits=limits) as (dispatcher, outbox):
        outbox.is_connected = False
        for number in range(10_000):
            dispatcher.receive(request(str(number)))

        assert len(asyncio.all_tasks()) < 500
        assert dispatcher.load.running + dispatcher.load.queued == 100
        gate.open()
        await dispatcher.close()

    assert len(gate.entered) == 100
    assert len(asyncio.all_tasks()) == 1


async def test_answers_never_trigger_an_answer() -> None:
    asked = request("1")
    others = [p for p in Performative if p is not Performative.REQUEST]
    async with serving(echo) as (dispatcher, outbox):
        for performative in others:
            dispatcher.receive(asked.reply(performative, "x"))
        await dispatcher.close()

    assert outbox.sent == []


async def test_a_send_that_fails_in_an_unknown_way_does_not_deafen_the_conversation() -> None:
    outbox = Outbox()

    async def send(message: AclMessage) -> None:
        if message.content == "1":
            raise ValueError("not well-formed")
        await outbox(message)

    dispatcher = Dispatcher(send, VolatileAnswerLog())
    dispatcher.route(TEST, Route(handler=echo, effect_of=lambda _: Idempotency.READ))
    dispatcher.receive(request("1", conversation_id="c"))
    dispatcher.receive(request("2", conversation_id="c"))

    assert [answer.content for answer in await outbox.has(1)] == ["2"]
    await dispatcher.close()


async def test_an_answer_that_the_network_does_not_take_becomes_a_failure() -> None:
    outbox = Outbox()

    async def send(message: AclMessage) -> None:
        if len(message.content) > 1000:
            raise MalformedContent("the message has over 1000 bytes")
        await outbox(message)

    dispatcher = Dispatcher(send, VolatileAnswerLog())
    dispatcher.route(TEST, Route(handler=echo, effect_of=lambda _: Idempotency.READ))
    dispatcher.receive(request("&" * 1001))

    answer = (await outbox.has(1))[0]
    assert (answer.performative, code_of(answer)) == (Performative.FAILURE, "failed")
    await dispatcher.close()
