"""A tool by which a model asks one expert, a person. Knows how it is called, and no wire."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.errors import RequestError, ToolFailed
from spade_llm.services.experts import ExpertQuestion
from spade_llm.tools.llm_tool import LLMTool
from spade_llm.tools.toolbox import current_context

if TYPE_CHECKING:
    from spade_llm.services.experts import Experts

SECONDS = 300.0
MARGIN_S = 10.0
"""Beside the time for an answer: the expert's silence is told, not the tool's."""

PARAMETERS = {
    "type": "object",
    "properties": {
        "question": {
            "type": "string",
            "minLength": 1,
            "description": "One whole question: the expert sees nothing of the conversation.",
        },
        "context": {"type": "string", "description": "What the expert must know to answer it."},
    },
    "required": ["question"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expert:
    """A person whom a model may ask."""

    name: str
    """The tool is `ask_NAME`."""
    jid: str
    knows: str = ""
    """What to ask them about, for the model."""
    seconds: float = SECONDS
    """For so long their answer is waited for."""


def expert_tool(expert: Expert, experts: Experts) -> LLMTool:
    """`ask_NAME`. Raises ConfigurationError: the name is none for a tool, or the time no time."""
    about = f" about {expert.knows}" if expert.knows else ""
    return LLMTool(
        f"ask_{expert.name}",
        f"Ask {expert.name}, a person,{about}. They are asked by chat and may take up to"
        f" {expert.seconds:g} seconds: ask what you cannot find out otherwise.",
        PARAMETERS,
        partial(_ask, expert, experts),
        timeout_s=expert.seconds + MARGIN_S,
        asks_others=True,
    )


async def _ask(expert: Expert, experts: Experts, question: str, context: str = "") -> str:
    asked = ExpertQuestion(
        expert=expert.jid, text=question, background=context, seconds=expert.seconds
    )
    try:
        return await experts.ask(asked, context=current_context.get())
    except RequestError as error:
        raise ToolFailed(f"{expert.name} gave no answer: {error.detail}") from error
