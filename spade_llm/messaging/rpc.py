"""RPC over messages: a service registers operations of an ontology, a client calls them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, TypeVar

from spade_llm.core import tracing
from spade_llm.core.errors import (
    MalformedContent,
    RequestError,
    RequestFailed,
    RequestTimeout,
    SpadeLLMError,
    Unauthorised,
)
from spade_llm.messaging import (
    AclMessage,
    Body,
    Dispatcher,
    Handler,
    Idempotency,
    OutgoingRequest,
    Request,
    RequestBody,
    RequestSender,
    Route,
    new_id,
    peek_op,
    read_request,
)
from spade_llm.messaging.operation import operations
from spade_llm.messaging.request import ReplicaKey

B = TypeVar("B", bound=Body)
A = TypeVar("A", bound=Body)

OpHandler = Callable[[Request, Mapping[str, object]], Awaitable[Body]]


@dataclass(frozen=True, slots=True)
class _Operation:
    handler: OpHandler
    effect: Idempotency
    max_time_s: float | None


async def _unknown(_request: Request, _values: Mapping[str, object]) -> Body:
    raise MalformedContent("this op is unknown")


_UNKNOWN = _Operation(_unknown, Idempotency.READ, None)


class RpcService:
    """Handlers of one ontology. An unknown op is answered `not-understood`, with the known ones."""

    def __init__(
        self,
        ontology: str,
        *,
        ends_with_asker: bool = False,
        replica_key: ReplicaKey | None = None,
    ) -> None:
        """`ends_with_asker`, `replica_key`: see Route."""
        self.ontology = ontology
        self._ends_with_asker = ends_with_asker
        self._replica_key = replica_key
        self._ops: dict[str, _Operation] = {}
        self._diverted: set[str] = set()

    def on(
        self,
        body: type[B],
        handler: Callable[[Request, B], Awaitable[Body]],
        *,
        effect: Idempotency = Idempotency.READ,
        is_diverted: bool = False,
    ) -> None:
        """Register the handler of an op. `is_diverted`: served at once instead of queued, because
        the request that runs in its conversation waits for it."""

        async def read(request: Request, values: Mapping[str, object]) -> Body:
            return await handler(request, body.read(values))

        self._ops[body.op] = _Operation(read, effect, None)
        if is_diverted:
            self._diverted.add(body.op)

    def serve(self, client: type[RpcClient], target_of: Callable[[Request], object]) -> None:
        """Serve all operations of a client class; `target_of` gives the object that has their
        methods, for the caller of a request."""
        for operation in operations(client):
            handler = partial(operation.serve, target_of)
            self._ops[operation.op] = _Operation(handler, operation.effect, operation.max_time_s)

    def attach(self, dispatcher: Dispatcher) -> None:
        dispatcher.route(
            self.ontology,
            Route(
                handler=self._handle,
                effect_of=lambda message: self._glimpsed(message).effect,
                max_time_s_of=lambda message: self._glimpsed(message).max_time_s,
                divert=self._divert,
                ends_with_asker=self._ends_with_asker,
                replica_key=self._replica_key,
            ),
        )

    async def _handle(self, request: Request) -> str:
        body = self._checked(request.message)
        tracing.current_span().rename(f"{self.ontology} {body.op}")
        return (await self._ops[body.op].handler(request, body.values)).encode()

    def _glimpsed(self, message: AclMessage) -> _Operation:
        """Raises MalformedContent where `_checked` will."""
        # Called at the arrival of each request: the first bytes are enough for ours.
        op = peek_op(message.content) or read_request(message.content).op
        return self._ops.get(op, _UNKNOWN)

    def _divert(self, message: AclMessage) -> Handler | None:
        if not self._diverted:
            return None
        try:
            op = peek_op(message.content) or read_request(message.content).op
        except MalformedContent:
            return None
        return self._handle if op in self._diverted else None

    def _checked(self, message: AclMessage) -> RequestBody:
        body = read_request(message.content)
        if body.op not in self._ops:
            known = ", ".join(sorted(self._ops))
            reason = f"op {body.op!r} is unknown to {self.ontology}: use one of {known}"
            raise MalformedContent(reason)
        # Of two equal keys the JSON reader takes the last, but the effect was told by the first.
        if body.op != (peek_op(message.content) or body.op):
            raise MalformedContent("the body has two ops: leave one out")
        # Refused, not ignored: it is a mistake or an attack, and silence would hide both.
        if body.owners - {message.owner}:
            raise Unauthorised("owner: it is the sender that the server stamps; leave it out")
        return body


class RpcClient:
    """Client of another agent for one ontology. A subclass declares its operations."""

    body_base: ClassVar[type[Body]] = Body
    """Base class of the requests and responses that are derived from the operations."""

    def __init__(
        self, requester: RequestSender, jid: str, ontology: str, *, timeout_s: float = 10.0
    ) -> None:
        self.jid = jid
        self._requester = requester
        self._ontology = ontology
        self._timeout_s = timeout_s

    async def ask(
        self,
        body: Body,
        answer: type[A],
        *,
        id: str | None = None,
        conversation_id: str = "",
        timeout_s: float | None = None,
    ) -> A:
        """The typed answer to one request. Equal ids get equal answers.

        Raises:
            RequestError: refused, failed, not understood, unreachable or too late.
        """
        question = self._question(body, id, conversation_id)
        message = await self._requester.ask(question, timeout_s=timeout_s or self._timeout_s)
        return self.read(answer, message)

    async def stream(
        self,
        body: Body,
        *,
        id: str | None = None,
        conversation_id: str = "",
        timeout_s: float | None = None,
        is_news: bool = False,
    ) -> AsyncGenerator[AclMessage]:
        """Parts in order, then the terminal answer. Raises as `ask`. `is_news`: Question."""
        question = replace(self._question(body, id, conversation_id), is_news=is_news)
        answers = self._requester.stream(question, timeout_s=timeout_s or self._timeout_s)
        # Leaving early then cancels at the peer at once, not when the generator is collected.
        async with aclosing(answers):
            async for message in answers:
                yield message

    async def watch(
        self,
        body: Body,
        answer: type[A],
        part: type[B],
        on_part: Callable[[B], Awaitable[None]],
        *,
        id: str | None = None,
        timeout_s: float,
        silence_s: float,
    ) -> A:
        """Send a request like `ask`, with progress reports to `on_part`. Leaving early cancels it
        at the peer.

        Raises:
            RequestTimeout: also if nothing arrives for `silence_s`.
        """
        question = replace(self._question(body, id, ""), is_news=True)
        answers = self._requester.stream(question, timeout_s=timeout_s)
        async with aclosing(answers):
            while not (message := await self._before(silence_s, anext(answers))).is_terminal:
                await on_part(self.read(part, message))
            return self.read(answer, message)

    async def _before(self, silence_s: float, coming: Awaitable[AclMessage]) -> AclMessage:
        try:
            async with asyncio.timeout(silence_s):
                return await coming
        # Before TimeoutError, of which RequestTimeout is a subclass.
        except RequestError:
            raise
        except TimeoutError:
            raise RequestTimeout(
                f"nothing came from {self.jid} in {silence_s:g} s", peer=self.jid
            ) from None

    def _question(self, body: Body, id: str | None, conversation_id: str) -> OutgoingRequest:
        return OutgoingRequest(
            peer=self.jid,
            ontology=self._ontology,
            content=body.encode(),
            conversation_id=conversation_id,
            id=id or new_id(),
        )

    def read(self, answer: type[A], message: AclMessage) -> A:
        """Raises RequestFailed where it cannot be read."""
        try:
            return answer.decode(message.content)
        except SpadeLLMError as error:
            raise RequestFailed(
                f"{self.jid} sent an unreadable answer: {error}",
                peer=self.jid,
                conversation_id=message.conversation_id,
                wire_code="malformed",
            ) from None
