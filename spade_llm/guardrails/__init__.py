"""Guardrails: checks of user input and model output that fail closed.

Names are loaded at first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.imports import lazy_exports

if TYPE_CHECKING:
    from spade_llm.guardrails.chain import (
        CompositeGuardrail,
        apply_input_guardrails,
        apply_output_guardrails,
    )
    from spade_llm.guardrails.guardrail import (
        CustomFunctionGuardrail,
        Guardrail,
        GuardrailAction,
        GuardrailResult,
        InputGuardrail,
        LLMGuardrail,
        OutputGuardrail,
        PartGuard,
    )
    from spade_llm.guardrails.keyword import KeywordGuardrail
    from spade_llm.guardrails.regex import RegexGuardrail
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
