"""Guardrails for an assistant of a benchmark, and what they make of an answer."""

from __future__ import annotations

from spade_llm.agents import AssistantConfig
from spade_llm.guardrails import GuardrailAction, KeywordGuardrail, RegexGuardrail

_FORBIDDEN = [f"forbidden{number}" for number in range(50)]
_HIDDEN = [f"hidden{number}" for number in range(50)]

CONDUCT = AssistantConfig(
    input_guardrails=(
        KeywordGuardrail("forbidden", _FORBIDDEN),
        RegexGuardrail("cards", {r"\b\d{4}-\d{4}-\d{4}-\d{4}\b": GuardrailAction.BLOCK}),
    ),
    output_guardrails=(
        KeywordGuardrail("words", ["bicycle", *_HIDDEN], GuardrailAction.MODIFY, "[bike]"),
        RegexGuardrail("phones", {r"\b\d{3}-\d{4}\b": "[phone]"}),
    ),
)


def guarded(answer: str) -> str:
    """Of the questions of these benchmarks."""
    return answer.replace("bicycle", "[bike]")
