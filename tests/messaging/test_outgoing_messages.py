"""Questions that travel as chat messages: whose answer counts, and what becomes of the others."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import PeerUnavailable, RequestRefused, RequestTimeout
from spade_llm.messaging import (
    AclMessage,
    Encoding,
    InMemoryNetwork,
    Node,
    Performative,
    VolatileAnswerLog,
)
from spade_llm.messaging.outgoing_messages import OutgoingMessages, chat_message
from tests.messaging.node_harness import Member, Outbox
from tests.messaging.scripted_peer import Program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PATIENCE_S = 5.0
QUESTION = "which way?"


class Wavering:
    """A node whose connection can go."""

    def __init__(self) -> None:
        self.send = Outbox()
        self.node = Node(self.send, VolatileAnswerLog())


@dataclass
class Pair:
    """Who asks, and whom: a plain program that only collects."""

    asker: Member
    peer: Program
    letters: OutgoingMessages

    def ask(self, thread: str = "t1", *, to: str = "peer@net") -> asyncio.Task[AclMessage]:
        message = chat_message(to, QUESTION, thread=thread, metadata={"message_type": "llm"})
        return asyncio.create_task(self.letters.ask(message, timeout_s=PATIENCE_S))

    async def asked(self, count: int = 1) -> AclMessage:
        return (await self.peer.got(count))[count - 1]


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    network = InMemoryNetwork()
    asker = Member(network=network, jid="asker@net/1")
    peer = Program(network=network, jid="peer@net/1")
    yield Pair(asker, peer, OutgoingMessages(asker.node))
    await asker.node.close()


async def test_a_message_in_the_thread_of_a_question_answers_it(pair: Pair) -> None:
    waiting = pair.ask()
    question = await pair.asked()

    await pair.peer.answer(question, "left")

    assert (await waiting).content == "left"
    assert question.extra == {"message_type": "llm"}


async def test_a_reply_to_the_question_s_id_answers_it_without_a_thread(pair: Pair) -> None:
    waiting = pair.ask()
    question = await pair.asked()

    await pair.peer.answer(question, "left", in_thread=False)

    assert (await waiting).content == "left"


async def test_another_jid_in_the_same_thread_answers_nothing(pair: Pair) -> None:
    stranger = Program(network=pair.peer.network, jid="stranger@net/1")
    waiting = pair.ask()
    question = await pair.asked()

    await stranger.answer(question, "wrong")
    await pair.peer.answer(question, "left")

    assert (await waiting).content == "left"


async def test_a_second_and_a_late_answer_are_taken_and_answer_nothing_else(pair: Pair) -> None:
    first = pair.ask("t1")
    question = await pair.asked()
    await pair.peer.answer(question, "left")
    await first

    second = pair.ask("t2")
    other = await pair.asked(2)
    await pair.peer.answer(question, "left again")
    await pair.peer.answer(other, "right")

    assert (await second).content == "right"
    assert pair.asker.node.dispatcher.load.running == 0


async def test_parts_and_promises_are_no_answers(pair: Pair) -> None:
    waiting = pair.ask()
    question = await pair.asked()

    await pair.peer.transport.send(question.reply(Performative.AGREE, ""))
    await pair.peer.transport.send(question.reply(Performative.INFORM, "le", sequence=0))
    await pair.peer.transport.send(question.reply(Performative.INFORM, "left"))

    assert (await waiting).content == "left"


async def test_a_refusal_is_an_error_with_the_peer_s_words(pair: Pair) -> None:
    waiting = pair.ask()
    question = await pair.asked()

    await pair.peer.transport.send(question.reply(Performative.REFUSE, "not now"))

    with pytest.raises(RequestRefused, match="not now"):
        await waiting


async def test_a_question_to_an_unknown_jid_fails_at_once(pair: Pair) -> None:
    with pytest.raises(PeerUnavailable, match="service-unavailable"):
        await pair.ask(to="nobody@net")


async def test_silence_ends_at_the_deadline(pair: Pair) -> None:
    message = chat_message("peer@net", QUESTION, thread="t1")

    with pytest.raises(RequestTimeout):
        await pair.letters.ask(message, timeout_s=0.01)


async def test_a_question_beyond_the_bound_is_refused_here(pair: Pair) -> None:
    letters = OutgoingMessages(pair.asker.node, max_open=1)
    first = asyncio.create_task(
        letters.ask(chat_message("peer@net", QUESTION, thread="t1"), timeout_s=PATIENCE_S)
    )
    await pair.asked()

    with pytest.raises(RequestRefused):
        await letters.ask(chat_message("peer@net", QUESTION, thread="t2"), timeout_s=PATIENCE_S)

    first.cancel()
    await asyncio.wait([first])


async def test_a_message_with_the_same_id_is_sent_once(pair: Pair) -> None:
    message = chat_message("peer@net", "hello", id="one")

    await pair.letters.say(message)
    await pair.letters.say(message)
    await pair.letters.say(chat_message("peer@net", "the end"))

    received = await pair.peer.got(2)
    assert [one.content for one in received] == ["hello", "the end"]
    assert received[0].encoding is Encoding.PLAIN


async def test_unsent_messages_are_sent_after_the_next_connection() -> None:
    wavering = Wavering()
    letters = OutgoingMessages(wavering.node)
    wavering.send.is_connected = False
    await letters.say(chat_message("peer@net", "hello", id="one"))

    wavering.send.is_connected = True
    await wavering.node.dispatcher.resend()
    await wavering.node.dispatcher.resend()

    assert [one.content for one in wavering.send.sent] == ["hello"]
