"""The human-in-the-loop guide: an assistant whose model asks a person before it answers."""

import os

import spade

from spade_llm.agents import LLMAgent
from spade_llm.providers import LLMProvider
from spade_llm.tools import HumanInTheLoopTool


async def main() -> None:
    expert = HumanInTheLoopTool(
        human_expert_jid="doctor@localhost",
        timeout=60.0,
        name="ask_doctor",
        description="Ask the doctor about medicines",
    )
    agent = LLMAgent(
        jid="nurse@localhost",
        password="nurse-password",
        provider=LLMProvider.create_openai(
            api_key="not-a-real-key", model="gpt-4o-mini", base_url=os.environ["MODEL_URL"]
        ),
        system_prompt="Ask the doctor before you speak of medicines.",
        tools=[expert],
    )
    await agent.start()
    print("nurse is ready", flush=True)
    await spade.wait_until_finished(agent)


if __name__ == "__main__":
    spade.run(main())
