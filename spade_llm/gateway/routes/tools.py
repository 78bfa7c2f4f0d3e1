"""specs/4 §8: what tools there are."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from spade_llm.gateway.asking import Asked
from spade_llm.gateway.bodies.common import ToolName
from spade_llm.gateway.bodies.tools import ToolInformation, ToolLine, ToolList, ToolNames
from spade_llm.gateway.errors import HttpError
from spade_llm.gateway.failures import FAILURES
from spade_llm.gateway.tool_shelf import offered_by

router = APIRouter(prefix="/mpc/tools", tags=["tools"], responses=FAILURES)

NameOfPath = Annotated[ToolName, Path()]


@router.get("")
async def list_tools(asked: Asked) -> ToolList:
    """Of all tool agents."""
    offered = await offered_by(asked.clients.tools)
    tools = [ToolLine.of(spec) for spec, _ in offered.tools.values()]
    return ToolList(tools=tools, count=len(tools), degraded=list(offered.away))


@router.get("/names")
async def tool_names(asked: Asked) -> ToolNames:
    """Only what they are called."""
    offered = await offered_by(asked.clients.tools)
    return ToolNames(
        tool_names=list(offered.tools), count=len(offered.tools), degraded=list(offered.away)
    )


@router.get("/{tool_name}")
async def get_tool(asked: Asked, tool_name: NameOfPath) -> ToolInformation:
    """One of them."""
    offered = await offered_by(asked.clients.tools)
    if tool_name not in offered.tools:
        raise HttpError(404, f"There is no tool '{tool_name}'")
    spec, _ = offered.tools[tool_name]
    return ToolInformation.of(spec)
