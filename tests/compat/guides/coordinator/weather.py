"""A sub-agent with a model of its own."""

import os

import spade

from spade_llm import LLMAgent, LLMProvider


async def main() -> None:
    agent = LLMAgent(
        jid="weather@localhost",
        password="weather-password",
        provider=LLMProvider(
            model="openai/gpt-4o-mini", api_key="not-a-real-key", base_url=os.environ["MODEL_URL"]
        ),
        system_prompt="You know the weather.",
    )
    await agent.start()
    print("weather is ready", flush=True)
    await spade.wait_until_finished(agent)


if __name__ == "__main__":
    spade.run(main())
