"""Expert tool: lets the model ask a human expert (`ask_NAME`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.assistant.delegation.expert_question_log import ExpertQuestionLog
from spade_llm.assistant.delegation.expert_questions import ExpertQuestion, ExpertQuestions
from spade_llm.core.errors import RequestError, ToolFailed
from spade_llm.tools.llm_tool import LLMTool
from spade_llm.tools.toolbox import current_context

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spade_llm.messaging import AclMessage
    from spade_llm.messaging.outgoing_messages import OutgoingMessages
    from spade_llm.tools import Tool
    from spade_llm.xmpp.agent import XmppAgent

TIMEOUT_RANGE_S = 300.0
EXPERT_MARGIN_S = 10.0
"""Margin of the tool's timeout over the time for an answer, in seconds, so that the expert's
timeout is reported first."""

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
    """Person that a model may ask by a tool."""

    name: str
    """The tool is `ask_NAME`."""
    jid: str
    knows: str = ""
    """Topics that the expert can answer, for the tool's description."""
    seconds: float = TIMEOUT_RANGE_S
    """Time limit for an answer, in seconds."""


def expert_tool(expert: Expert, experts: ExpertQuestions) -> LLMTool:
    """`ask_NAME`. Raises ConfigurationError: the name is none for a tool, or the time no time."""
    about = f" about {expert.knows}" if expert.knows else ""
    return LLMTool(
        f"ask_{expert.name}",
        f"Ask {expert.name}, a person,{about}. They are asked by chat and may take up to"
        f" {expert.seconds:g} seconds: ask what you cannot find out otherwise.",
        PARAMETERS,
        partial(_ask, expert, experts),
        timeout_s=expert.seconds + EXPERT_MARGIN_S,
        # The turn leaves its slot to others meanwhile, and its time limit stands still.
        asks_others=True,
    )


async def _ask(expert: Expert, experts: ExpertQuestions, question: str, context: str = "") -> str:
    asked = ExpertQuestion(
        expert=expert.jid, text=question, background=context, seconds=expert.seconds
    )
    try:
        return await experts.ask(asked, context=current_context.get())
    except RequestError as error:
        raise ToolFailed(f"{expert.name} gave no answer: {error.detail}") from error


def expert_questions_of(
    agent: XmppAgent,
    letters: OutgoingMessages,
    *,
    is_for_others: Callable[[AclMessage], bool] | None = None,
) -> ExpertQuestions:
    """Create the expert questions of an agent. `is_for_others=None`: nothing else in this agent
    reads chats."""
    data = agent.options.data
    return ExpertQuestions(
        agent.node,
        letters,
        ExpertQuestionLog(data / f"experts-{agent.jid.local}.db" if data else None),
        run=agent.submit,
        is_alone=is_for_others is None,
        is_for_others=is_for_others or (lambda _message: False),
    )


def expert_tools(people: Sequence[Expert], experts: ExpertQuestions) -> tuple[Tool, ...]:
    return tuple(expert_tool(one, experts) for one in people)
