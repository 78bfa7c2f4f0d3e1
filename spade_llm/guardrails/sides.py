"""InputGuardrail and OutputGuardrail: bases for guardrails that are meant for one side.

Either works on both: what an asker is told by default depends on where it stands.
"""

from __future__ import annotations

from enum import Enum

from spade_llm.guardrails.guardrail import Guardrail
from spade_llm.providers.offline_words import language_of


class InputGuardrail(Guardrail):
    """Of what is said to the assistant."""


class OutputGuardrail(Guardrail):
    """Of what the assistant answers."""


class Side(Enum):
    INPUT = "input"
    OUTPUT = "output"


def default_message(side: Side, said: str) -> str:
    """For an asker whose message, or the answer to it, was blocked; in the language of `said`."""
    return _MESSAGES[side][language_of(said)]


_MESSAGES = {
    Side.INPUT: {
        "en": "I may not take this message. Please put it another way.",
        "es": "No puedo aceptar este mensaje. Por favor, dilo de otra manera.",
    },
    Side.OUTPUT: {
        "en": "I may not give the answer that I had. Please ask for something else.",
        "es": "No puedo dar la respuesta que tenía. Por favor, pregunta otra cosa.",
    },
}
