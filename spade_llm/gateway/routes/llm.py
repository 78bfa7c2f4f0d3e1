"""Routes /llm: generate, chat, chat streaming (server-sent events).

Precedence of settings: explicit fields of the request, the session's configuration, the global one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter

from spade_llm.assistant.chat.messages import AnswerDelta, ChatReply
from spade_llm.assistant.chat.messages import ApprovalPrompt as AskedBack
from spade_llm.assistant.turn.turn_options import AUTO, NONE, ContextOptions, ToolOptions
from spade_llm.core.errors import InvalidArguments, RequestError, RequestRefused, ServiceError
from spade_llm.gateway.dependencies import ApiRequest, CurrentRequest, encode_session_header
from spade_llm.gateway.errors import ERROR_RESPONSES, http_error
from spade_llm.gateway.schemas import configuration
from spade_llm.gateway.schemas import llm as schemas
from spade_llm.gateway.streaming import EVENT_SCHEMA, EVENT_STREAM, EventStream, sse_event
from spade_llm.providers.model import Sampling
from spade_llm.search.memory_query import MemoryType

if TYPE_CHECKING:
    from spade_llm.assistant.chat.client import ChatClient
    from spade_llm.gateway.schemas.configuration import EffectiveConfiguration

_TEMPERATURE, _MAX_TOKENS, _ROUNDS = 0.7, 500, 5

router = APIRouter(prefix="/llm", tags=["llm"], responses=ERROR_RESPONSES)

_EVENTS = """event: delta
data: {"text": "Las principales ventajas"}

event: done
data: {"response": "Las principales ventajas…", "session_id": "mi-sesion-123", …}

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedTurn:
    question: str
    session: str
    context: ContextOptions
    tool_options: ToolOptions
    sampling: Sampling
    use_tools: bool


def request_layer(body: schemas.HttpChatRequest) -> configuration.ConfigurationLayer:
    """Configuration layer of a request: its explicit fields only."""
    given: dict[str, Any] = {name: getattr(body, name) for name in body.model_fields_set}
    return configuration.ConfigurationLayer(
        memory=configuration.MemoryPart(enabled=given.get("use_memory"), types=body.memory_types),
        rag=configuration.RagPart(
            enabled=given.get("use_rag"),
            namespaces=body.rag_namespaces,
            top_k=given.get("rag_top_k"),
        ),
        mcp=configuration.ToolsPart(enabled=given.get("use_tools")),
        preferences=configuration.PreferencesPart(
            context_priority=given.get("context_priority"),
            max_context_tokens=given.get("max_context_tokens"),
        ),
    )


def resolve_turn(
    body: schemas.HttpChatRequest,
    session: str,
    effective: EffectiveConfiguration,
    *,
    language: Literal["en", "es"],
) -> ResolvedTurn:
    """Turn for a request. `effective`: session configuration with `request_layer` merged in."""
    return ResolvedTurn(
        question=body.question,
        session=session,
        context=ContextOptions(
            use_memory=effective.use_memory,
            use_history=effective.use_history is not False,
            memory_types=tuple(map(MemoryType, effective.memory_types)),
            use_documents=effective.use_rag,
            namespaces=tuple(effective.namespaces),
            top_k=effective.top_k,
            max_tokens=effective.max_context_tokens,
            priority=effective.priority,
            language=language,
        ),
        tool_options=_tool_options(body, effective)
        if effective.use_tools
        else ToolOptions(tool_choice=NONE),
        sampling=Sampling(
            temperature=_TEMPERATURE if body.temperature is None else body.temperature,
            max_tokens=body.max_tokens or _MAX_TOKENS,
        ),
        use_tools=bool(effective.use_tools),
    )


def chat_response(turn: ResolvedTurn, reply: ChatReply, *, request_id: str) -> schemas.ChatResponse:
    context, calls = reply.context, reply.tool_calls
    return schemas.ChatResponse(
        response=reply.text,
        session_id=turn.session,
        context_text=context.text if context else "",
        context_tokens=context.tokens if context else 0,
        rag_sources=[schemas.RagSource.of(one) for one in context.sources] if context else [],
        tools_used=bool(calls),
        tool_calls=list(map(schemas.ToolCallMade.of, calls)) if turn.use_tools else None,
        tool_results=list(map(schemas.ToolCallOutput.of, calls)) if turn.use_tools else None,
        agent_steps=[schemas.AgentStep.of(one, calls) for one in reply.steps]
        if turn.use_tools
        else None,
        degraded=list(reply.missing),
        request_id=request_id,
    )


