"""Requests of a client that wait for their answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from slixmpp.exceptions import IqTimeout
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import MatchXPath

from spade_llm.agents import ConnectionSettings
from spade_llm.xmpp.connection.xmpp_connection import XmppConnection
from tests.xmpp.client import WAIT_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from tests.conftest import Provisioner
    from tests.xmpp.client import Client

QUERY = "{test:pending}query"
RESULT = "<iq type='result' to='{to}' id='{id}'><query xmlns='test:pending'>{by}</query></iq>"


async def connect(xmpp: Provisioner, name: str) -> XmppConnection:
    jid, password = await xmpp.account(name)
    place = xmpp.endpoint
    settings = ConnectionSettings(host=place.host, port=place.port, ca_path=place.ca_path)
    connection = XmppConnection(jid, password, settings, resource="asking")
    await connection.open()
    return connection


async def test_only_the_asked_entity_can_answer_a_request(
    xmpp: Provisioner, login: Callable[..., Awaitable[Client]]
) -> None:
    asked: asyncio.Queue[Any] = asyncio.Queue()
    friend, stranger = await login(xmpp, "friend"), await login(xmpp, "stranger")
    friend.xmpp.register_handler(
        Callback("query", MatchXPath(f"{{jabber:client}}iq/{QUERY}"), asked.put_nowait)
    )
    connection = await connect(xmpp, "asker")
    try:
        question = connection.client.make_iq_get(queryxmlns="test:pending", ito=friend.jid)
        answer = asyncio.ensure_future(question.send(timeout=WAIT_S))
        request = await asyncio.wait_for(asked.get(), WAIT_S)
        place = {"to": connection.client.boundjid.full, "id": request["id"]}

        stranger.xmpp.send_raw(RESULT.format(by="stranger", **place))
        # Its next message arrives behind its answer.
        heard = asyncio.Event()
        connection.client.register_handler(
            Callback("heard", MatchXPath("{jabber:client}message"), lambda _: heard.set())
        )
        stranger.xmpp.send_message(place["to"], "done")
        await asyncio.wait_for(heard.wait(), WAIT_S)
        assert not answer.done()
        friend.xmpp.send_raw(RESULT.format(by="friend", **place))

        assert (await answer).xml.find(QUERY).text == "friend"
    finally:
        await connection.close()


async def test_a_request_that_timed_out_is_forgotten(
    xmpp: Provisioner, login: Callable[..., Awaitable[Client]]
) -> None:
    silent = await login(xmpp, "silent")
    silent.xmpp.register_handler(
        Callback("query", MatchXPath(f"{{jabber:client}}iq/{QUERY}"), lambda _: None)
    )
    connection = await connect(xmpp, "asker")
    try:
        question = connection.client.make_iq_get(queryxmlns="test:pending", ito=silent.jid)
        with pytest.raises(IqTimeout):
            await question.send(timeout=0.1)

        assert not connection.client.remove_handler(f"IqCallback_{question['id']}")
    finally:
        await connection.close()


async def test_a_ping_has_no_sender_of_its_own_and_keeps_to_its_timeout(xmpp: Provisioner) -> None:
    """ejabberd closes the stream of a client that names another sender (`invalid-from`)."""
    connection = await connect(xmpp, "pinging")
    sent: list[Any] = []

    def note(stanza: Any) -> Any:
        sent.append(stanza)
        return stanza

    try:
        connection.client.add_filter("out", note)
        began_s = asyncio.get_running_loop().time()

        assert await connection.client.ping(connection.client.boundjid.host, WAIT_S) == ""
        # A name that no server of the test's has: its answer does not come at once.
        await connection.client.ping("silent.invalid", 0.2)

        assert [one.xml.get("from") for one in sent] == [None, None]
        assert asyncio.get_running_loop().time() - began_s < WAIT_S
    finally:
        await connection.close()
