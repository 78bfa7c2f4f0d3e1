"""The tools guide: functions, plain and asynchronous, that the model may call."""

import os

import spade

from spade_llm import LLMAgent, LLMProvider
from spade_llm.tools import LLMTool

TIDES = {"Oslo": "low", "Cadiz": "high"}


async def tide(town: str) -> str:
    return f"The tide in {town} is {TIDES[town]}."


def knots_to_kmh(knots: float) -> float:
    return round(knots * 1.852, 1)


async def main() -> None:
    tide_tool = LLMTool(
        name="tide",
        description="The tide in a town now",
        parameters={
            "type": "object",
            "properties": {"town": {"type": "string", "description": "Name of the town"}},
            "required": ["town"],
        },
        func=tide,
    )
    speed_tool = LLMTool(
        name="knots_to_kmh",
        description="Turns knots into kilometres per hour",
        parameters={
            "type": "object",
            "properties": {"knots": {"type": "number"}},
            "required": ["knots"],
        },
        func=knots_to_kmh,
    )
    agent = LLMAgent(
        jid="harbour@localhost",
        password="harbour-password",
        provider=LLMProvider.create_openai(
            api_key="not-a-real-key", model="gpt-4o-mini", base_url=os.environ["MODEL_URL"]
        ),
        system_prompt="You are a harbour master with tools.",
        tools=[tide_tool],
    )
    agent.add_tool(speed_tool)
    await agent.start()
    print(f"harbour is ready with {len(agent.get_tools())} tools", flush=True)
    await spade.wait_until_finished(agent)


if __name__ == "__main__":
    spade.run(main())