@router.post("/generate")
async def generate(
    api_request: CurrentRequest, body: schemas.HttpGenerateRequest
) -> schemas.GenerateResponse:
    """Complete a prompt with the model, without session, memory and tools."""
    sampling = Sampling(
        temperature=0.7 if body.temperature is None else body.temperature,
        max_tokens=body.max_tokens or 1000,
    )
    chat = api_request.clients.chat
    work = chat.generate(body.prompt, sampling=sampling, id=api_request.wire_id)
    reply = await api_request.run_until_disconnect(work)
    api_request.count_tokens(reply)
    return schemas.GenerateResponse(text=reply.text, prompt=body.prompt)


@router.post("/chat")
async def chat(api_request: CurrentRequest, body: schemas.HttpChatRequest) -> schemas.ChatResponse:
    """Ask the assistant; the response has its answer and the context that the model received."""
    client = api_request.clients.chat
    turn = await _start_turn(api_request, body)
    try:
        reply = await api_request.run_until_disconnect(
            client.say(
                turn.question,
                conversation_id=turn.session,
                wishes=turn.tool_options,
                id=api_request.wire_id,
                context=turn.context,
                sampling=turn.sampling,
            )
        )
    except RequestRefused as refusal:
        raise _with_our_field_names(refusal) from None
    api_request.count_tokens(reply)
    return chat_response(turn, reply, request_id=api_request.request_id)


@router.post(
    "/chat/stream",
    status_code=200,
    response_class=EventStream,
    responses={200: {"content": {EVENT_STREAM: {"schema": EVENT_SCHEMA, "example": _EVENTS}}}},
)
async def chat_stream(api_request: CurrentRequest, body: schemas.HttpChatRequest) -> EventStream:
    """Chat as in /llm/chat, with the answer as server-sent events.

    `delta` has the next part of the `text`; `asked` asks whether a tool may run (answer its
    `question` at /api/v0/approve); `done` has the fields of /llm/chat; `error` a `detail` and the
    `status` that /llm/chat would have had. Disconnecting cancels the turn.
    """
    client, stack = api_request.clients.chat, AsyncExitStack()
    stack.enter_context(api_request.gateway.stream_quota.hold(api_request.principal.jid, 1))
    async with stack:
        turn = await _start_turn(api_request, body)
        events = _events(api_request, client, turn)
        headers = encode_session_header(turn.session)
        # pop_all: the stream counts against the quota until the response ends.
        return EventStream(events, resources=stack.pop_all(), headers=headers)


def _tool_options(body: schemas.HttpChatRequest, effective: EffectiveConfiguration) -> ToolOptions:
    names = (effective.tools or None) if body.available_tools is None else body.available_tools
    return ToolOptions(
        tool_choice=body.tool_choice or AUTO,
        tool_rounds=body.max_tool_iterations or _ROUNDS,
        tools=None if names is None else tuple(names),
    )


async def _start_turn(api_request: ApiRequest, body: schemas.HttpChatRequest) -> ResolvedTurn:
    """Resolve the turn, and create its session if needed."""
    session, principal = body.session_id or api_request.new_session(), api_request.principal.jid
    state = api_request.gateway.sessions
    effective = await state.effective(principal, session, request=request_layer(body))
    language = body.language or api_request.gateway.options.language
    turn = resolve_turn(body, session, effective, language=language)
    await state.use_session(principal, session, question=turn.question)
    return turn


async def _events(
    api_request: ApiRequest, client: ChatClient, turn: ResolvedTurn
) -> AsyncGenerator[str]:
    try:
        parts = client.stream(
            turn.question,
            conversation_id=turn.session,
            wishes=turn.tool_options,
            can_approve=turn.use_tools,
            id=api_request.wire_id,
            context=turn.context,
            sampling=turn.sampling,
        )
        async with aclosing(parts):
            async for part in parts:
                if isinstance(part, ChatReply):
                    api_request.count_tokens(part)
                yield _event(part, turn, api_request.request_id)
    except (RequestError, ServiceError) as error:
        named = _with_our_field_names(error) if isinstance(error, RequestRefused) else error
        answer = http_error(named)
        yield sse_event("error", {"detail": answer.detail, "status": answer.status_code})


def _event(part: AnswerDelta | AskedBack | ChatReply, turn: ResolvedTurn, request_id: str) -> str:
    if isinstance(part, ChatReply):
        return sse_event(
            "done", chat_response(turn, part, request_id=request_id).model_dump(mode="json")
        )
    return sse_event(
        "delta" if isinstance(part, AnswerDelta) else "asked", part.model_dump(mode="json")
    )


def _with_our_field_names(refusal: RequestRefused) -> RequestRefused | InvalidArguments:
    """Name a field of the HTTP request: the assistant's own name for it differs."""
    if refusal.wire_code == InvalidArguments.code and refusal.detail.startswith("tools: "):
        return InvalidArguments(f"available_{refusal.detail}")
    return refusal
