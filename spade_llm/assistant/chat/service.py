"""Chat service: receives plain chat and `spade-llm.chat/1` requests, streams parts, /stop.

Both reach the same handler; only programs get the answer in parts and with its sources. A tool that
needs approval runs only after the sender agrees: people answer in words, programs with `approve`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Self

from spade_llm.assistant.chat.messages import (
    ONTOLOGY,
    AnswerDelta,
    ApprovalPrompt,
    ApproveRequest,
    ChatReply,
    CompletionRequest,
    ReplyPagination,
    SayRequest,
)
from spade_llm.assistant.commands.command_registry import (
    STOP,
    describe_stop,
    parse_command,
    parse_plain_word,
    room_hint,
)
from spade_llm.assistant.history.conversation_cache import conversation_key
from spade_llm.assistant.middleware.quota import QuotaGroupsOf, no_quota_groups
from spade_llm.assistant.middleware.routing import HOPS_KEY
from spade_llm.assistant.turn.approval import (
    ApprovalVerdict,
    PendingApprovals,
    approval_question_text,
    read_answer,
    settled_text,
)
from spade_llm.assistant.turn.structured_output import AnswerSchema, JsonAnswerSchema
from spade_llm.assistant.turn.turn_options import DEFAULT_TOOL_OPTIONS, ContextOptions, ToolOptions
from spade_llm.core.errors import NotFound, RequestError
from spade_llm.messaging import CHAT_TEXT, Empty, Encoding, Idempotency, Request, Route, fingerprint
from spade_llm.messaging.rpc import RpcService
from spade_llm.search.language import language_of

if TYPE_CHECKING:
    from spade_llm.assistant.turn.approval import ApprovalQuestion, AskApproval
    from spade_llm.messaging import AclMessage, Dispatcher, Handler
    from spade_llm.providers.model import Sampling

NO_TEXT = ""
"""A chat is not answered where the answer went to others: the dispatcher sends no empty message."""
DELTA_EVERY_S = 0.05
"""A model's tokens come one by one; a stanza for each would cost more than the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurnInput:
    """Input of a chat turn: the message, its options, and callbacks to the sender."""

    id: str
    peer: str
    """Bare JID of the sender; in a room the occupant's JID, for which no private data is available.
    """
    conversation: str
    """The peer (of a room: the room), and the thread if the client sent one."""
    text: str
    message: AclMessage
    on_delta: Callable[[str], Awaitable[None]] | None = None
    """Callback for pieces of the answer's text; None: no streaming."""
    wishes: ToolOptions = DEFAULT_TOOL_OPTIONS
    context: ContextOptions | None = None
    """Context options of the request; None: the assistant's defaults."""
    sampling: Sampling | None = None
    ask: AskApproval | None = None
    """Callback that asks for approval and waits for the answer; None: there is no way to ask."""
    tell: Callable[[str], Awaitable[None]] | None = None
    """Says something to a person before the answer. Raises RequestError. None: to a program."""
    answer_schema: AnswerSchema | None = None
    """Required schema of the answer, as JSON text; None: any text."""
    is_annotated: bool = True
    """Same as in SayRequest."""
    release_slot: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    """Context manager that releases the turn's slot while it waits for another party, so that other
    requests are processed meanwhile."""
    heard: tuple[str, ...] = ()
    """Messages of other people in the room around this one, not addressed to us: data."""

    replied_to: str = ""
    """The message that this one answers, as far as it is known: data."""
    quota_groups: tuple[str, ...] = ()
    """Groups that its costs count for beside the peer, as decided when its turn began."""
    at: datetime = field(default_factory=partial(datetime.now, UTC))
    """Start time of the turn."""
    key: str = ""
    """Key of the turn, from which the ids of its tool calls are derived: unchanged when the turn is
    resumed after a kill, and of no other turn. Empty: its calls have random ids."""

    @property
    def is_forwarded(self) -> bool:
        """True if it is an answer that another agent forwarded, not written to us by its author."""
        hops = self.message.extra.get(HOPS_KEY, "0")
        return hops != "0" or bool(self.message.said.hops)

    @property
    def kept_in(self) -> str:
        """Conversation under which memory stores the turn. In a room each occupant has one: what is
        learned from a conversation is learned about one person."""
        return self.peer if self.message.said.room else self.conversation

    @property
    def speaker(self) -> str:
        """Name of the sender for the model. A nickname includes its room, since a bare nickname
        could look like any other name."""
        said = self.message.said
        return f"{said.nick} in {said.room.partition('@')[0]}" if said.room else self.peer


ChatHandler = Callable[[ChatTurnInput], Awaitable[ChatReply]]


