"""A plain SPADE agent, with a FIPA template, uses our memory agent. It imports nothing of ours.

Teaches: the wire contract: performative, ontology, a JSON body, and the reply's metadata.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any

from spade.agent import Agent
from spade.behaviour import OneShotBehaviour
from spade.message import Message
from spade.template import Template

from spade_llm import LocalNetwork, MemoryAgent


class Remember(OneShotBehaviour):
    async def run(self) -> None:
        draft = {"content": "The meeting is on Friday", "category": "fact"}
        await self.ask({"op": "add", "draft": draft})
        found = await self.ask({"op": "search", "query": "when is the meeting?"})
        print(found["results"][0]["entry"]["content"])

    async def ask(self, body: dict[str, object]) -> Any:
        metadata = {"performative": "request", "ontology": "spade-llm.memory/1", "language": "json"}
        await self.send(Message(to="memory@localhost", body=json.dumps(body), metadata=metadata))
        reply = await self.receive(timeout=10)
        if reply is None or reply.body is None:
            raise TimeoutError("memory@localhost: no answer in 10 s")
        return json.loads(reply.body)


class PlainAgent(Agent):
    ca_path = ""
    """SPADE 4.1.4 takes no CA: its client gets one before it connects."""

    async def _async_connect(self) -> None:
        assert self.client is not None, "SPADE creates it before it connects"
        self.client.ssl_context = ssl.create_default_context(cafile=self.ca_path)
        await super()._async_connect()


async def main() -> None:
    async with LocalNetwork() as network:
        memory = MemoryAgent(*await network.account("memory"), options=network.options("memory"))
        await network.start(memory)
        connection = network.options("plain").connection
        agent = PlainAgent(*await network.account("plain"), port=connection.port)
        agent.ca_path = str(connection.ca_path)
        behaviour = Remember()
        agent.add_behaviour(behaviour, Template(metadata={"performative": "inform"}))
        await agent.start(auto_register=False)
        await behaviour.join(timeout=30)
        await agent.stop()


if __name__ == "__main__":
    asyncio.run(main())
