"""Remote tools (`spade-llm.tools/1`): service of the tool agent, and its toolbox client."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from spade_llm.core.errors import (
    ApprovalRequired,
    Busy,
    Refusal,
    RequestRefused,
    Unauthorised,
    UnknownTool,
)
from spade_llm.messaging import Body, Dispatcher, Idempotency, Request, RequestSender
from spade_llm.messaging.body import peek_field, truncated_to_message
from spade_llm.messaging.message import stable_id
from spade_llm.messaging.operation import Operation
from spade_llm.messaging.rpc import RpcClient, RpcService
from spade_llm.providers.model import ToolSpec
from spade_llm.tools.llm_tool import is_name
from spade_llm.tools.toolbox import NO_CONTEXT, CallContext, ToolboxBackend, ToolResult

_log = logging.getLogger(__name__)

ONTOLOGY = "spade-llm.tools/1"
TIMEOUT_S = 45.0
"""Longer than the usual time limit of a tool (30 s), so that its own timeout error comes first."""
MARGIN_S = 15.0
"""Time added to a tool's own limit for the network and for waiting behind other calls."""
MAX_PATIENCE_S = 3600.0
"""Maximum timeout of one call, whatever limit the tool agent states."""
MAX_LISTED = 1000
"""Maximum number of tools of one agent; further ones are ignored."""


class ToolsResponse(Body):
    tools: tuple[ToolSpec, ...]
    """Tools that fit into one message."""
    total: int | None = None
    """Number of tools in all. None: an older agent, which sends all at once."""
    time_limits: Mapping[str, float] = Field(default_factory=dict)
    """Time limits in seconds by tool name, of tools with a limit of their own."""


class ToolResultResponse(Body):
    result: ToolResult


class ToolEndpoint:
    """The tools of one caller as they are served to a request. Signatures are those of the wire.

    The caller is the sender that the server stamps. The call context is only what the caller
    states, except that a gateway's user calls for no other person.
    """

    def __init__(self, backend: ToolboxBackend, request: Request) -> None:
        self._backend = backend
        self._tools = backend.for_caller(request.message.owner)
        self._principal = request.message.principal

    async def list(self, offset: Annotated[int, Field(ge=0)] = 0) -> ToolsResponse:
        specs: list[ToolSpec] = []
        for spec in await self._tools.list():
            if ToolsResponse(tools=(spec,)).fits_one_message:
                specs.append(spec)
            else:
                _log.warning("tool %s is not offered: its definition exceeds a message", spec.name)
        limits = await self._backend.time_limits()

        def page(some: Sequence[ToolSpec]) -> ToolsResponse:
            of_some = {spec.name: limits[spec.name] for spec in some if spec.name in limits}
            return ToolsResponse(tools=tuple(some), total=len(specs), time_limits=of_some)

        return truncated_to_message(specs[offset:], page)

    async def call(
        self,
        name: Annotated[str, Field(min_length=1, max_length=64)],
        arguments: Mapping[str, object] = {},
        context: CallContext = NO_CONTEXT,
        *,
        key: str = "",
    ) -> ToolResultResponse:
        context = replace(context, idempotency_key=key)
        if self._principal:
            context = replace(context, on_behalf_of=self._principal)
        return ToolResultResponse(result=await self._tools.call(name, arguments, context=context))


def _replica_key(content: str, _id: str) -> str:
    """Person that a call is made for, since tools may hold state for it: pages of a long result,
    the session of an MCP server. A program's calls, without a person, stay together, too."""
    return peek_field(content, "on_behalf_of")


class ToolService:
    """Tool service (`spade-llm.tools/1`)."""

    def __init__(self, tools: ToolboxBackend) -> None:
        self._tools = tools

    def attach(self, dispatcher: Dispatcher) -> None:
        service = RpcService(ONTOLOGY, replica_key=_replica_key)
        service.serve(ToolsClient, lambda request: ToolEndpoint(self._tools, request))
        service.attach(dispatcher)


_REFUSALS: dict[str, type[Refusal]] = {
    kind.code: kind for kind in (UnknownTool, Unauthorised, ApprovalRequired, Busy)
}
"""Refusals that every Toolbox may raise, by code; they are raised by a remote one, too."""


class ToolsClient(RpcClient):
    """Toolbox of another agent."""

    _list = Operation(ToolEndpoint.list)
    # A tool may do harm when it runs twice: after a kill, the caller is told `interrupted`.
    _call = Operation(ToolEndpoint.call, Idempotency.ONCE)

    def __init__(self, requester: RequestSender, jid: str, *, timeout_s: float = TIMEOUT_S) -> None:
        super().__init__(requester, jid, ONTOLOGY, timeout_s=timeout_s)
        self._time_limits: Mapping[str, float] = {}

    async def list(self) -> Sequence[ToolSpec]:
        """List the tools of the agent, except those that model servers reject.

        A single invalid tool would make every turn fail, and a name of several lines could falsify
        the approval question shown to a person.
        """
        specs: list[ToolSpec] = []
        limits: dict[str, float] = {}
        while True:
            page = await self._list(offset=len(specs))
            specs += page.tools
            limits |= page.time_limits
            if not page.tools or len(specs) >= min(page.total or 0, MAX_LISTED):
                break
        self._time_limits = limits
        usable: list[ToolSpec] = []
        for spec in specs[:MAX_LISTED]:
            if is_name(spec.name) and spec.parameters.get("type", "object") == "object":
                usable.append(spec)
            else:
                _log.warning("%s offers a tool %.80r that models reject", self.jid, spec.name)
        return tuple(usable)

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        timeout_s = self._timeout_s
        if name in self._time_limits:
            limit_s = min(self._time_limits[name], MAX_PATIENCE_S)
            timeout_s = max(timeout_s, limit_s + MARGIN_S)
        id = None
        if context.idempotency_key:
            # Sorted: a model that is asked again may write them in another order.
            arguments = json.loads(json.dumps(arguments, sort_keys=True))
            id = stable_id(context.idempotency_key, self.jid, name, json.dumps(arguments))
        body = ToolsClient._call.body(name, arguments, context)
        try:
            answer = await self.ask(body, ToolResultResponse, id=id, timeout_s=timeout_s)
        except RequestRefused as refusal:
            if refusal.wire_code in _REFUSALS:
                raise _REFUSALS[refusal.wire_code](refusal.detail) from None
            raise
        return answer.result
