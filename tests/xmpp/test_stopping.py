"""An agent that is told to stop, and its caller meanwhile cancelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.xmpp.agent import AgentOptions, XmppAgent
from spade_llm.xmpp.connection.settings import ConnectionSettings
from spade_llm.xmpp.spade_adapters import Behaviour

if TYPE_CHECKING:
    from tests.conftest import Provisioner


@pytest.mark.parametrize("turns", range(12))
async def test_a_cancelled_stop_ends_in_the_cancellation(embedded: Provisioner, turns: int) -> None:
    endpoint = embedded.endpoint
    connection = ConnectionSettings(
        host=endpoint.host, port=endpoint.port, ca_path=endpoint.ca_path
    )
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


class Waiting(Behaviour):
    """Ours wait for ever between two things: what they do begins elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.is_waiting = asyncio.Event()

    async def run(self) -> None:
        self.is_waiting.set()
        await asyncio.Event().wait()


async def test_a_behaviour_does_not_restart_after_its_task_is_cancelled(
    embedded: Provisioner,
) -> None:
    """`spade.run` ends so after Ctrl-C, and waits for each."""
    endpoint = embedded.endpoint
    connection = ConnectionSettings(
        host=endpoint.host, port=endpoint.port, ca_path=endpoint.ca_path
    )
    jid, password = await embedded.account("ada")
    agent = XmppAgent(jid, password, options=AgentOptions(connection=connection))
    waiting = Waiting()
    agent.add_behaviour(waiting)
    await agent.start()
    await asyncio.wait_for(waiting.is_waiting.wait(), 5)
    running = asyncio.all_tasks()
    (task,) = (one for one in running if "CyclicBehaviour._start" in repr(one.get_coro()))

    task.cancel()
    await asyncio.wait([task], timeout=5)

    assert task.done()
    await agent.stop()
