"""A conversation with a model, with a window over its history.

Teaches: choosing a model and a context strategy. With OPENAI_BASE_URL and OPENAI_API_KEY set it
asks that server; without, the OfflineProvider answers by rules and says so.
"""

from __future__ import annotations

import asyncio
import os

from spade_llm import ChatAgent, LLMAgent, LocalNetwork
from spade_llm.context import SmartWindowSizeContext
from spade_llm.providers import ChatModel, LLMProvider, OfflineProvider


def choose_model() -> ChatModel:
    if key := os.environ.get("OPENAI_API_KEY"):
        model = os.environ.get("OPENAI_MODEL", "gpt-5-mini")
        return LLMProvider.create_openai(
            api_key=key, model=model, base_url=os.environ.get("OPENAI_BASE_URL")
        )
    return OfflineProvider()


async def main() -> None:
    async with LocalNetwork() as network:
        assistant = LLMAgent(
            *await network.account("assistant"),
            choose_model(),
            context_management=SmartWindowSizeContext(max_messages=20, preserve_initial=2),
            system_prompt="You are a helpful assistant. Answer in one sentence.",
            options=network.options("assistant"),
        )
        you = ChatAgent(*await network.account("you"), options=network.options("you"))
        await network.start(assistant, you)

        for question in ("Hello! What can you do?", "/status"):
            print(">", question)
            print((await you.say("assistant@localhost", question)).text)
        print(assistant.get_context_stats())


if __name__ == "__main__":
    asyncio.run(main())
