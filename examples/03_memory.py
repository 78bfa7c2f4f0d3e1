"""What is told today is known tomorrow: the assistant forgets, the memory agent does not.

Teaches: memory as a service, reached by messages; it outlives the assistant that wrote it.
"""

from __future__ import annotations

import asyncio

from spade_llm import ChatAgent, LLMAgent, LocalNetwork, MemoryAgent, Services
from spade_llm.providers import OfflineProvider


async def main() -> None:
    async with LocalNetwork() as network:
        memory = MemoryAgent(*await network.account("memory"), options=network.options("memory"))
        you = ChatAgent(*await network.account("you"), options=network.options("you"))
        await network.start(memory, you)

        account = await network.account("assistant")
        for question in ("My name is Ada.", "What is my name?"):
            assistant = LLMAgent(
                *account,
                OfflineProvider(),
                services=Services(memory="memory@localhost"),
                options=network.options("assistant"),
            )
            await assistant.start()  # a new assistant each time
            print(">", question)
            print((await you.say("assistant@localhost", question)).text)
            await assistant.stop()


if __name__ == "__main__":
    asyncio.run(main())
