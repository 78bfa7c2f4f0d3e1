"""Routes of tools, with their schemas: tools of all tool agents, direct tool calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path
from pydantic import Field

from spade_llm.core.errors import RequestError
from spade_llm.gateway.dependencies import CurrentRequest
from spade_llm.gateway.errors import ERROR_RESPONSES, HttpError
from spade_llm.gateway.schemas.common import HttpAnswer, HttpBody, ToolName
from spade_llm.tools.toolbox import CallContext

if TYPE_CHECKING:
    from spade_llm.providers.model import ToolSpec
    from spade_llm.tools.remote import ToolsClient


router = APIRouter(prefix="/mpc/tools", tags=["tools"], responses=ERROR_RESPONSES)
console_router = APIRouter(prefix="/api/v0/tools", tags=["console"], responses=ERROR_RESPONSES)

NameOfPath = Annotated[ToolName, Path()]


class ToolLine(HttpAnswer):
    name: str
    description: str
    input_schema: dict[str, object] = Field(
        validation_alias="parameters", description="JSON Schema of the arguments."
    )
    needs_approval: bool = Field(default=False, description="Each call needs a user's approval.")


class ToolList(HttpBody):
    tools: list[ToolLine]
    count: int
    degraded: list[str] = Field(default=[], description="Tool agents that did not answer.")


class ToolNames(HttpBody):
    tool_names: list[str]
    count: int
    degraded: list[str] = Field(default=[], description="Tool agents that did not answer.")


class ToolUsageExample(HttpAnswer):
    input: dict[str, object]
    output: str


class ToolInformation(ToolLine):
    examples: list[ToolUsageExample] = Field(
        default=[], description="Examples that the tool declares."
    )


class ToolCallRequest(HttpBody):
    arguments: dict[str, object] = {}
    is_approved: bool = Field(
        default=False, description="Approve this call, of a tool that needs approval."
    )


class ToolCallResponse(HttpBody):
    name: str
    success: bool
    result: str | None = Field(description="Result of a successful call.")
    error: str | None = Field(description="Error of a failed call.")
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableTools:
    tools: dict[str, tuple[ToolSpec, ToolsClient]]
    """Tools and the clients of their agents, keyed by tool name, in the agents' order; if two
    agents offer a name, the first has it."""
    unavailable: tuple[str, ...]
    """Names of agents that did not answer."""


async def list_all_tools(agents: Sequence[ToolsClient]) -> AvailableTools:
    """List the tools of the agents. Raises RequestError if none of them answers."""

    async def list_or_error(agent: ToolsClient) -> Sequence[ToolSpec] | RequestError:
        try:
            return await agent.list()
        except RequestError as error:
            return error

    answers = await asyncio.gather(*map(list_or_error, agents))
    tools: dict[str, tuple[ToolSpec, ToolsClient]] = {}
    failures: dict[str, RequestError] = {}
    for agent, answer in zip(agents, answers, strict=True):
        if isinstance(answer, RequestError):
            failures[agent.jid.partition("@")[0]] = answer
            continue
        for spec in answer:
            tools.setdefault(spec.name, (spec, agent))
    if failures and len(failures) == len(agents):
        raise next(iter(failures.values()))
    return AvailableTools(tools=tools, unavailable=tuple(failures))


@router.get("")
async def list_tools(api_request: CurrentRequest) -> ToolList:
    """List the tools of all tool agents."""
    offered = await list_all_tools(api_request.clients.tools)
    tools = [ToolLine.of(spec) for spec, _ in offered.tools.values()]
    return ToolList(tools=tools, count=len(tools), degraded=list(offered.unavailable))


@router.get("/names")
async def tool_names(api_request: CurrentRequest) -> ToolNames:
    """List the names of the tools."""
    offered = await list_all_tools(api_request.clients.tools)
    return ToolNames(
        tool_names=list(offered.tools), count=len(offered.tools), degraded=list(offered.unavailable)
    )


@router.get("/{tool_name}")
async def get_tool(api_request: CurrentRequest, tool_name: NameOfPath) -> ToolInformation:
    """Describe a tool; 404 if the name is unknown."""
    offered = await list_all_tools(api_request.clients.tools)
    if tool_name not in offered.tools:
        raise HttpError(404, f"Tool '{tool_name}' does not exist")
    spec, _ = offered.tools[tool_name]
    return ToolInformation.of(spec)


@console_router.post("/{name}/call")
async def call_tool(
    api_request: CurrentRequest, name: NameOfPath, body: ToolCallRequest
) -> ToolCallResponse:
    """Call a tool and return its result. An error of the tool is a result, too: `success` is
    false."""
    offered = await list_all_tools(api_request.clients.tools)
    if name not in offered.tools:
        raise HttpError(404, f"Tool '{name}' does not exist")
    _, agent = offered.tools[name]
    person, begun = api_request.principal.jid, time.monotonic()
    context = CallContext(on_behalf_of=person, approved_by=person if body.is_approved else "")
    result = await api_request.run_until_disconnect(
        agent.call(name, body.arguments, context=context)
    )
    return ToolCallResponse(
        name=name,
        success=not result.is_error,
        result=None if result.is_error else result.text,
        error=result.text if result.is_error else None,
        seconds=round(time.monotonic() - begun, 3),
    )
