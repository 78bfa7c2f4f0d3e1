"""The routing guide: a front desk whose answers go to those whom they concern."""

import os
from typing import Any

import spade

from spade_llm import LLMAgent, LLMProvider
from spade_llm.assistant.middleware.routing import RoutingResponse


def route(msg: Any, response: str, context: Any) -> Any:
    text = response.lower()
    if "leak" in text and "price" in text:
        return ["plumber@localhost", "sales@localhost"]
    if "leak" in text:
        return RoutingResponse(
            recipients="plumber@localhost",
            transform=lambda answer: f"From {str(msg.sender).split('@')[0]}: {answer}",
            metadata={"priority": "high"},
        )
    if "price" in text:
        return "sales@localhost"
    return None


async def main() -> None:
    desk = LLMAgent(
        jid="desk@localhost",
        password="desk-password",
        provider=LLMProvider.create_openai(
            api_key="not-a-real-key", model="gpt-4o-mini", base_url=os.environ["MODEL_URL"]
        ),
        system_prompt="You sum up what a customer wants.",
        routing_function=route,
    )
    await desk.start()
    print("desk is ready", flush=True)
    await spade.wait_until_finished(desk)


if __name__ == "__main__":
    spade.run(main())
