"""Guards on what is said to an assistant and on what it answers; they fail closed."""

from spade_llm.guardrails.guardrail import Guardrail, GuardrailAction, GuardrailResult

__all__ = ["Guardrail", "GuardrailAction", "GuardrailResult"]
