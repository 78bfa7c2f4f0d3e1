"""Guards on what is said to an assistant and on what it answers; they fail closed.

Names are loaded at first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.lazy import lazy_exports

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
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

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
