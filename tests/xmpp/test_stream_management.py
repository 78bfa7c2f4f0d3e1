"""What a managed stream knows of what has arrived (XEP-0198), without a connection."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, fromstring

from hypothesis import given
from hypothesis import strategies as st

from spade_llm.xmpp.connection import stream_management
from spade_llm.xmpp.connection.stream_management import ACK_WITHIN_S, NAMESPACE, StreamManagement

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

CHAT = "<message to='ada@home' id='{}'><body>hello</body></message>"
INCOMING = fromstring("<message xmlns='jabber:client'><body>hello</body></message>")


class Wire:
    """What was written, and a server that says what the test has it say."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.due: list[float] = []
        self.stream = StreamManagement(self.written.append, self.due.append)

    def say(self, name: str, **attributes: str) -> None:
        self.stream.note_received(Element(f"{{{NAMESPACE}}}{name}", attributes))

    def enabled(self, *, resume: str = "true") -> StreamManagement:
        self.stream.enable()
        self.say("enabled", id="one", resume=resume)
        self.written.clear()
        return self.stream

    def send(self, *ids: str) -> None:
        for one in ids:
            self.stream.note_sent(CHAT.format(one))

    async def resumed(self, handled: int) -> bool:
        resuming = asyncio.create_task(self.stream.resume())
        await asyncio.sleep(0)
        self.written.clear()
        self.say("resumed", h=str(handled), previd="one")
        return await resuming


async def test_acknowledged_stanzas_are_known_by_their_number() -> None:
    wire = Wire()
    stream = wire.enabled()
    wire.send("1", "2")
    first = stream.receipt()
    wire.send("3")
    second = stream.receipt()

    wire.say("a", h="2")

    assert first.result() is True
    assert not second.done()


async def test_where_nothing_is_on_its_way_everything_has_arrived() -> None:
    stream = Wire().enabled()

    assert stream.receipt().result() is True


async def test_a_server_can_be_asked_for_a_word_when_everything_has_arrived() -> None:
    wire = Wire()
    stream = wire.enabled()
    word = stream.request_ack()
    was_done = word.done()

    wire.say("a", h="0")

    assert wire.written == [f"<r xmlns='{NAMESPACE}'/>"]
    assert (was_done, word.result()) == (False, True)


async def test_a_resumed_stream_sends_again_what_did_not_arrive_and_nothing_else() -> None:
    wire = Wire()
    stream = wire.enabled()
    wire.send("1", "2", "3")
    receipt = stream.receipt()
    stream.drop()

    assert await wire.resumed(1)
    sent, has_arrived_early = wire.written[:], receipt.done()
    wire.say("a", h="3")

    assert sent == [CHAT.format("2"), CHAT.format("3"), f"<r xmlns='{NAMESPACE}'/>"]
    assert not has_arrived_early
    assert receipt.result() is True


async def test_a_server_that_lost_the_stream_still_says_how_much_arrived() -> None:
    wire = Wire()
    stream = wire.enabled()
    wire.send("1")
    first = stream.receipt()
    wire.send("2")
    second = stream.receipt()
    stream.drop()
    resuming = asyncio.create_task(stream.resume())
    await asyncio.sleep(0)

    wire.say("failed", h="1")

    assert not await resuming
    assert (first.result(), second.result()) == (True, False)
    assert not stream.may_resume


async def test_a_connection_that_drops_while_it_resumes_leaves_the_stream_to_the_next() -> None:
    wire = Wire()
    stream = wire.enabled()
    wire.send("1")
    stream.drop()
    resuming = asyncio.create_task(stream.resume())
    await asyncio.sleep(0)

    stream.drop()

    assert not await resuming
    assert await wire.resumed(0)
    assert CHAT.format("1") in wire.written


async def test_without_resumption_a_drop_decides() -> None:
    wire = Wire()
    stream = wire.enabled(resume="false")
    wire.send("1")
    receipt = stream.receipt()

    stream.drop()

    assert receipt.result() is False


async def test_more_than_is_kept_is_not_resumed_but_may_still_arrive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream_management, "MAX_UNACKED", 2)
    wire = Wire()
    stream = wire.enabled()
    wire.send("1", "2", "3", "4")
    receipt = stream.receipt()
    may_resume = stream.may_resume

    wire.say("a", h="4")

    assert not may_resume
    assert receipt.result() is True
    assert stream.may_resume


async def test_received_stanzas_are_acknowledged_on_request_or_soon() -> None:
    wire = Wire()
    stream = wire.enabled()
    stream.note_received(INCOMING)
    wire.say("r")
    stream.acknowledge(stream.mark())

    assert wire.due == [ACK_WITHIN_S, 0.0]
    assert wire.written == [f"<a xmlns='{NAMESPACE}' h='1'/>"]


async def test_numbers_that_were_overtaken_do_not_go_back() -> None:
    wire = Wire()
    stream = wire.enabled()
    before = stream.mark()
    stream.note_received(INCOMING)
    stream.acknowledge(stream.mark())

    stream.acknowledge(before)

    assert wire.written == [f"<a xmlns='{NAMESPACE}' h='1'/>"] * 2


async def test_marks_of_another_stream_are_ignored() -> None:
    wire = Wire()
    stream = wire.enabled()
    stream.note_received(INCOMING)
    old = stream.mark()
    wire.enabled()

    stream.acknowledge(old)

    assert wire.written == []


async def test_a_frozen_stream_leaves_stanzas_at_the_server() -> None:
    wire = Wire()
    stream = wire.enabled()
    stream.note_received(INCOMING)
    stream.is_frozen = True
    stream.note_received(INCOMING)

    stream.acknowledge(stream.mark())

    assert wire.written == [f"<a xmlns='{NAMESPACE}' h='1'/>"]


async def test_only_stanzas_are_counted() -> None:
    wire = Wire()
    stream = wire.enabled()
    stream.note_sent(" ")
    stream.note_sent("</stream:stream>")
    stream.note_received(fromstring("<error xmlns='http://etherx.jabber.org/streams'/>"))

    assert stream.receipt().result() is True
    assert stream.mark().handled == 0


STEPS: st.SearchStrategy[Callable[[Wire], None]] = st.one_of(
    st.just(lambda wire: wire.send("x")),
    st.text(max_size=12).map(lambda h: lambda wire: wire.say("a", h=h)),
    st.integers(-5, 2**33).map(lambda h: lambda wire: wire.say("a", h=str(h))),
    st.sampled_from(["r", "failed", "enabled", "resumed", "unknown"]).map(
        lambda name: lambda wire: wire.say(name)
    ),
    st.just(lambda wire: wire.stream.drop()),
    st.just(lambda wire: wire.stream.enable()),
)


@given(st.lists(STEPS, max_size=40))
def test_every_receipt_is_decided_under_any_server_behaviour(
    steps: list[Callable[[Wire], None]],
) -> None:
    async def live() -> None:
        wire = Wire()
        stream = wire.enabled()
        receipts = []
        for step in steps:
            step(wire)
            receipts.append(stream.receipt())
        stream.give_up()
        assert all(receipt.done() for receipt in receipts)

    asyncio.run(live())


def test_pending_acknowledgement_requests_are_shared() -> None:
    wire = Wire()
    stream = wire.enabled()
    wire.send("1")

    stream.request_ack_at_flush()
    stream.request_ack_at_flush()
    stream.flush_ack_request()
    stream.flush_ack_request()
    stream.request_ack_at_flush()
    stream.flush_ack_request()

    assert wire.written == [f"<r xmlns='{NAMESPACE}'/>"]
