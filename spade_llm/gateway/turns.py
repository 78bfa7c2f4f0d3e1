"""A chat request as a turn of the assistant's, and its reply as an answer. Knows no HTTP.

What a request says explicitly goes before the session's configuration, that before the global one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spade_llm.conversation.wishes import AUTO, NONE, ContextWishes, ToolWishes
from spade_llm.gateway.bodies.llm import (
    AgentStep,
    ChatResponse,
    RagSource,
    ToolCallMade,
    ToolCallResult,
)
from spade_llm.gateway.configuration import (
    Configuration,
    MemoryPart,
    PreferencesPart,
    RagPart,
    ToolsPart,
)
from spade_llm.memory.store import MemoryType
from spade_llm.providers.model import Sampling

if TYPE_CHECKING:
    from spade_llm.gateway.bodies.llm import ChatRequest
    from spade_llm.gateway.configuration import Effective
    from spade_llm.services.chat_bodies import Reply

_TEMPERATURE, _MAX_TOKENS, _ROUNDS = 0.7, 500, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    question: str
    session: str
    context: ContextWishes
    wishes: ToolWishes
    sampling: Sampling
    use_tools: bool


def configured_by(body: ChatRequest) -> Configuration:
    """The layer that the request itself is: only what it says."""
    return Configuration(
        memory=MemoryPart(
            enabled=body.use_memory if _says(body, "use_memory") else None,
            types=body.memory_types,
        ),
        rag=RagPart(
            enabled=body.use_rag if _says(body, "use_rag") else None,
            namespaces=body.rag_namespaces,
            top_k=body.rag_top_k if _says(body, "rag_top_k") else None,
        ),
        mcp=ToolsPart(enabled=body.use_tools if _says(body, "use_tools") else None),
        preferences=PreferencesPart(
            context_priority=(body.context_priority if _says(body, "context_priority") else None),
            max_context_tokens=(
                body.max_context_tokens if _says(body, "max_context_tokens") else None
            ),
        ),
    )


def build_turn(
    body: ChatRequest, session: str, holds: Effective, *, language: Literal["en", "es"]
) -> Turn:
    """`holds`: of the session, with what `configured_by` the request itself."""
    return Turn(
        question=body.question,
        session=session,
        context=ContextWishes(
            use_memory=holds.use_memory,
            use_history=holds.use_history is not False,
            memory_types=tuple(map(MemoryType, holds.memory_types)),
            use_documents=holds.use_rag,
            namespaces=tuple(holds.namespaces),
            top_k=holds.top_k,
            max_tokens=holds.max_context_tokens,
            priority=holds.priority,
            language=language,
        ),
        wishes=_tool_wishes(body, holds) if holds.use_tools else ToolWishes(tool_choice=NONE),
        sampling=Sampling(
            temperature=_TEMPERATURE if body.temperature is None else body.temperature,
            max_tokens=body.max_tokens or _MAX_TOKENS,
        ),
        use_tools=bool(holds.use_tools),
    )


def answer_of(turn: Turn, reply: Reply, *, request_id: str) -> ChatResponse:
    told = reply.context
    return ChatResponse(
        response=reply.text,
        session_id=turn.session,
        context_text=told.text if told else "",
        context_tokens=told.tokens if told else 0,
        rag_sources=[RagSource.of(one) for one in told.sources] if told else [],
        tools_used=bool(reply.tool_calls),
        tool_calls=[ToolCallMade.of(one) for one in reply.tool_calls] if turn.use_tools else None,
        tool_results=(
            [ToolCallResult.of(one) for one in reply.tool_calls] if turn.use_tools else None
        ),
        agent_steps=(
            [AgentStep.of(one, reply.tool_calls) for one in reply.steps] if turn.use_tools else None
        ),
        degraded=list(reply.missing),
        request_id=request_id,
    )


def _says(body: ChatRequest, field: str) -> bool:
    return field in body.model_fields_set


def _tool_wishes(body: ChatRequest, holds: Effective) -> ToolWishes:
    names = (holds.tools or None) if body.available_tools is None else body.available_tools
    return ToolWishes(
        tool_choice=body.tool_choice or AUTO,
        tool_rounds=body.max_tool_iterations or _ROUNDS,
        tools=None if names is None else tuple(names),
    )
