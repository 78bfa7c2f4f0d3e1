"""Agents in a chain, with windows over their conversations: one's answers go to the other."""

import os
import sys

import spade

from spade_llm import LLMAgent, LLMProvider
from spade_llm.context import WindowSizeContext


async def main(name: str, reply_to: str | None) -> None:
    agent = LLMAgent(
        jid=f"{name}@localhost",
        password=f"{name}-password",
        provider=LLMProvider.create_openai(
            api_key="not-a-real-key", model="gpt-4o-mini", base_url=os.environ["MODEL_URL"]
        ),
        system_prompt=f"You are {name}.",
        reply_to=reply_to,
        context_management=WindowSizeContext(max_messages=3),
    )
    await agent.start()
    print(f"{name} is ready", flush=True)
    await spade.wait_until_finished(agent)


if __name__ == "__main__":
    spade.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
