"""A sub-agent that is plain SPADE: it has no model and imports nothing of spade_llm."""

import os
from typing import Any

import spade
from spade.agent import Agent
from spade.behaviour import CyclicBehaviour


class Timetable(CyclicBehaviour):  # type: ignore[misc]  # SPADE has no types
    async def run(self) -> None:
        message: Any = await self.receive(timeout=60)
        if message is not None:
            reply = message.make_reply()
            reply.body = "The last ferry leaves at 18:40."
            await self.send(reply)


async def main() -> None:
    agent = Agent("ferries@localhost", "ferries-password", port=int(os.environ["XMPP_PORT"]))
    agent.add_behaviour(Timetable())
    await agent.start(auto_register=False)
    print("ferries is ready", flush=True)
    await spade.wait_until_finished(agent)


if __name__ == "__main__":
    spade.run(main())
