"""An agent whose answer log is not open yet is nobody's to write to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import ChatAgent
from spade_llm.core.errors import ConfigurationError
from tests.integration.network import PATIENCE_S

if TYPE_CHECKING:
    from slixmpp import ClientXMPP

    from tests.integration.network import Network


class Gate:
    """Holds up a client's binding."""

    def __init__(self) -> None:
        self.is_reached, self.is_open = asyncio.Event(), asyncio.Event()

    def hold(self, client: ClientXMPP) -> None:
        until_ready = client.until_ready

        async def held() -> None:
            self.is_reached.set()
            await self.is_open.wait()
            await until_ready()

        client.until_ready = held


async def test_no_resource_is_bound_before_the_agent_is_ready(network: Network) -> None:
    jid, gate = await network.account("program"), Gate()
    agent = ChatAgent(jid, network.passwords[jid], options=network.options(jid))
    agent.on_client.append(gate.hold)

    starting = asyncio.create_task(network.start(agent))
    await asyncio.wait_for(gate.is_reached.wait(), PATIENCE_S)
    was_bound = agent.client.bound
    gate.is_open.set()
    await starting

    assert (was_bound, agent.client.bound) == (False, True)


async def test_an_unusable_answer_log_aborts_the_start_before_logging_in(
    network: Network,
) -> None:
    jid = await network.account("program")
    options = network.options(jid)
    assert options.data is not None
    (options.data / f"answers-{jid.partition('@')[0]}.db").write_text("no database " * 100)
    agent = ChatAgent(jid, network.passwords[jid], options=options)

    with pytest.raises(ConfigurationError, match="the answer log"):
        await agent.start()

    assert not agent.client.bound
