"""/api/v0: a tool, called by hand."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Path

from spade_llm.gateway.asking import Asked
from spade_llm.gateway.bodies.common import ToolName
from spade_llm.gateway.bodies.own_documents import ToolCallRequest, ToolCallResponse
from spade_llm.gateway.errors import HttpError
from spade_llm.gateway.failures import FAILURES
from spade_llm.gateway.tool_shelf import offered_by
from spade_llm.tools.toolbox import CallContext

router = APIRouter(prefix="/api/v0/tools", tags=["console"], responses=FAILURES)


@router.post("/{name}/call")
async def call_tool(
    asked: Asked, name: Annotated[ToolName, Path()], body: ToolCallRequest
) -> ToolCallResponse:
    """What it gives. A failure of the tool's own is an answer, too: `success` is false."""
    offered = await offered_by(asked.clients.tools)
    if name not in offered.tools:
        raise HttpError(404, f"There is no tool '{name}'")
    _, agent = offered.tools[name]
    person, begun = asked.principal.jid, time.monotonic()
    context = CallContext(on_behalf_of=person, approved_by=person if body.is_approved else "")
    result = await asked.unless_left(agent.call(name, body.arguments, context=context))
    return ToolCallResponse(
        name=name,
        success=not result.is_error,
        result=None if result.is_error else result.text,
        error=result.text if result.is_error else None,
        seconds=round(time.monotonic() - begun, 3),
    )
