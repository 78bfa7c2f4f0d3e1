"""What whoever asks can rely on: one answer or one error, in time, from the peer that was asked."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import (
    PeerUnavailable,
    RequestError,
    RequestFailed,
    RequestNotUnderstood,
    RequestRefused,
    RequestTimeout,
)
from spade_llm.messaging import (
    AclMessage,
    Bounce,
    ErrorBody,
    OutgoingRequest,
    Performative,
    Requester,
)
from spade_llm.messaging.message import stable_id
from spade_llm.messaging.requester import MAX_PARTS
from tests.messaging.node_harness import PATIENCE_S, TEST, Outbox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PEER = "memory@home"


@asynccontextmanager
async def asking(
    *, max_pending: int = 4096, first_retry_s: float = PATIENCE_S
) -> AsyncIterator[tuple[Requester, Outbox]]:
    outbox = Outbox()
    requester = Requester(outbox, max_pending=max_pending, first_retry_s=first_retry_s)
    yield requester, outbox
    await requester.close()


def question(id: str = "q", *, peer: str = PEER) -> OutgoingRequest:
    return OutgoingRequest(peer=peer, ontology=TEST, content="?", conversation_id="c", id=id)


def ask(requester: Requester, *, timeout_s: float = PATIENCE_S) -> asyncio.Task[AclMessage]:
    return asyncio.create_task(requester.ask(question(), timeout_s=timeout_s))


def answer(
    asked: AclMessage,
    content: str = "",
    *,
    performative: Performative = Performative.INFORM,
    sequence: int | None = None,
) -> AclMessage:
    reply = asked.reply(performative, content, sequence=sequence)
    return replace(reply, sender=f"{PEER}/1")


async def contents(requester: Requester) -> list[str]:
    stream = requester.stream(question(), timeout_s=PATIENCE_S)
    return [message.content async for message in stream]


async def test_a_question_travels_with_its_id_conversation_and_deadline() -> None:
    async with asking() as (requester, outbox):
        asked = ask(requester)
        sent = (await outbox.has(1))[0]
        requester.receive(answer(sent, "yes"))

        assert (await asked).content == "yes"

    assert (sent.performative, sent.receiver, sent.reply_with) == ("request", PEER, "q")
    assert (sent.conversation_id, sent.ontology) == ("c", TEST)
    assert sent.reply_by is not None
    assert len(outbox.sent) == 1


@pytest.mark.parametrize(
    ("performative", "error"),
    [
        (Performative.REFUSE, RequestRefused),
        (Performative.FAILURE, RequestFailed),
        (Performative.NOT_UNDERSTOOD, RequestNotUnderstood),
    ],
)
async def test_an_error_answer_is_its_exception(
    performative: Performative, error: type[RequestError]
) -> None:
    content = ErrorBody(code="busy", detail="later").encode()
    async with asking() as (requester, outbox):
        asked = ask(requester)
        requester.receive(answer((await outbox.has(1))[0], content, performative=performative))

        with pytest.raises(error, match="later") as raised:
            await asked

    assert (raised.value.wire_code, raised.value.peer) == ("busy", f"{PEER}/1")
    assert raised.value.conversation_id == "c"
    assert len(outbox.sent) == 1


@pytest.mark.parametrize("peer", [PEER, f"{PEER}/1", "home", ""])
async def test_a_bounce_fails_the_question_at_once(peer: str) -> None:
    async with asking() as (requester, outbox):
        asked = ask(requester)
        await outbox.has(1)
        bounce = Bounce(message_id="q", peer=peer, condition="service-unavailable")

        assert requester.bounced(bounce)
        with pytest.raises(PeerUnavailable) as raised:
            await asked

    assert raised.value.wire_code == "service-unavailable"
    assert len(outbox.sent) == 1
    assert not requester.bounced(bounce)


async def test_answers_from_other_senders_are_ignored() -> None:
    async with asking() as (requester, outbox):
        asked = ask(requester)
        sent = (await outbox.has(1))[0]

        assert not requester.receive(replace(answer(sent, "lie"), sender="eve@home/1"))
        assert not requester.receive(replace(answer(sent, "lie"), sender=f"{PEER}.evil/1"))
        assert not requester.bounced(Bounce(message_id="q", peer="eve@home", condition="gone"))
        requester.receive(answer(sent, "truth"))
        assert (await asked).content == "truth"


async def test_a_resource_that_was_asked_is_the_only_one_that_answers() -> None:
    async with asking() as (requester, outbox):
        peer = question(peer=f"{PEER}/1")
        asked = asyncio.create_task(requester.ask(peer, timeout_s=PATIENCE_S))
        sent = (await outbox.has(1))[0]

        assert not requester.receive(replace(answer(sent, "lie"), sender=f"{PEER}/2"))
        requester.receive(answer(sent, "truth"))
        assert (await asked).content == "truth"


@pytest.mark.parametrize("performative", [Performative.REQUEST, Performative.CANCEL])
async def test_a_request_that_names_our_question_is_no_answer_to_it(
    performative: Performative,
) -> None:
    async with asking() as (requester, outbox):
        asked = ask(requester)
        sent = (await outbox.has(1))[0]

        assert not requester.receive(answer(sent, performative=performative))
        requester.receive(answer(sent, "yes"))
        assert (await asked).content == "yes"


async def test_an_answer_to_nothing_is_not_taken() -> None:
    async with asking() as (requester, outbox):
        asked = ask(requester)
        sent = (await outbox.has(1))[0]
        requester.receive(answer(sent))
        await asked

        assert not requester.receive(answer(sent))


async def test_silence_ends_at_the_deadline_and_the_peer_is_told() -> None:
    async with asking() as (requester, outbox):
        with pytest.raises(RequestTimeout, match="did not answer in time"):
            await ask(requester, timeout_s=0.01)
        sent, cancel = await outbox.has(2)

    assert cancel.performative is Performative.CANCEL
    assert (cancel.in_reply_to, cancel.conversation_id) == (sent.reply_with, "c")
    assert cancel.ontology == TEST


async def test_an_abandoned_request_is_cancelled_at_the_peer() -> None:
    async with asking() as (requester, outbox):
        asked = ask(requester)
        await outbox.has(1)
        asked.cancel()

        assert (await outbox.has(2))[1].performative is Performative.CANCEL


@pytest.mark.parametrize("id", ["q", stable_id("q")], ids=["random", "stable"])
async def test_at_shutdown_a_request_that_will_be_repeated_goes_on_at_the_peer(id: str) -> None:
    async with asking() as (requester, outbox):
        requester.is_closing = lambda: True
        asked = asyncio.create_task(requester.ask(question(id), timeout_s=PATIENCE_S))
        await outbox.has(1)
        asked.cancel()
        await asyncio.wait([asked])
        await requester.close()

        cancels = [one.in_reply_to for one in outbox.sent[1:]]
        assert cancels == ([] if id == stable_id("q") else [id])


async def test_open_requests_are_resent_after_a_reconnect() -> None:
    async with asking() as (requester, outbox):
        asked = ask(requester)
        (first,) = await outbox.has(1)

        await requester.send_again()

        assert outbox.sent == [first, first]
        requester.receive(answer(first, "done"))
        assert (await asked).content == "done"
        await requester.send_again()
        assert len(outbox.sent) == 2


async def test_a_connection_that_is_lost_again_meanwhile_ends_nothing() -> None:
    async with asking() as (requester, outbox):
        asked = ask(requester)
        (first,) = await outbox.has(1)

        outbox.is_connected = False
        await requester.send_again()

        requester.receive(answer(first, "done"))
        assert (await asked).content == "done"


async def test_after_silence_the_very_same_message_is_sent_again() -> None:
    async with asking(first_retry_s=0.01) as (requester, outbox):
        asked = ask(requester)
        first, second, third = (await outbox.has(3))[:3]
        requester.receive(answer(first, "yes"))

        assert (await asked).content == "yes"

    assert first == second == third


@pytest.mark.parametrize("sign", ["agree", "part"])
async def test_a_sign_of_work_slows_the_retries_down(sign: str) -> None:
    async with asking(first_retry_s=0.01) as (requester, outbox):
        asked = ask(requester, timeout_s=0.1)
        sent = (await outbox.has(1))[0]
        is_part = sign == "part"
        performative = Performative.INFORM if is_part else Performative.AGREE
        sequence = 0 if is_part else None
        requester.receive(answer(sent, performative=performative, sequence=sequence))

        with pytest.raises(RequestTimeout):
            await asked
        await outbox.has(2)

    assert [message.performative for message in outbox.sent] == ["request", "cancel"]


@pytest.mark.parametrize("sign", ["agree", "part"])
async def test_an_answer_that_is_lost_after_a_sign_of_work_is_asked_for_again(
    sign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spade_llm.messaging.requester.MAX_RETRY_S", 0.05)
    async with asking(first_retry_s=0.01) as (requester, outbox):
        asked = ask(requester)
        sent = (await outbox.has(1))[0]
        is_part = sign == "part"
        performative = Performative.INFORM if is_part else Performative.AGREE
        sequence = 0 if is_part else None
        requester.receive(answer(sent, performative=performative, sequence=sequence))
        again = (await outbox.has(2))[1]
        requester.receive(answer(again, "yes"))

        assert (await asked).content == "yes"

    assert sent == again


async def test_a_network_that_is_away_is_an_error_of_the_request() -> None:
    async with asking() as (requester, outbox):
        outbox.is_connected = False
        with pytest.raises(PeerUnavailable):
            await ask(requester)


async def test_a_network_that_does_not_take_it_ends_at_the_deadline() -> None:
    async def stuck(_: AclMessage) -> None:
        await asyncio.Event().wait()

    requester = Requester(stuck)

    with pytest.raises(RequestTimeout):
        await ask(requester, timeout_s=0.01)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


async def test_parts_come_in_order_each_once_and_then_the_answer() -> None:
    async with asking() as (requester, outbox):
        streamed = asyncio.create_task(contents(requester))
        sent = (await outbox.has(1))[0]
        for sequence in (0, 0, 1, 0, 1, 2):
            requester.receive(answer(sent, str(sequence), sequence=sequence))
        requester.receive(answer(sent, "012"))

        assert await streamed == ["0", "1", "2", "012"]
    assert len(outbox.sent) == 1


async def test_a_lost_part_ends_the_parts_and_the_answer_still_has_the_whole() -> None:
    async with asking() as (requester, outbox):
        streamed = asyncio.create_task(contents(requester))
        sent = (await outbox.has(1))[0]
        for sequence in (0, 2, 3):
            requester.receive(answer(sent, str(sequence), sequence=sequence))
        requester.receive(answer(sent, "0123"))

        assert await streamed == ["0", "0123"]


async def test_news_are_taken_whatever_was_lost_and_from_a_peer_that_began_again() -> None:
    async with asking() as (requester, outbox):
        stream = requester.stream(replace(question(), is_news=True), timeout_s=PATIENCE_S)
        first = asyncio.ensure_future(anext(stream))
        sent = (await outbox.has(1))[0]
        for sequence in (0, 2, 3, 0, 1):
            requester.receive(answer(sent, str(sequence), sequence=sequence))
        requester.receive(answer(sent, "done"))

        assert [(await first).content, *[one.content async for one in stream]] == [
            *("0", "2", "3", "0", "1", "done")
        ]


async def test_asking_ignores_parts_and_waits_for_the_answer() -> None:
    async with asking() as (requester, outbox):
        asked = ask(requester)
        sent = (await outbox.has(1))[0]
        requester.receive(answer(sent, "0", sequence=0))
        requester.receive(answer(sent, "whole"))

        assert (await asked).content == "whole"


async def test_leaving_a_stream_early_cancels_it_at_the_peer() -> None:
    async with asking() as (requester, outbox):
        stream = requester.stream(question(), timeout_s=PATIENCE_S)
        first = asyncio.ensure_future(anext(stream))
        sent = (await outbox.has(1))[0]
        requester.receive(answer(sent, "0", sequence=0))
        async with aclosing(stream):
            assert (await first).content == "0"

        assert (await outbox.has(2))[1].performative is Performative.CANCEL


async def test_a_peer_that_floods_a_stream_is_cut_off_and_told() -> None:
    async with asking() as (requester, outbox):
        streamed = asyncio.create_task(contents(requester))
        sent = (await outbox.has(1))[0]
        for sequence in range(MAX_PARTS + 1):
            requester.receive(answer(sent, sequence=sequence))

        with pytest.raises(RequestFailed, match="more parts"):
            await streamed
        assert (await outbox.has(2))[1].performative is Performative.CANCEL


async def test_one_question_too_many_is_refused_here() -> None:
    async with asking(max_pending=1) as (requester, outbox):
        asked = ask(requester)
        sent = (await outbox.has(1))[0]

        with pytest.raises(RequestRefused) as raised:
            await requester.ask(question("other"), timeout_s=PATIENCE_S)

        requester.receive(answer(sent))
        await asked
    assert raised.value.wire_code == "busy"
    assert len(outbox.sent) == 1


async def test_the_same_question_twice_at_a_time_is_refused_and_the_first_goes_on() -> None:
    async with asking() as (requester, outbox):
        asked = ask(requester)
        sent = (await outbox.has(1))[0]

        with pytest.raises(RequestRefused):
            await ask(requester)

        requester.receive(answer(sent, "yes"))
        assert (await asked).content == "yes"
    assert len(outbox.sent) == 1
