"""Guards on what is said to an assistant and on what it answers; they fail closed.

Names are loaded at first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.guardrails.apply import apply_input_guardrails, apply_output_guardrails
    from spade_llm.guardrails.composite import CompositeGuardrail
    from spade_llm.guardrails.custom import CustomFunctionGuardrail
    from spade_llm.guardrails.guardrail import Guardrail, GuardrailAction, GuardrailResult
    from spade_llm.guardrails.keyword import KeywordGuardrail
    from spade_llm.guardrails.model_judged import LLMGuardrail
    from spade_llm.guardrails.part_guard import PartGuard
    from spade_llm.guardrails.regex import RegexGuardrail
    from spade_llm.guardrails.sides import InputGuardrail, OutputGuardrail

__all__ = [
    "CompositeGuardrail",
    "CustomFunctionGuardrail",
    "Guardrail",
    "GuardrailAction",
    "GuardrailResult",
    "InputGuardrail",
    "KeywordGuardrail",
    "LLMGuardrail",
    "OutputGuardrail",
    "PartGuard",
    "RegexGuardrail",
    "apply_input_guardrails",
    "apply_output_guardrails",
]

_HOME = {
    "CompositeGuardrail": "composite",
    "CustomFunctionGuardrail": "custom",
    "InputGuardrail": "sides",
    "KeywordGuardrail": "keyword",
    "LLMGuardrail": "model_judged",
    "OutputGuardrail": "sides",
    "PartGuard": "part_guard",
    "RegexGuardrail": "regex",
    "apply_input_guardrails": "apply",
    "apply_output_guardrails": "apply",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'guardrail')}"), name)
