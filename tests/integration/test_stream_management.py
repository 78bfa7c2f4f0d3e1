"""What a person sees of an agent whose line is cut: nothing (XEP-0198)."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from spade_llm.agents import AgentOptions, ChatAgent, LLMAgent
from spade_llm.core.errors import PeerUnavailable
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.xmpp.connection import xmpp_connection
from spade_llm.xmpp.connection.xmpp_connection import XmppConnection
from tests.integration.gated_model import GatedModel
from tests.integration.network import PATIENCE_S, answer_to, jid_of, next_message
from tests.processes.proxy import line_to

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from xml.etree.ElementTree import Element

    from spade_llm.providers.model import ChatModel
    from tests.conftest import Provisioner
    from tests.integration.network import Network
    from tests.processes.proxy import Line
    from tests.xmpp.client import Client


@pytest.fixture(params=[pytest.param("prosody", marks=pytest.mark.server)])
def server(request: pytest.FixtureRequest) -> Provisioner:
    """One that manages streams."""
    provisioner: Provisioner = request.getfixturevalue(request.param)
    return provisioner


@asynccontextmanager
async def on_a_line(
    network: Network, model: ChatModel | None = None
) -> AsyncIterator[tuple[LLMAgent, Line]]:
    """An assistant behind a line that can be cut."""
    endpoint = network.server.endpoint
    jid = await network.account("assistant")
    async with line_to(endpoint.host, endpoint.port) as line:
        options = network.options(jid)
        options = replace(options, connection=replace(options.connection, port=line.port))
        provider = model or ScriptedProvider.echo()
        agent = LLMAgent(jid, network.passwords[jid], provider, options=options)
        await network.start(agent)
        try:
            yield agent, line
        finally:
            await agent.stop()


def resumption(agent: LLMAgent) -> asyncio.Event:
    assert agent.connection is not None
    event = asyncio.Event()
    agent.connection.on_resumed.append(event.set)
    return event


def _take(heard: asyncio.Event, _xml: Element) -> bool:
    heard.set()
    return True


async def test_an_agent_is_reachable_when_its_start_is_reported(network: Network) -> None:
    endpoint, heard = network.server.endpoint, asyncio.Event()
    jid, ada = await network.account("program"), await network.person()
    async with line_to(endpoint.host, endpoint.port) as line:
        line.lag_s = 0.03
        connection = replace(network.connection(), port=line.port)
        options = AgentOptions(connection=connection)
        agent = ChatAgent(jid, network.passwords[jid], options=options)
        agent.message_filters.append(partial(_take, heard))

        await agent.start()
        # A server drops what is for nobody who is there, if it is no chat.
        ada.send_raw(f"<message to='{jid}' type='headline'><body>news</body></message>")
        await asyncio.wait_for(heard.wait(), PATIENCE_S)
        await agent.stop()


async def test_a_dead_line_is_noticed_by_an_agent_that_has_nothing_to_say(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xmpp_connection, "PING_EVERY_S", 0.02)
    monkeypatch.setattr(xmpp_connection, "PING_TIMEOUT_S", 0.3)
    async with on_a_line(network) as (assistant, line):
        resumed, dropped = resumption(assistant), asyncio.Event()
        assistant.client.add_event_handler("disconnected", lambda _: dropped.set())

        line.hold()
        await asyncio.wait_for(dropped.wait(), PATIENCE_S)
        line.let_go()

        await asyncio.wait_for(resumed.wait(), PATIENCE_S)


async def test_a_ping_on_a_lost_line_does_not_hold_up_the_next_one(network: Network) -> None:
    """A replica's answers are confirmed by pings, one at a time."""
    endpoint, jid = network.server.endpoint, await network.account("replica")
    async with line_to(endpoint.host, endpoint.port) as line:
        settings = replace(network.connection(), port=line.port)
        connection = XmppConnection(
            jid, network.passwords[jid], settings, resource="r", is_managed=False
        )
        await connection.open()
        try:
            again = asyncio.Event()
            connection.on_session.append(again.set)
            line.hold()
            confirming = asyncio.create_task(connection.confirm())
            await line.holds_something.wait()
            line.cut()
            line.let_go()
            with pytest.raises(PeerUnavailable):
                await confirming
            await asyncio.wait_for(again.wait(), PATIENCE_S)

            async with asyncio.timeout(xmpp_connection.UNMANAGED_PING_EVERY_S / 2):
                await connection.confirm()
        finally:
            await connection.close()


