"""One agent that gives tasks to others, at the same time, and answers with what they said.

Teaches: `CoordinatorAgent` and its tools. Sub-agents may be plain SPADE agents, too. Each
caller has a session of its own: answers never reach another one.
"""

from __future__ import annotations

import asyncio
import json

from spade_llm import ChatAgent, CoordinatorAgent, LLMAgent, LocalNetwork
from spade_llm.providers import Completion, ScriptedProvider, ToolCall

TASKS = [
    {"agent_id": "trains@localhost", "message": "When does the last train leave?"},
    {"agent_id": "weather@localhost", "message": "Will it rain tonight?"},
]


async def main() -> None:
    # What a model would say: ask both at once, then answer with what came back.
    call = ToolCall(id="1", name="send_to_agents_parallel", arguments=json.dumps({"tasks": TASKS}))
    model = ScriptedProvider(
        [
            Completion(tool_calls=(call,)),
            lambda messages, _tools: Completion(text=f"They say:\n{messages[-1]['content']}"),
        ]
    )
    async with LocalNetwork() as network:
        for name, answer in (("trains", "At 23:10."), ("weather", "No, it stays dry.")):
            agent = LLMAgent(
                *await network.account(name),
                ScriptedProvider([answer]),
                options=network.options(name),
            )
            await network.start(agent)
        coordinator = CoordinatorAgent(
            *await network.account("coordinator"),
            subagent_ids=[task["agent_id"] for task in TASKS],
            provider=model,
            options=network.options("coordinator"),
        )
        you = ChatAgent(*await network.account("you"), options=network.options("you"))
        await network.start(coordinator, you)

        print((await you.say("coordinator@localhost", "Can I stay late and walk?")).text)


if __name__ == "__main__":
    asyncio.run(main())
