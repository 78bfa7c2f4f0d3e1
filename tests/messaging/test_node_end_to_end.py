"""Nodes on a network: what two agents promise each other end to end."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from spade_llm.core.errors import (
    MalformedContent,
    PeerUnavailable,
    RequestFailed,
    RequestRefused,
    RequestTimeout,
)
from spade_llm.messaging import AclMessage, Idempotency, Performative, Request
from spade_llm.messaging.transport import MAX_STANZA_BYTES
from tests.messaging.node_harness import PATIENCE_S, TEST, Gate, echo, network_of, request

ANA, BOT = "ana@home/phone", "bot@home/agent"


async def test_a_question_by_bare_jid_finds_its_answer() -> None:
    async with network_of(ANA, BOT) as (ana, bot):
        bot.serves(echo)

        assert await ana.ask("bot@home", "hello") == "hello"
        assert await ana.ask(BOT, "again") == "again"


async def test_the_network_stamps_the_sender_whatever_a_message_claims() -> None:
    async with network_of("eve@evil/1", BOT) as (eve, bot):
        await eve.transport.send(request("hello", sender=ANA, id="x"))
        await eve.transport.send(
            AclMessage(performative=Performative.REQUEST, sender=ANA, receiver=BOT, content="hello")
        )

        assert [message.sender for message in await bot.got(1)] == ["eve@evil/1"]


async def test_a_message_to_an_unknown_jid_is_bounced_at_once() -> None:
    async with network_of(ANA) as (ana,):
        with pytest.raises(PeerUnavailable) as raised:
            await ana.ask("nobody@home", "hello")

    assert raised.value.wire_code == "service-unavailable"


async def test_oversized_messages_are_not_sent() -> None:
    async with network_of(ANA, BOT) as (ana, bot):
        with pytest.raises(RequestRefused, match="bytes") as raised:
            await ana.ask(BOT, "x" * MAX_STANZA_BYTES)
        with pytest.raises(MalformedContent):
            await ana.transport.send(request("x" * MAX_STANZA_BYTES))

    assert raised.value.wire_code == "malformed"
    assert bot.received == []


async def test_a_lost_request_is_sent_again() -> None:
    async with network_of(ANA, BOT, first_retry_s=0.01) as (ana, bot):
        bot.serves(echo)
        ana.lose = 2

        assert await ana.ask(BOT, "hello") == "hello"


async def test_a_lost_answer_is_given_again_without_running_again() -> None:
    gate = Gate()
    gate.open()
    async with network_of(ANA, BOT, first_retry_s=0.01) as (ana, bot):
        bot.serves(gate, Idempotency.ONCE)
        bot.lose = 2

        assert await ana.ask(BOT, "hello") == "hello"

    assert gate.entered == ["hello"]


async def test_a_timeout_stops_the_handler_at_the_peer() -> None:
    gate = Gate()
    async with network_of(ANA, BOT) as (ana, bot):
        bot.serves(gate)
        with pytest.raises(RequestTimeout):
            await ana.ask(BOT, "hello", timeout_s=0.02)

        async with asyncio.timeout(PATIENCE_S):
            await gate.was_cancelled.wait()


async def test_a_stream_arrives_part_by_part() -> None:
    async def spell(asked: Request) -> str:
        await asked.agree()
        for letter in asked.message.content:
            await asked.part(letter)
        return asked.message.content

    async with network_of(ANA, BOT) as (ana, bot):
        bot.serves(spell)
        stream = ana.node.requester.stream(ana.question(BOT, "abc"), timeout_s=PATIENCE_S)
        async with aclosing(stream):
            got = [message.content async for message in stream]

    assert got == ["a", "b", "c", "abc"]


async def test_error_answers_and_answers_to_nothing_start_no_loop() -> None:
    async def fail(_: Request) -> str:
        raise ValueError("broken")

    async with network_of(ANA, BOT) as (ana, bot):
        ana.serves(fail)
        bot.serves(fail)
        for performative in Performative:
            stray = request("x", sender=ANA).reply(performative, "x")
            await ana.transport.send(
                AclMessage(
                    performative=performative,
                    sender="",
                    receiver=BOT,
                    content="x",
                    ontology=TEST,
                    in_reply_to=stray.in_reply_to,
                )
            )
        with pytest.raises(RequestFailed):
            await ana.ask(BOT, "hello")
        counts = len(ana.received), len(bot.received)

    # Of all that was sent, the stray request and the question were answered, once each.
    assert counts == (2, len(Performative) + 1)


async def test_an_agent_may_ask_itself() -> None:
    async with network_of(BOT) as (bot,):
        bot.serves(echo)

        assert await bot.ask(BOT, "hello") == "hello"


async def test_many_conversations_at_once_each_get_their_own_answers_in_order() -> None:
    async with network_of(ANA, BOT) as (ana, bot):
        bot.serves(echo)

        async def talk(name: str) -> list[str]:
            return [await ana.ask(BOT, f"{name}{turn}", conversation_id=name) for turn in range(20)]

        said = await asyncio.gather(*(talk(name) for name in "abcdefgh"))

    assert said == [[f"{name}{turn}" for turn in range(20)] for name in "abcdefgh"]