class ChatService:
    """Chat service of an assistant: answers people and programs, streams, and settles approvals."""

    def __init__(
        self,
        handler: ChatHandler,
        *,
        generate: ChatHandler | None = None,
        quota_groups_of: QuotaGroupsOf = no_quota_groups,
    ) -> None:
        """Create the service. `generate` handles prompts outside any conversation; None: they are
        not supported."""
        self._handler = handler
        self._quota_groups_of = quota_groups_of
        self._generate = generate
        # Not so for plain chat: a person's server keeps the answer until they are back.
        self.service = RpcService(ONTOLOGY, ends_with_asker=True)
        """Further ops are added to it before `attach`."""
        self._questions = PendingApprovals()
        self._pagination = ReplyPagination()
        self._dispatcher: Dispatcher | None = None

    def attach(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        text = Route(
            handler=self._answer_text,
            # A turn that a kill has interrupted is taken up again at the next start.
            effect_of=lambda _message: Idempotency.RESUME,
            divert=self._divert_text,
        )
        dispatcher.route(CHAT_TEXT, text)
        service = self.service
        service.on(SayRequest, self._answer_program, effect=Idempotency.RESUME)
        if self._generate is not None:
            made = partial(self._answer_prompt, self._generate)
            service.on(CompletionRequest, made, effect=Idempotency.RESUME)
        self._pagination.add_to(service)
        # Diverted: the turn that asks runs in this conversation, and waits for it.
        service.on(ApproveRequest, self._approve, effect=Idempotency.WRITE, is_diverted=True)
        service.attach(dispatcher)

    async def _answer_text(self, request: Request) -> str:
        turn_input = self._turn_input(request, request.message.content)
        ask = partial(self._ask_person, request)
        turn_input = replace(turn_input, ask=ask, release_slot=request.set_aside, tell=request.part)
        reply = await self._handler(turn_input)
        return reply.text if reply.is_for_asker else NO_TEXT

    async def _answer_program(self, request: Request, body: SayRequest) -> ChatReply:
        async with _DeltaSender(request, is_sent=body.is_streamed) as parts:
            turn_input = self._turn_input(request, body.text, parts.add)
            ask = partial(self._ask_program, request, parts) if body.can_approve else None
            answer_schema = JsonAnswerSchema(body.response_schema) if body.response_schema else None
            turn_input = replace(
                turn_input,
                ask=ask,
                release_slot=request.set_aside,
                wishes=body.wishes,
                context=body.context,
                sampling=body.sampling,
                answer_schema=answer_schema,
                is_annotated=body.is_annotated,
            )
            reply = await self._handler(turn_input)
            return self._pagination.fitting(reply, peer=request.message.asker)

    async def _answer_prompt(
        self, generate: ChatHandler, request: Request, body: CompletionRequest
    ) -> ChatReply:
        async with _DeltaSender(request, is_sent=body.is_streamed) as parts:
            turn_input = self._turn_input(request, body.prompt, parts.add)
            return await generate(replace(turn_input, sampling=body.sampling))

    def _turn_input(
        self,
        request: Request,
        text: str,
        on_delta: Callable[[str], Awaitable[None]] | None = None,
    ) -> ChatTurnInput:
        message = request.message
        # Some clients use an id again for another text: together they tell one utterance.
        id = f"{message.reply_with}.{fingerprint(message)[:12]}"
        return ChatTurnInput(
            id=id,
            # Later, they may use it again for the same text, too. Our agents do not, and a request
            # of theirs that is repeated after a failure is the same turn.
            key=id if message.encoding is Encoding.ACL else f"{id}.{request.logged_at!r}",
            peer=message.asker,
            conversation=conversation_key(message),
            text=text,
            message=message,
            on_delta=on_delta,
            quota_groups=self._quota_groups_of(message.asker),
        )

    async def _ask_person(self, request: Request, question: ApprovalQuestion) -> ApprovalVerdict:
        language = language_of(request.message.content)
        hint = room_hint(language) if request.message.said.room else ""
        show = partial(request.part, approval_question_text(question, language) + hint)
        return await self._ask(question, request, conversation_key(request.message), show)

    async def _ask_program(
        self, request: Request, parts: _DeltaSender, question: ApprovalQuestion
    ) -> ApprovalVerdict:
        # A program's own deadline holds on while it is asked.
        if (deadline := request.message.reply_by) is not None:
            left_s = (deadline - datetime.now(UTC)).total_seconds() - _MARGIN_S
            question = replace(question, expires_s=min(question.expires_s, max(left_s, 0.0)))
        return await self._ask(question, request, question.id, partial(parts.ask, question))

    async def _ask(
        self,
        question: ApprovalQuestion,
        request: Request,
        place: str,
        show: Callable[[], Awaitable[None]],
    ) -> ApprovalVerdict:
        """Ask with the turn's slot released. A question that cannot be sent counts as expired."""
        peer = request.message.asker
        try:
            async with request.set_aside():
                return await self._questions.ask(question, place=place, peer=peer, show=show)
        except RequestError:
            return ApprovalVerdict.EXPIRED

    def is_settling(self, message: AclMessage) -> bool:
        """True if the message is a yes or no to the pending question of its conversation."""
        is_asked = self._questions.at(conversation_key(message), peer=message.asker) is not None
        return is_asked and read_answer(message.content) is not None

    def questions_of(self, peer: str) -> list[ApprovalQuestion]:
        """Pending approval questions of this bare JID, in any conversation."""
        return [question for _, question in self._questions.of_peer(peer)]

    def answer_question(
        self, id: str, verdict: ApprovalVerdict, *, peer: str
    ) -> ApprovalQuestion | None:
        """Answer this question by a yes or no in its conversation; None if it is not pending."""
        for place, question in self._questions.of_peer(peer):
            if question.id == id:
                return self._questions.settle(place, verdict, peer=peer)
        return None

    def _divert_text(self, message: AclMessage) -> Handler | None:
        """Handler for a stop, or for a yes or no to the pending question of this conversation;
        None: the message takes its turn, and counts as a no to that question."""
        if parse_command(message.content, (STOP,)):
            return self._divert_stop(message)
        is_private = message.encoding is Encoding.PLAIN and not message.said.room
        if is_private and parse_plain_word(message.content, (STOP,)):
            return self._divert_stop(message, is_certain=False)
        if message.said.corrects and self._dispatcher is not None:
            # Stops the turn of the message that is corrected: its text is out of date.
            self._dispatcher.stop(
                message.asker, message.conversation_id, (CHAT_TEXT,), only=message.said.corrects
            )
        place, peer = conversation_key(message), message.asker
        question = self._questions.at(place, peer=peer)
        if question is None:
            return None
        if read_answer(message.content) is not None:
            return partial(self._settle_text, question)
        # The turn goes on with a no; this message is then answered as what it is.
        self._questions.settle(place, ApprovalVerdict.OTHER, peer=peer)
        return None

    def _divert_stop(self, message: AclMessage, *, is_certain: bool = True) -> Handler | None:
        """Handler that stops the earlier messages of this conversation, of any client. It bypasses
        the queue even if there is nothing to stop: a second stop would end the first. Not
        `is_certain`: None if there is nothing to stop, so that the model answers the message."""
        if self._dispatcher is None:
            return None
        stopped = self._dispatcher.stop(message.asker, message.conversation_id, _ONTOLOGIES)
        if not (is_certain or stopped.requests):
            return None
        return partial(describe_stop, stopped)

    async def _settle_text(self, question: ApprovalQuestion, request: Request) -> str:
        """Settle the question that was open when the answer arrived: the next may be open now."""
        message = request.message
        place, peer, language = (
            conversation_key(message),
            message.asker,
            language_of(message.content),
        )
        verdict = read_answer(message.content) or ApprovalVerdict.NO
        if self._questions.at(place, peer=peer) is not question:
            return _SETTLED_BEFORE[language]
        if verdict is ApprovalVerdict.YES and self._questions.is_too_early(place, peer=peer):
            return _TOO_EARLY[language]
        self._questions.settle(place, verdict, peer=peer)
        return settled_text(question, verdict, language)

    async def _approve(self, request: Request, body: ApproveRequest) -> Empty:
        verdict = ApprovalVerdict.YES if body.is_approved else ApprovalVerdict.NO
        if not self._questions.settle(body.id, verdict, peer=request.message.owner):
            raise NotFound(f"id: no pending question {body.id!r}: it was answered or has expired")
        return Empty()


_ONTOLOGIES = (CHAT_TEXT, ONTOLOGY)
_SETTLED_BEFORE = {"en": "That was answered already.", "es": "Eso ya está respondido."}
_TOO_EARLY = {
    "en": "That came too soon for my last question: please answer it once more.",
    "es": "Eso llegó demasiado pronto para mi última pregunta: respóndela otra vez, por favor.",
}
_MARGIN_S = 5.0
"""Part of a program's deadline, in seconds, left for the answer after a question has expired."""


class _DeltaSender:
    """Sends the first piece of an answer at once and later ones together, every DELTA_EVERY_S."""

    def __init__(self, request: Request, *, is_sent: bool) -> None:
        """Create the sender. `is_sent=False`: only questions are sent, and the caller takes the
        answer whole."""
        self._request = request
        self._is_sent = is_sent
        self._waiting: list[str] = []
        self._flusher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._flusher is not None:
            self._flusher.cancel()
            # Not awaited itself: that would raise its CancelledError here.
            await asyncio.wait([self._flusher])
        await self._flush()

    async def add(self, text: str) -> None:
        if not self._is_sent:
            return
        self._waiting.append(text)
        if self._flusher is None or self._flusher.done():
            await self._flush()
            self._flusher = asyncio.create_task(self._flush_later())

    async def ask(self, question: ApprovalQuestion) -> None:
        """Send a question after the text so far. Raises RequestError: it was not sent."""
        await self._flush()
        part = ApprovalPrompt(
            question=question.id,
            text=approval_question_text(question, language_of("")),
            tool=question.tool,
            arguments=question.arguments,
            expires_s=question.expires_s,
        )
        await self._request.part(part.encode())

    async def _flush_later(self) -> None:
        await asyncio.sleep(DELTA_EVERY_S)
        await self._flush()

    async def _flush(self) -> None:
        if self._waiting:
            # Cleared before the await: what is added meanwhile belongs to the next part.
            text = "".join(self._waiting)
            self._waiting.clear()
            # A part that cannot leave is no loss: the terminal answer repeats the whole text.
            with suppress(RequestError):
                await self._request.part(AnswerDelta(text=text).encode())
