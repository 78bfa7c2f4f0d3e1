"""Remote tools (`spade-llm.tools/1`): service of the tool agent, and its toolbox client."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from spade_llm.core.errors import (
    ApprovalRequired,
    Busy,
    Refusal,
    RequestRefused,
    Unauthorised,
    UnknownTool,
)
from spade_llm.messaging import Body, Idempotency
from spade_llm.messaging.body import truncated_to_message
from spade_llm.messaging.rpc import RpcClient, RpcService
from spade_llm.tools.llm_tool import is_name
from spade_llm.tools.toolbox import NO_CONTEXT, CallContext, ToolResult, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.messaging import Dispatcher, Request, RequestSender
    from spade_llm.tools.toolbox import ToolboxBackend

_log = logging.getLogger(__name__)

ONTOLOGY = "spade-llm.tools/1"
TIMEOUT_S = 45.0
"""Longer than tools usually may take (30 s): the tool's own word about its limit comes first."""
MARGIN_S = 15.0
"""Time added to a tool's own limit for the network and for waiting behind other calls."""
MAX_PATIENCE_S = 3600.0
"""Maximum timeout of one call, whatever limit the tool agent states."""
MAX_LISTED = 1000
"""Tools of one agent; the rest are not seen."""


class ListToolsRequest(Body):
    op: ClassVar[str] = "list"
    offset: int = Field(default=0, ge=0)


class CallToolRequest(Body):
    op: ClassVar[str] = "call"
    name: str = Field(min_length=1, max_length=64)
    arguments: Mapping[str, object] = Field(default_factory=dict)
    context: CallContext = NO_CONTEXT


class ToolsResponse(Body):
    tools: tuple[ToolSpec, ...]
    """Tools that fit into one message."""
    total: int | None = None
    """Number of tools in all. None: an older agent, which sends all at once."""
    time_limits: Mapping[str, float] = Field(default_factory=dict)
    """Seconds that a call may take, of tools with a limit of their own."""


class ToolResultResponse(Body):
    result: ToolResult


class ToolService:
    """Tool service (`spade-llm.tools/1`). The caller is the sender that the server stamps. The call
    context is only what the caller states, except that a gateway's user calls for no other person.
    """

    def __init__(self, tools: ToolboxBackend) -> None:
        self._tools = tools

    def attach(self, dispatcher: Dispatcher) -> None:
        service = RpcService(ONTOLOGY)
        service.on(ListToolsRequest, self._list)
        # A tool may do harm when it runs twice: after a kill its asker is told `interrupted`.
        service.on(CallToolRequest, self._call, effect=Idempotency.ONCE)
        service.attach(dispatcher)

    async def _list(self, request: Request, body: ListToolsRequest) -> Body:
        specs = list(filter(_fits, await self._tools.for_caller(request.message.owner).list()))
        limits = await self._tools.time_limits()

        def page(some: Sequence[ToolSpec]) -> ToolsResponse:
            of_some = {spec.name: limits[spec.name] for spec in some if spec.name in limits}
            return ToolsResponse(tools=tuple(some), total=len(specs), time_limits=of_some)

        return truncated_to_message(specs[body.offset :], page)

    async def _call(self, request: Request, body: CallToolRequest) -> ToolResultResponse:
        tools, context = self._tools.for_caller(request.message.owner), body.context
        if person := request.message.principal:
            # A gateway's user calls for itself, whatever the request states.
            context = replace(context, on_behalf_of=person)
        return ToolResultResponse(
            result=await tools.call(body.name, body.arguments, context=context)
        )


def _fits(spec: ToolSpec) -> bool:
    fits = ToolsResponse(tools=(spec,)).fits_one_message
    if not fits:
        _log.warning("tool %s is not offered: its definition is larger than a message", spec.name)
    return fits


_REFUSALS: dict[str, type[Refusal]] = {
    kind.code: kind for kind in (UnknownTool, Unauthorised, ApprovalRequired, Busy)
}
"""Those that every Toolbox may raise: the same near and far."""


class ToolsClient:
    """A Toolbox in another agent."""

    def __init__(self, requester: RequestSender, jid: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self.jid = jid
        self._peer = RpcClient(requester, jid, ONTOLOGY, timeout_s=timeout_s)
        self._timeout_s = timeout_s
        self._time_limits: Mapping[str, float] = {}

    async def list(self) -> Sequence[ToolSpec]:
        """List the tools of the agent, except those that model servers reject.

        A single invalid tool would make every turn fail, and a name of several lines could falsify
        the approval question shown to a person.
        """
        specs: list[ToolSpec] = []
        limits: dict[str, float] = {}
        while True:
            page = await self._peer.ask(ListToolsRequest(offset=len(specs)), ToolsResponse)
            specs += page.tools
            limits |= page.time_limits
            if not page.tools or len(specs) >= min(page.total or 0, MAX_LISTED):
                self._time_limits = limits
                return tuple(spec for spec in specs[:MAX_LISTED] if self._is_usable(spec))

    def _is_usable(self, spec: ToolSpec) -> bool:
        is_usable = is_name(spec.name) and spec.parameters.get("type", "object") == "object"
        if not is_usable:
            _log.warning("%s offers a tool %.80r that no model takes", self.jid, spec.name)
        return is_usable

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        try:
            body = CallToolRequest(name=name, arguments=arguments, context=context)
            answer = await self._peer.ask(
                body, ToolResultResponse, timeout_s=self._patience_s(name)
            )
        except RequestRefused as refusal:
            if refusal.wire_code in _REFUSALS:
                raise _REFUSALS[refusal.wire_code](refusal.detail) from None
            raise
        return answer.result

    def _patience_s(self, name: str) -> float:
        limit_s = self._time_limits.get(name)
        if limit_s is None:
            return self._timeout_s
        return max(self._timeout_s, min(limit_s, MAX_PATIENCE_S) + MARGIN_S)
