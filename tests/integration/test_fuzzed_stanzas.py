"""Odd stanzas on a real server: nobody but their sender notices, and nothing of ours raises."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from random import Random
from typing import TYPE_CHECKING
from xml.etree.ElementTree import fromstring

import pytest

from spade_llm.agents import AssistantConfig
from spade_llm.xmpp.features.rooms import RoomsOptions
from tests.integration.network import Network, answer_to
from tests.xmpp.random_stanzas import random_stanza
from tests.xmpp.raw_stream import RawStream
from tests.xmpp.test_fuzz import BOMB, HEADER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.agents import LLMAgent
    from tests.conftest import Provisioner
    from tests.xmpp.client import Client

pytestmark = pytest.mark.server

FORM = "jabber:x:data"
COMMANDS = "http://jabber.org/protocol/commands"
SHAPES = {
    "deep": f"<message to='BOT'><body>x</body>{'<a>' * 5000}{'</a>' * 5000}</message>",
    "wide": "<message to='BOT'><body>x</body>" + "<a/>" * 20_000 + "</message>",
    "attributes": "<message to='BOT'><acl xmlns='urn:spade-llm:acl:1'"
    + "".join(f" a{n}='{n}'" for n in range(5000))
    + "/></message>",
    "thread": "<message to='BOT' type='chat'><body>x</body>"
    + f"<thread>{'t' * 90_000}</thread></message>",
    "fields": f"<message to='BOT'><x xmlns='{FORM}' type='form'><title>spade:x:metadata</title>"
    + "<field var='performative'><value>cancel</value></field><field/><value/>" * 2000
    + "</x></message>",
    "form": f"<iq to='BOT' type='set' id='f1'><command xmlns='{COMMANDS}' node='usage'"
    f" action='odd'><x xmlns='{FORM}' type='odd'><field><value/></field></x></command></iq>",
    "session": f"<iq to='BOT' type='set' id='f2'><command xmlns='{COMMANDS}' node='memories'"
    f" sessionid='{'s' * 5000}' action='complete'/></iq>",
    "turned": "<message to='BOT' type='chat'><body>\u202e\u2066\u200b\ufeff</body></message>",
}


@pytest.fixture
async def network(prosody: Provisioner, tmp_path: Path) -> AsyncIterator[Network]:
    async with contextlib.AsyncExitStack() as stack:
        yield Network(server=prosody, directory=tmp_path, stack=stack)


@pytest.fixture
async def assistant(network: Network) -> LLMAgent:
    """With all that reads stanzas."""
    return await network.assistant(config=AssistantConfig(rooms=RoomsOptions(nick="bot")))


async def is_unharmed(network: Network, assistant: LLMAgent) -> bool:
    return await answer_to(await network.person("bob"), assistant, "still there?") == "still there?"


async def test_random_stanzas_are_survived(
    network: Network, assistant: LLMAgent, caplog: pytest.LogCaptureFixture
) -> None:
    eve, random = await network.person("eve"), Random(6)

    for _ in range(10):
        for _ in range(25):
            eve.send_raw(_from_a_client(random, assistant.address))
        await eve.ping()

    assert await is_unharmed(network, assistant)
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR] == []


def _from_a_client(random: Random, to: str) -> str:
    """Without the namespace that the stream has, and what the server stamps."""
    xml = random_stanza(random, sender="eve@x/y", receiver=to)
    fromstring(xml)
    return xml.replace(" xmlns='jabber:client' from=\"eve@x/y\"", "", 1)


async def test_huge_and_deeply_nested_stanzas_are_survived(
    network: Network, assistant: LLMAgent, caplog: pytest.LogCaptureFixture
) -> None:
    eve: Client = await network.person("eve")

    for shape in SHAPES.values():
        eve.send_raw(shape.replace("BOT", assistant.address))
    await eve.ping()

    assert await is_unharmed(network, assistant)
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR] == []


async def test_a_bomb_ends_its_sender_s_stream_at_the_server(
    network: Network, assistant: LLMAgent
) -> None:
    endpoint = network.server.endpoint
    stream = RawStream(*await asyncio.open_connection(endpoint.host, endpoint.port))

    stream.write(BOMB + HEADER)

    assert (await stream.read_to_end()).endswith("</stream:error></stream:stream>")
    await stream.aclose()
    assert await is_unharmed(network, assistant)
