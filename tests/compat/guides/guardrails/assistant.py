"""The guardrails guide: what may be said to an assistant, what it may say, and who is told."""

import os
import re
from typing import Any

import spade

from spade_llm import LLMAgent, LLMProvider
from spade_llm.guardrails import (
    CustomFunctionGuardrail,
    Guardrail,
    GuardrailAction,
    GuardrailResult,
    KeywordGuardrail,
    RegexGuardrail,
)


class PhoneGuardrail(Guardrail):
    """One of the program's own: hides telephone numbers."""

    def __init__(self) -> None:
        super().__init__("phones", True, "No telephone numbers, please.")
        self.pattern = re.compile(r"\+\d[\d ]{6,}\d")

    async def check(self, content: str, context: Any) -> GuardrailResult:
        hidden = self.pattern.sub("[PHONE]", content)
        if hidden == content:
            return GuardrailResult(action=GuardrailAction.PASS, content=content)
        return GuardrailResult(
            action=GuardrailAction.MODIFY, content=hidden, reason="a telephone number"
        )


def too_long(content: str, context: Any) -> GuardrailResult:
    if len(content) > 200:
        return GuardrailResult(
            action=GuardrailAction.BLOCK, reason="too long", custom_message="Be briefer."
        )
    return GuardrailResult(action=GuardrailAction.PASS, content=content)


def report(result: GuardrailResult) -> None:
    print(f"guardrail: {result.action.value}: {result.reason}", flush=True)


async def main() -> None:
    agent = LLMAgent(
        jid="guarded@localhost",
        password="guarded-password",
        provider=LLMProvider.create_openai(
            api_key="not-a-real-key", model="gpt-4o-mini", base_url=os.environ["MODEL_URL"]
        ),
        input_guardrails=[
            KeywordGuardrail(
                name="harm",
                blocked_keywords=["explosive"],
                blocked_message="I do not help with that.",
            ),
            KeywordGuardrail(
                name="manners",
                blocked_keywords=["damn"],
                action=GuardrailAction.MODIFY,
                replacement="[…]",
            ),
            CustomFunctionGuardrail(name="length", check_function=too_long),
            PhoneGuardrail(),
        ],
        output_guardrails=[
            RegexGuardrail(name="addresses", patterns={r"[\w.]+@[\w.]+\.\w+": "[ADDRESS]"}),
        ],
        on_guardrail_trigger=report,
    )
    await agent.start()
    print("guarded is ready", flush=True)
    await spade.wait_until_finished(agent)


if __name__ == "__main__":
    spade.run(main())
