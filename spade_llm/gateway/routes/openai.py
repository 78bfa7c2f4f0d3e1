"""Routes /v1: OpenAI-compatible chat completions and models, with streaming.

Only the last question is sent to the assistant, which keeps the conversation itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Header
from fastapi.responses import JSONResponse
from starlette.responses import Response

from spade_llm.assistant.chat.messages import AnswerDelta, ChatReply
from spade_llm.assistant.chat.messages import ApprovalPrompt as AskedBack
from spade_llm.core.concurrency import next_or_none
from spade_llm.core.errors import RequestError, ServiceError
from spade_llm.gateway.agent_clients import jids_by_model
from spade_llm.gateway.dependencies import (
    SESSION_HEADER_PATTERN,
    ApiRequest,
    CurrentRequest,
    decode_session_header,
    encode_session_header,
)
from spade_llm.gateway.errors import OPENAI_ERROR_RESPONSES, HttpError, http_error, openai_envelope
from spade_llm.gateway.schemas import openai as schemas
from spade_llm.gateway.streaming import (
    EVENT_SCHEMA,
    EVENT_STREAM,
    EventStream,
    sse_data,
)
from spade_llm.providers.model import Sampling

if TYPE_CHECKING:
    from spade_llm.assistant.chat.client import ChatClient
    from spade_llm.gateway.session_store import ConversationLine

Part = AnswerDelta | AskedBack | ChatReply

router = APIRouter(prefix="/v1", tags=["openai"], responses=OPENAI_ERROR_RESPONSES)

DONE_EVENT = "data: [DONE]\n\n"
FIRST_PART_S = 30.0
"""Time in seconds for the first part of a stream. A turn that fails within it is answered with the
error's status. Then the headers are sent, and a later error is an event: proxies would close a
connection that is silent for longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionTurn:
    """Chat completion: the messages, the session they belong to and the assistant that answers."""

    api_request: ApiRequest
    model: str
    client: ChatClient
    lines: list[ConversationLine]
    """Messages up to the question."""
    session: str
    sampling: Sampling

    @property
    def question(self) -> str:
        return self.lines[-1][1]

    @property
    def id(self) -> str:
        return f"chatcmpl-{self.api_request.request_id}"

    async def answer(self) -> ChatReply:
        """Ask for the whole answer. Raises RequestError."""
        return await self.client.say(
            self.question,
            conversation_id=self.session,
            id=self.api_request.wire_id,
            sampling=self.sampling,
            # Failures are raised: a program would take an apology for the answer.
            is_annotated=False,
        )

    def parts(self) -> AsyncGenerator[Part]:
        """Stream the answer. Raises RequestError."""
        return self.client.stream(
            self.question,
            conversation_id=self.session,
            id=self.api_request.wire_id,
            sampling=self.sampling,
            is_annotated=False,
        )

    async def record_answer(self, text: str) -> None:
        """Record the conversation with the answer's text as the client received it."""
        lines = [*self.lines, ("assistant", text)]
        principal, conversations = (
            self.api_request.principal.jid,
            self.api_request.gateway.conversations,
        )
        await conversations.record(principal, self.model, lines, self.session)


@router.get("/models")
async def list_models(api_request: CurrentRequest) -> schemas.ModelList:
    """List the assistants of the network."""
    return schemas.ModelList(
        data=[schemas.ModelLine(id=name) for name in jids_by_model(api_request.gateway.addresses)]
    )


@router.get("/models/{model}")
async def get_model(api_request: CurrentRequest, model: str) -> schemas.ModelLine:
    """Describe a model; 404 if the name is unknown."""
    _check_model(api_request, model)
    return schemas.ModelLine(id=model)


@router.post(
    "/chat/completions",
    response_model=schemas.ChatCompletion,
    responses={200: {"content": {EVENT_STREAM: {"schema": EVENT_SCHEMA}}}},
)
async def create_chat_completion(
    api_request: CurrentRequest,
    body: schemas.ChatCompletionRequest,
    x_session_id: Annotated[str | None, Header(pattern=SESSION_HEADER_PATTERN)] = None,
) -> Response:
    """Answer the last question; with `stream`, as server-sent events."""
    session = body.session_id or decode_session_header(x_session_id)
    turn = await _start_turn(api_request, body, session)
    if body.stream:
        wants_usage = bool(body.stream_options and body.stream_options.include_usage)
        return await _start_stream(turn, wants_usage)
    reply = await api_request.run_until_disconnect(turn.answer())
    api_request.count_tokens(reply)
    await turn.record_answer(reply.text)
    completion = _completion(turn, reply).model_dump(mode="json")
    return JSONResponse(completion, headers=encode_session_header(turn.session))


