"""Guardrails, limits and the question why.

Teaches: `AssistantConfig`; a word that never leaves the assistant, not even in a part of an answer;
a question that never reaches the model; `/why` and `/usage`, which any chat client can ask.
In an agent.toml of kind "assistant" the same is: [[guardrails]] and [limits.peer]
"""

from __future__ import annotations

import asyncio

from spade_llm import ChatAgent, LLMAgent, LocalNetwork, ScriptedProvider
from spade_llm.agents import AssistantConfig, PeerQuota
from spade_llm.guardrails import GuardrailAction, KeywordGuardrail

CONDUCT = AssistantConfig(
    input_guardrails=(
        KeywordGuardrail("no-gambling", ["casino"], blocked_message="I do not talk about that."),
    ),
    output_guardrails=(
        KeywordGuardrail("secret", ["swordfish"], GuardrailAction.MODIFY, replacement="[secret]"),
    ),
    peer_limits=PeerQuota(turns=100),
)


async def main() -> None:
    model = ScriptedProvider(["The password is swordfish, and the door is blue."])
    async with LocalNetwork() as network:
        assistant = LLMAgent(
            *await network.account("assistant"),
            model,
            config=CONDUCT,
            options=network.options("assistant"),
        )
        you = ChatAgent(*await network.account("you"), options=network.options("you"))
        await network.start(assistant, you)

        for text in ("Which casino is best?", "What is the password?", "/why", "/usage"):
            print(f"you: {text}")
            print((await you.say("assistant@localhost", text)).text)


if __name__ == "__main__":
    asyncio.run(main())
