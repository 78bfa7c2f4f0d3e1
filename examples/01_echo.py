"""An agent that repeats what it is told, and somebody who talks to it.

Teaches: an LLMAgent, a ChatAgent, and that every message goes over a real XMPP server.
"""

from __future__ import annotations

import asyncio

from spade_llm import ChatAgent, LLMAgent, LocalNetwork
from spade_llm.providers import ScriptedProvider


async def main() -> None:
    async with LocalNetwork() as network:
        echo = LLMAgent(
            *await network.account("echo"), ScriptedProvider.echo(), options=network.options("echo")
        )
        you = ChatAgent(*await network.account("you"), options=network.options("you"))
        await network.start(echo, you)

        reply = await you.say("echo@localhost", "Is anybody there?")
        print(reply.text)


if __name__ == "__main__":
    asyncio.run(main())