async def _start_turn(
    api_request: ApiRequest, body: schemas.ChatCompletionRequest, session: str | None
) -> CompletionTurn:
    """Raises HttpError (no such model), NetworkUnavailable."""
    jid, principal = _check_model(api_request, body.model), api_request.principal.jid
    client, lines = api_request.clients.chats[jid], body.lines
    if session is None:
        conversations = api_request.gateway.conversations
        known = await conversations.session(principal, body.model, lines[:-1])
        session = known or api_request.new_session()
    # The session list belongs to /llm and the console, which use the first assistant only.
    if jid == api_request.gateway.addresses.assistants[0]:
        await api_request.gateway.sessions.use_session(principal, session, question=lines[-1][1])
    max_tokens = body.max_completion_tokens or body.max_tokens
    return CompletionTurn(
        api_request=api_request,
        model=body.model,
        client=client,
        lines=lines,
        session=session,
        sampling=Sampling(temperature=body.temperature, max_tokens=max_tokens),
    )


def _check_model(api_request: ApiRequest, model: str) -> str:
    """Bare JID of the assistant. Raises HttpError."""
    known = jids_by_model(api_request.gateway.addresses)
    if model not in known:
        detail = f"The model {model[:80]!r} does not exist; available: {', '.join(known)}"
        raise HttpError(404, detail, code="model_not_found", param="model")
    return known[model]


def _completion(turn: CompletionTurn, reply: ChatReply) -> schemas.ChatCompletion:
    return schemas.ChatCompletion(
        id=turn.id,
        created=int(time.time()),
        model=turn.model,
        choices=[
            schemas.Choice(
                message=schemas.AnswerMessage(content=reply.text), finish_reason=reply.finish
            )
        ],
        usage=_usage(reply),
    )


def _usage(reply: ChatReply) -> schemas.TokenUsage:
    prompt, completion = reply.prompt_tokens, reply.completion_tokens
    return schemas.TokenUsage(
        prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion
    )


async def _start_stream(turn: CompletionTurn, wants_usage: bool) -> EventStream:
    """Start the stream when the first part has arrived, or after FIRST_PART_S. Raises RequestError
    if the turn fails before."""
    api_request = turn.api_request
    async with AsyncExitStack() as stack:
        stack.enter_context(api_request.gateway.stream_quota.hold(api_request.principal.jid, 1))
        parts = await stack.enter_async_context(aclosing(turn.parts()))
        # Before the headers: an error until then gets its own status, which programs understand.
        first = asyncio.create_task(next_or_none(parts))
        stack.push_async_callback(_cancel, first)
        await api_request.run_until_disconnect(asyncio.wait((first,), timeout=FIRST_PART_S))
        if first.done():
            first.result()
        return EventStream(
            _write_chunks(turn, first, parts, wants_usage),
            resources=stack.pop_all(),
            headers=encode_session_header(turn.session),
        )


async def _cancel(task: asyncio.Task[Part | None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _write_chunks(
    turn: CompletionTurn,
    first: asyncio.Task[Part | None],
    parts: AsyncGenerator[Part],
    wants_usage: bool,
) -> AsyncGenerator[str]:
    chunk = _ChunkWriter(turn, wants_usage)
    yield chunk.chunk({"role": "assistant", "content": ""})
    try:
        part = await first
        while part is not None:
            if isinstance(part, ChatReply):
                turn.api_request.count_tokens(part)
            for text in await chunk.chunks_for(part):
                yield text
            part = await anext(parts, None)
    except (RequestError, ServiceError) as error:
        yield sse_data(openai_envelope(http_error(error)).model_dump())
    yield DONE_EVENT


class _ChunkWriter:
    """Server-sent events of one streamed answer."""

    def __init__(self, turn: CompletionTurn, wants_usage: bool) -> None:
        self._turn = turn
        self._wants_usage = wants_usage
        self._created = int(time.time())
        self._sent = ""

    async def chunks_for(self, part: Part) -> list[str]:
        if isinstance(part, AnswerDelta):
            self._sent += part.text
            return [self.chunk({"content": part.text})]
        return await self._end(part) if isinstance(part, ChatReply) else []

    def chunk(self, delta: dict[str, str], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        # OpenAI's `include_usage`: `usage` is null in each chunk but the last, without choices.
        return self._event([choice], {"usage": None} if self._wants_usage else {})

    async def _end(self, reply: ChatReply) -> list[str]:
        sent, whole = self._sent, reply.text
        # Parts may be lost, or start again after a kill, and text that was sent cannot be revoked.
        if sent.endswith(whole):
            rest = ""
        else:
            rest = whole[len(sent) :] if whole.startswith(sent) else f"\n\n{whole}"
        await self._turn.record_answer(self._sent + rest)
        events = [self.chunk({"content": rest})] if rest else []
        events.append(self.chunk({}, reply.finish))
        if self._wants_usage:
            events.append(self._event([], {"usage": _usage(reply).model_dump()}))
        return events

    def _event(self, choices: list[object], more: dict[str, object]) -> str:
        return sse_data(
            {
                "id": self._turn.id,
                "object": "chat.completion.chunk",
                "created": self._created,
                "model": self._turn.model,
                "choices": choices,
                **more,
            }
        )
