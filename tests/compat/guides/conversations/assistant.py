"""The conversations guide: when one is over, by the model's word or after so many answers."""

import os

import spade

from spade_llm import LLMAgent, LLMProvider


def ended(conversation_id: str, reason: str) -> None:
    print(f"over: {conversation_id}: {reason}", flush=True)


async def main() -> None:
    agent = LLMAgent(
        jid="host@localhost",
        password="host-password",
        provider=LLMProvider.create_openai(
            api_key="not-a-real-key", model="gpt-4o-mini", base_url=os.environ["MODEL_URL"]
        ),
        system_prompt="When somebody says goodbye, end with <DONE>.",
        termination_markers=["<DONE>", "<END>"],
        max_interactions_per_conversation=2,
        on_conversation_end=ended,
    )
    await agent.start()
    print("host is ready", flush=True)
    await spade.wait_until_finished(agent)


if __name__ == "__main__":
    spade.run(main())
