"""Chat client: a program's requests to an assistant, streaming, approval and reports."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from spade_llm.assistant.chat.messages import (
    ONTOLOGY,
    AnswerDelta,
    ApprovalPrompt,
    ApproveRequest,
    ChatReply,
    CompletionRequest,
    ExplanationReport,
    ExplanationRequest,
    SayRequest,
    UsageReport,
    UsageRequest,
    fetch_whole_reply,
)
from spade_llm.assistant.turn.turn_options import DEFAULT_TOOL_OPTIONS
from spade_llm.core.errors import InvalidAnswer, InvalidArguments, RequestFailed, RequestRefused
from spade_llm.core.text import validation_problems
from spade_llm.messaging import Body, Empty, new_id
from spade_llm.messaging.rpc import RpcClient

if TYPE_CHECKING:
    from spade_llm.assistant.turn.turn_options import ContextOptions, ToolOptions
    from spade_llm.messaging import RequestSender
    from spade_llm.providers.model import Sampling

M = TypeVar("M", bound=BaseModel)
B = TypeVar("B", SayRequest, CompletionRequest)

TURN_TIMEOUT_S = 180.0
ASKED_TIMEOUT_S = 600.0
"""Timeout of a turn with approvals, in seconds: a person needs time to answer."""
REPORT_TIMEOUT_S = 10.0


class ChatClient:
    """Client of a chat agent. `id`, where a method takes one: equal ids get equal answers, and cost
    one turn. `context` and `sampling`: None, as the assistant does otherwise. `is_annotated`: as in
    SayRequest."""

    def __init__(
        self, requester: RequestSender, jid: str, *, timeout_s: float = TURN_TIMEOUT_S
    ) -> None:
        self.jid = jid
        self._timeout_s = timeout_s
        self._peer = RpcClient(requester, jid, ONTOLOGY, timeout_s=timeout_s)

    async def say(
        self,
        text: str,
        *,
        conversation_id: str = "",
        wishes: ToolOptions = DEFAULT_TOOL_OPTIONS,
        id: str | None = None,
        context: ContextOptions | None = None,
        sampling: Sampling | None = None,
        is_annotated: bool = True,
    ) -> ChatReply:
        """Send a text; return the whole answer. Cancelling stops the turn. Raises RequestError."""
        body = self._say(
            text, wishes, context=context, sampling=sampling, is_annotated=is_annotated
        )
        return await self._asked(body, id, conversation_id)

    async def say_as(
        self,
        text: str,
        model: type[M],
        *,
        conversation_id: str = "",
        wishes: ToolOptions = DEFAULT_TOOL_OPTIONS,
        id: str | None = None,
        context: ContextOptions | None = None,
        sampling: Sampling | None = None,
    ) -> M:
        """Send a text and return the answer as an object of a pydantic model, which the assistant's
        model is told to give.

        Raises RequestError; RequestFailed (`invalid-answer`) if it gives none, also at its second
        attempt.
        """
        schema = model.model_json_schema()
        body = self._say(text, wishes, schema=schema, context=context, sampling=sampling)
        reply = await self._asked(body, id, conversation_id)
        try:
            return model.model_validate_json(reply.text)
        except ValidationError as error:
            raise RequestFailed(
                f"{self._peer.jid} gave no valid {model.__name__}: {error.errors()[0]['msg']}",
                peer=self._peer.jid,
                conversation_id=conversation_id,
                wire_code=InvalidAnswer.code,
            ) from None

    async def stream(
        self,
        text: str,
        *,
        conversation_id: str = "",
        wishes: ToolOptions = DEFAULT_TOOL_OPTIONS,
        can_approve: bool = False,
        id: str | None = None,
        context: ContextOptions | None = None,
        sampling: Sampling | None = None,
        is_annotated: bool = True,
    ) -> AsyncGenerator[AnswerDelta | ApprovalPrompt | ChatReply]:
        """AnswerDeltas in order, then the ChatReply. Leaving early stops the turn. Raises
        RequestError.

        With `can_approve`, questions may come between: `approve` answers them while this waits.
        The ChatReply repeats the whole text: deltas may be lost, or begin again after a kill.
        """
        body = self._say(
            text,
            wishes,
            can_approve=can_approve,
            context=context,
            sampling=sampling,
            is_annotated=is_annotated,
        )
        timeout_s = max(self._timeout_s, ASKED_TIMEOUT_S) if can_approve else self._timeout_s
        # A question must come through behind a lost part, and from an assistant that began again.
        answers = self._peer.stream(
            body, id=id, conversation_id=conversation_id, timeout_s=timeout_s, is_news=can_approve
        )
        # Closed when the caller leaves, which sends the `cancel`; the garbage collector is late.
        async with aclosing(answers):
            async for message in answers:
                if message.is_terminal:
                    yield await fetch_whole_reply(ChatReply.decode(message.content), self._peer)
                elif _PartKind.decode(message.content).question:
                    yield ApprovalPrompt.decode(message.content)
                else:
                    yield AnswerDelta.decode(message.content)

    def _say(
        self,
        text: str,
        wishes: ToolOptions,
        *,
        can_approve: bool = False,
        schema: dict[str, object] | None = None,
        context: ContextOptions | None = None,
        sampling: Sampling | None = None,
        is_annotated: bool = True,
    ) -> SayRequest:
        try:
            return SayRequest(
                text=text,
                tool_choice=wishes.tool_choice,
                tool_rounds=wishes.tool_rounds,
                tools=wishes.tools,
                can_approve=can_approve,
                context=context,
                sampling=sampling,
                response_schema=schema,
                is_annotated=is_annotated,
            )
        except ValidationError as error:
            raise RequestRefused(
                validation_problems(error, whole="message"),
                peer=self.jid,
                wire_code=InvalidArguments.code,
            ) from None

    async def _asked(self, body: SayRequest, id: str | None, conversation_id: str) -> ChatReply:
        whole_body = _unstreamed(body, id)
        reply = await self._peer.ask(whole_body, ChatReply, id=id, conversation_id=conversation_id)
        return await fetch_whole_reply(reply, self._peer)

    async def generate(
        self, prompt: str, *, sampling: Sampling | None = None, id: str | None = None
    ) -> ChatReply:
        """Complete a prompt with the assistant's model, without conversation, memory, documents or
        tools; nothing is stored. Its usage counts like a turn's. Raises RequestError."""
        asked_id = id or new_id()
        body = _unstreamed(CompletionRequest(prompt=prompt, sampling=sampling), id)
        # A thread of its own: it waits for no other.
        return await self._peer.ask(body, ChatReply, id=asked_id, conversation_id=asked_id)

    async def stream_generated(
        self, prompt: str, *, sampling: Sampling | None = None, id: str | None = None
    ) -> AsyncGenerator[AnswerDelta | ChatReply]:
        """Stream `generate`: deltas in order, then the ChatReply. Leaving early stops it."""
        id = id or new_id()
        body = CompletionRequest(prompt=prompt, sampling=sampling)
        async with aclosing(self._peer.stream(body, id=id, conversation_id=id)) as answers:
            async for message in answers:
                yield (ChatReply if message.is_terminal else AnswerDelta).decode(message.content)

    async def usage(self, *, days: int = 30) -> UsageReport:
        """Usage of this program, newest day first. Raises RequestError."""
        return await self._peer.ask(
            UsageRequest(days=days), UsageReport, timeout_s=REPORT_TIMEOUT_S
        )

    async def why(self, *, conversation_id: str = "") -> ExplanationReport:
        """Explanation of this conversation's last answer: models, memories, documents and tools.

        Raises RequestRefused (`not-found`) if there has been none since the assistant started.
        """
        return await self._peer.ask(
            ExplanationRequest(),
            ExplanationReport,
            conversation_id=conversation_id,
            timeout_s=REPORT_TIMEOUT_S,
        )

    async def approve(self, id: str, *, is_approved: bool) -> None:
        """Answer an ApprovalPrompt. Raises RequestRefused (`not-found`) if it is not pending."""
        await self._peer.ask(ApproveRequest(id=id, is_approved=is_approved), Empty)


def _unstreamed(body: B, id: str | None) -> B:
    """Body without streaming, for a caller that takes the whole answer."""
    # A request with an id may be repeated as a stream, and must then be equal.
    return body if id else body.model_copy(update={"is_streamed": False})


class _PartKind(Body):
    """Part of an answer, read only to tell a question from text."""

    question: str = ""
