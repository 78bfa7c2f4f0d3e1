"""The memory guide: an assistant that remembers by itself, over conversations and restarts."""

import os

import spade

from spade_llm.agents import LLMAgent
from spade_llm.context import SmartWindowSizeContext
from spade_llm.providers import LLMProvider


async def main() -> None:
    folder = os.environ["MEMORY_FOLDER"]
    agent = LLMAgent(
        jid="rememberer@localhost",
        password="rememberer-password",
        provider=LLMProvider.create_openai(
            api_key="not-a-real-key", model="gpt-4o-mini", base_url=os.environ["MODEL_URL"]
        ),
        system_prompt="You keep what is worth keeping.",
        interaction_memory=(True, folder),
        agent_base_memory=(True, folder),
        context_management=SmartWindowSizeContext(
            max_messages=20, preserve_initial=2, prioritize_tools=True
        ),
    )
    await agent.start()
    print("rememberer is ready", flush=True)
    await spade.wait_until_finished(agent)


if __name__ == "__main__":
    spade.run(main())
