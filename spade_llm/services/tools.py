"""`spade-llm.tools/1`: tools that run in the tool agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from spade_llm.acl import Body
from spade_llm.errors import (
    ApprovalNeeded,
    Busy,
    Refusal,
    RequestRefused,
    Unauthorised,
    UnknownTool,
)
from spade_llm.runtime import Effect
from spade_llm.services.service import Peer, Service
from spade_llm.tools.toolbox import NO_CONTEXT, CallContext, ToolResult, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.runtime import Dispatcher, Request, Requester
    from spade_llm.tools.backend import ToolboxBackend

ONTOLOGY = "spade-llm.tools/1"


class ListTools(Body):
    op: ClassVar[str] = "list"


class CallTool(Body):
    op: ClassVar[str] = "call"
    name: str = Field(min_length=1, max_length=64)
    arguments: Mapping[str, object] = Field(default_factory=dict)
    context: CallContext = NO_CONTEXT


class Tools(Body):
    tools: tuple[ToolSpec, ...]


class Called(Body):
    result: ToolResult


class ToolService:
    """Who asks is the sender that the server stamps; what the context says is the asker's word."""

    def __init__(self, tools: ToolboxBackend) -> None:
        self._tools = tools

    def attach(self, dispatcher: Dispatcher) -> None:
        service = Service(ONTOLOGY)
        service.on(ListTools, self._list)
        service.on(CallTool, self._call, effect=Effect.ONCE)
        service.attach(dispatcher)

    async def _list(self, request: Request, _body: ListTools) -> Tools:
        return Tools(tools=tuple(await self._tools.for_caller(request.message.owner).list()))

    async def _call(self, request: Request, body: CallTool) -> Called:
        tools = self._tools.for_caller(request.message.owner)
        return Called(result=await tools.call(body.name, body.arguments, context=body.context))


_REFUSALS: dict[str, type[Refusal]] = {
    kind.code: kind for kind in (UnknownTool, Unauthorised, ApprovalNeeded, Busy)
}
"""Those that every Toolbox may raise: the same near and far."""


class ToolsClient:
    """A Toolbox in another agent."""

    def __init__(self, requester: Requester, jid: str, *, timeout_s: float = 30.0) -> None:
        self.jid = jid
        self._peer = Peer(requester, jid, ONTOLOGY, timeout_s=timeout_s)

    async def list(self) -> Sequence[ToolSpec]:
        return (await self._peer.ask(ListTools(), Tools)).tools

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        try:
            body = CallTool(name=name, arguments=arguments, context=context)
            answer = await self._peer.ask(body, Called)
        except RequestRefused as refusal:
            if refusal.wire_code in _REFUSALS:
                raise _REFUSALS[refusal.wire_code](refusal.detail) from None
            raise
        return answer.result
