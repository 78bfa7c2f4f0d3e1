"""What a program for spade_llm 0.2/0.3 says to LLMAgent by keyword, as Conduct. Runs nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, TypeVar

from spade_llm.behaviour.conduct import Conduct
from spade_llm.context import ContextManagement
from spade_llm.programs.keywords import check_keywords
from spade_llm.programs.memory_tools import ProgramMemory, Wanted, program_memory

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pydantic import BaseModel

    from spade_llm.guardrails import Guardrail
    from spade_llm.guardrails.chain import OnTrigger
    from spade_llm.programs.mcp_configs import MCPServerConfig
    from spade_llm.routing import RoutingFunction
    from spade_llm.tools import Tool


T = TypeVar("T")


class SharedKeywords(TypedDict, total=False):
    """Beside what assistants take anyway. What is said in `conduct`, too, is said by these."""

    tools: Sequence[Tool] | None
    mcp_servers: Sequence[MCPServerConfig] | None
    termination_markers: Sequence[str] | None
    max_interactions_per_conversation: int | None
    on_conversation_end: Callable[[str, str], Awaitable[None] | None] | None
    input_guardrails: Sequence[Guardrail] | None
    output_guardrails: Sequence[Guardrail] | None
    on_guardrail_trigger: OnTrigger | None
    interaction_memory: Wanted
    agent_base_memory: Wanted
    output_schema: type[BaseModel] | None
    reply_to: str | None
    verify_security: bool


class AssistantKeywords(SharedKeywords, total=False):
    """Those of LLMAgent."""

    routing_function: RoutingFunction | None


def memory_of(jid: str, keywords: AssistantKeywords) -> ProgramMemory:
    """Raises ConfigurationError: what is said of it is wrong, or a file is unreadable."""
    return program_memory(
        jid,
        interaction_memory=keywords.get("interaction_memory", False),
        agent_base_memory=keywords.get("agent_base_memory", False),
    )


def conduct_of(
    keywords: AssistantKeywords, conduct: Conduct | None, memory: ProgramMemory
) -> Conduct:
    own = conduct or Conduct()
    return replace(
        own,
        tools=(*_many(keywords.get("tools"), own.tools), *memory.tools),
        notes=memory.notes_about if memory.interaction_memory else own.notes,
        termination_markers=_many(keywords.get("termination_markers"), own.termination_markers),
        max_interactions_per_conversation=_said(
            keywords.get("max_interactions_per_conversation"), own.max_interactions_per_conversation
        ),
        on_conversation_end=_said(keywords.get("on_conversation_end"), own.on_conversation_end),
        input_guardrails=_many(keywords.get("input_guardrails"), own.input_guardrails),
        output_guardrails=_many(keywords.get("output_guardrails"), own.output_guardrails),
        on_guardrail_trigger=_said(keywords.get("on_guardrail_trigger"), own.on_guardrail_trigger),
        output_schema=_said(keywords.get("output_schema"), own.output_schema),
        reply_to=_said(keywords.get("reply_to"), own.reply_to),
        routing_function=_said(keywords.get("routing_function"), own.routing_function),
    )


def _said(value: T | None, otherwise: T) -> T:
    return otherwise if value is None else value


def _many(value: Sequence[T] | None, otherwise: tuple[T, ...]) -> tuple[T, ...]:
    return otherwise if value is None else tuple(value)


def check_program(keywords: AssistantKeywords, context_management: object) -> None:
    """Raises TypeError, naming what is wrong. The fourth parameter of spade_llm 0.2/0.3 was
    `reply_to`, whose JIDs are no strategies."""
    check_keywords(keywords, AssistantKeywords, of="LLMAgent")
    if context_management is not None and not isinstance(context_management, ContextManagement):
        raise TypeError(
            f"LLMAgent: context_management is {context_management!r}: give a strategy of"
            " spade_llm.context; reply_to is given by keyword"
        )
