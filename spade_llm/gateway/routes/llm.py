"""specs/4 §3, and the same chat as it grows."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING

from fastapi import APIRouter

from spade_llm.errors import InvalidArguments, RequestError, RequestRefused, ServiceError
from spade_llm.gateway.asking import Asked, Asking
from spade_llm.gateway.bodies.llm import (
    ChatRequest,
    ChatResponse,
    GenerateRequest,
    GenerateResponse,
)
from spade_llm.gateway.errors import http_error
from spade_llm.gateway.failures import FAILURES
from spade_llm.gateway.growing import EVENT_SCHEMA, EVENT_STREAM, EventStream, event
from spade_llm.gateway.session_header import session_header
from spade_llm.gateway.turns import Turn, answer_of, build_turn, configured_by
from spade_llm.providers.model import Sampling
from spade_llm.services.chat_bodies import Asked as AskedBack
from spade_llm.services.chat_bodies import Delta, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from spade_llm.services.chat import ChatClient

router = APIRouter(prefix="/llm", tags=["llm"], responses=FAILURES)

_EVENTS = """event: delta
data: {"text": "Las principales ventajas"}

event: done
data: {"response": "Las principales ventajas…", "session_id": "mi-sesion-123", …}

"""


@router.post("/generate")
async def generate(asked: Asked, body: GenerateRequest) -> GenerateResponse:
    """What the model makes of a prompt: without session, memory and tools."""
    sampling = Sampling(
        temperature=0.7 if body.temperature is None else body.temperature,
        max_tokens=body.max_tokens or 1000,
    )
    chat = asked.clients.chat
    work = chat.generate(body.prompt, sampling=sampling, id=asked.wire_id)
    reply = await asked.unless_left(work)
    asked.count_tokens(reply)
    return GenerateResponse(text=reply.text, prompt=body.prompt)


@router.post("/chat")
async def chat(asked: Asked, body: ChatRequest) -> ChatResponse:
    """The assistant's answer, with what it was told beside the question."""
    client = asked.clients.chat
    turn = await _begun(asked, body)
    try:
        reply = await asked.unless_left(
            client.say(
                turn.question,
                conversation_id=turn.session,
                wishes=turn.wishes,
                id=asked.wire_id,
                context=turn.context,
                sampling=turn.sampling,
            )
        )
    except RequestRefused as refusal:
        raise _named_as_here(refusal) from None
    asked.count_tokens(reply)
    return answer_of(turn, reply, request_id=asked.request_id)


@router.post(
    "/chat/stream",
    status_code=200,
    response_class=EventStream,
    responses={200: {"content": {EVENT_STREAM: {"schema": EVENT_SCHEMA, "example": _EVENTS}}}},
)
async def chat_stream(asked: Asked, body: ChatRequest) -> EventStream:
    """As /llm/chat, as server-sent events.

    `delta` has the next piece of the `text`; `asked` the question whether a tool may run, which
    /api/v0/approve answers by its `question`; `done` the fields of /llm/chat; `error` a `detail`
    and the `status` that /llm/chat would have had. Who leaves stops the turn.
    """
    client, place = asked.clients.chat, AsyncExitStack()
    place.enter_context(asked.gateway.streams.hold(asked.principal.jid, 1))
    async with place:
        turn = await _begun(asked, body)
        events = _events(asked, client, turn)
        headers = session_header(turn.session)
        return EventStream(events, within=place.pop_all(), headers=headers)


async def _begun(asked: Asking, body: ChatRequest) -> Turn:
    """The session is there from here on."""
    session, principal = body.session_id or asked.new_session(), asked.principal.jid
    state = asked.gateway.state
    holds = state.effective(principal, session, request=configured_by(body))
    language = body.language or asked.gateway.options.language
    turn = build_turn(body, session, holds, language=language)
    await state.use_session(principal, session, question=turn.question)
    return turn


async def _events(asked: Asking, client: ChatClient, turn: Turn) -> AsyncGenerator[str]:
    try:
        parts = client.stream(
            turn.question,
            conversation_id=turn.session,
            wishes=turn.wishes,
            can_approve=turn.use_tools,
            id=asked.wire_id,
            context=turn.context,
            sampling=turn.sampling,
        )
        async with aclosing(parts):
            async for part in parts:
                if isinstance(part, Reply):
                    asked.count_tokens(part)
                yield _event(part, turn, asked.request_id)
    except (RequestError, ServiceError) as error:
        named = _named_as_here(error) if isinstance(error, RequestRefused) else error
        answer = http_error(named)
        yield event("error", {"detail": answer.detail, "status": answer.status_code})


def _event(part: Delta | AskedBack | Reply, turn: Turn, request_id: str) -> str:
    if isinstance(part, Reply):
        return event("done", answer_of(turn, part, request_id=request_id).model_dump(mode="json"))
    return event("delta" if isinstance(part, Delta) else "asked", part.model_dump(mode="json"))


def _named_as_here(refusal: RequestRefused) -> RequestRefused | InvalidArguments:
    """The assistant calls a field of the request by its own name."""
    if refusal.wire_code == InvalidArguments.code and refusal.detail.startswith("tools: "):
        return InvalidArguments(f"available_{refusal.detail}")
    return refusal
