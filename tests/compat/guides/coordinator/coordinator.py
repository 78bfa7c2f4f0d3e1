"""The coordinator guide: one agent that gives tasks to others and sums up what they say."""

import os

import spade

from spade_llm.agents import CoordinatorAgent
from spade_llm.providers import LLMProvider


async def main() -> None:
    coordinator = CoordinatorAgent(
        jid="captain@localhost",
        password="captain-password",
        subagent_ids=["weather@localhost", "ferries@localhost"],
        coordination_session="island_trips",
        subagent_response_timeout=60.0,
        provider=LLMProvider(
            model="openai/gpt-4o-mini", api_key="not-a-real-key", base_url=os.environ["MODEL_URL"]
        ),
        system_prompt="You plan trips to the island.",
    )
    await coordinator.start()
    print("captain is ready", flush=True)
    await spade.wait_until_finished(coordinator)


if __name__ == "__main__":
    spade.run(main())