async def test_messages_during_a_disconnect_are_answered_after_reconnecting(
    network: Network,
) -> None:
    ada = await network.person()
    async with on_a_line(network) as (assistant, line):
        assert await answer_to(ada, assistant, "one") == "one"
        address, resumed = assistant.address, resumption(assistant)

        line.cut()
        answer = await answer_to(ada, assistant, "two")
        await asyncio.wait_for(resumed.wait(), PATIENCE_S)
        third = await answer_to(ada, assistant, "three")

        assert (answer, third) == ("two", "three")
        assert assistant.address == address
        assert ada.waiting() == []


async def test_an_answer_that_was_cut_off_on_its_way_comes_once(network: Network) -> None:
    ada = await network.person()
    model = GatedModel()
    async with on_a_line(network, model) as (assistant, line):
        resumed = resumption(assistant)
        ada.send(jid_of(assistant), "wait, one")
        await asyncio.wait_for(model.was_asked.wait(), PATIENCE_S)
        line.hold()
        model.gate.set()
        await asyncio.wait_for(line.holds_something.wait(), PATIENCE_S)

        line.cut()
        line.let_go()
        first = await next_message(ada)
        await asyncio.wait_for(resumed.wait(), PATIENCE_S)
        second = await answer_to(ada, assistant, "two")

        assert (str(first["body"]), second) == ("wait, one", "two")
        assert ada.waiting() == []


async def test_a_resumed_stream_is_invisible_to_subscribers(network: Network) -> None:
    ada = await network.person()
    async with on_a_line(network) as (assistant, line):
        ada.xmpp.send_presence(pto=jid_of(assistant), ptype="subscribe")
        await ada.presence("available", assistant.address)
        resumed = resumption(assistant)

        line.cut()
        await asyncio.wait_for(resumed.wait(), PATIENCE_S)
        assert await answer_to(ada, assistant, "there?") == "there?"

        kinds = {ada.presences.get_nowait()["type"] for _ in range(ada.presences.qsize())}
        assert "unavailable" not in kinds


async def kill(agent: LLMAgent) -> None:
    """As seen from outside: the connection ends without a word, and nobody comes back."""
    assert agent.connection is not None
    assert agent.connection._keeper is not None
    agent.connection._keeper.cancel()
    agent.client.abort()
    await asyncio.sleep(0)


async def test_messages_to_a_killed_agent_are_answered_after_its_restart(network: Network) -> None:
    ada = await network.person()
    killed = await network.assistant()
    ada.send(jid_of(killed), "one")
    first = await next_message(ada)
    await kill(killed)

    ada.send(jid_of(killed), "two")
    await ada.ping()
    back = await network.assistant(jid=jid_of(killed))
    second = await other_than(first, ada)
    third = await answer_to(ada, back, "three")

    assert [str(m["body"]) for m in (first, second)] == ["one", "two"]
    assert third == "three"
    assert back.address == killed.address
    assert ada.waiting() == []


async def other_than(known: Any, person: Client) -> Any:
    """Killed between an answer and the server's word that it has it, an agent says it again, with
    the same id."""
    while (message := await next_message(person))["id"] == known["id"]:
        continue
    return message


async def test_messages_during_shutdown_are_answered_after_the_next_start(
    network: Network,
) -> None:
    ada = await network.person()
    model = GatedModel()
    stopped = await network.assistant(model)
    ada.send(jid_of(stopped), "wait, one")
    await asyncio.wait_for(model.was_asked.wait(), PATIENCE_S)

    stopping = asyncio.create_task(stopped.stop())
    await asyncio.sleep(0)
    ada.send(jid_of(stopped), "two")
    await ada.ping()
    model.gate.set()
    await asyncio.wait_for(stopping, PATIENCE_S)
    first = await next_message(ada)
    said_meanwhile = ada.waiting()
    back = await network.assistant(jid=jid_of(stopped))
    second = await next_message(ada)
    third = await answer_to(ada, back, "three")

    assert [str(m["body"]) for m in (first, second)] == ["wait, one", "two"]
    assert said_meanwhile == []
    assert third == "three"
    assert ada.waiting() == []
