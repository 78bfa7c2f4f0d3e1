"""A tool of your own, run by the tool agent and called by the model.

Teaches: `@tool` and its limits, the tool agent, and that the assistant finds its tools by asking.
In an agent.toml of kind "tools" the same is: [python] tools = ["05_tools.py:temperature"]
"""

from __future__ import annotations

import asyncio

from spade_llm import ChatAgent, LLMAgent, LocalNetwork, Services, ToolAgent
from spade_llm.providers import Completion, ScriptedProvider, ToolCall
from spade_llm.tools import builtin_tools, tool

CELSIUS = {"Valencia": 24, "Oslo": 7}


@tool(timeout_s=5, max_concurrent=10)
def temperature(city: str) -> str:
    """The temperature in a city now, in degrees Celsius."""
    return f"{CELSIUS[city]} °C in {city}"


async def main() -> None:
    # What a model would say: call the tool, then answer with its result.
    model = ScriptedProvider(
        [
            Completion(
                tool_calls=(ToolCall(id="1", name="temperature", arguments='{"city": "Oslo"}'),)
            ),
            lambda messages, _tools: Completion(text=f"It is {messages[-1]['content']}."),
        ]
    )
    async with LocalNetwork() as network:
        tools = ToolAgent(
            *await network.account("tools"),
            tools=[*builtin_tools(), temperature],
            options=network.options("tools"),
        )
        assistant = LLMAgent(
            *await network.account("assistant"),
            model,
            services=Services(tools=("tools@localhost",)),
            options=network.options("assistant"),
        )
        you = ChatAgent(*await network.account("you"), options=network.options("you"))
        await network.start(tools, assistant, you)

        print((await you.say("assistant@localhost", "Is it cold in Oslo?")).text)


if __name__ == "__main__":
    asyncio.run(main())
