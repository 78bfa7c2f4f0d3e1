"""The quick start: one assistant that anybody on the server may talk with."""

import os

import spade

from spade_llm import LLMAgent, LLMProvider


async def main() -> None:
    provider = LLMProvider.create_openai(
        api_key="not-a-real-key",
        model="gpt-4o-mini",
        base_url=os.environ["MODEL_URL"],
        temperature=0.7,
    )
    assistant = LLMAgent(
        jid="assistant@localhost",
        password="assistant-password",
        provider=provider,
        system_prompt="You answer in one short sentence.",
        verify_security=False,
    )
    await assistant.start()
    print("assistant is ready", flush=True)
    await spade.wait_until_finished(assistant)


if __name__ == "__main__":
    spade.run(main())
