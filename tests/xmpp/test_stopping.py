"""An agent that is told to stop, and its caller meanwhile cancelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.xmpp.agent import AgentOptions, XmppAgent
from spade_llm.xmpp.connection import Connection

if TYPE_CHECKING:
    from tests.conftest import Provisioner


@pytest.mark.parametrize("turns", range(12))
async def test_a_cancelled_stop_ends_in_the_cancellation(embedded: Provisioner, turns: int) -> None:
    endpoint = embedded.endpoint
    connection = Connection(host=endpoint.host, port=endpoint.port, ca_path=endpoint.ca_path)
    jid, password = await embedded.account("ada")
    agent = XmppAgent(jid, password, options=AgentOptions(connection=connection))
    await agent.start()

    stopping = asyncio.ensure_future(agent.stop())
    for _ in range(turns):
        await asyncio.sleep(0)
    was_done = stopping.done()
    stopping.cancel()
    await asyncio.wait([stopping], timeout=5)

    assert stopping.cancelled() or was_done
    await agent.stop()
