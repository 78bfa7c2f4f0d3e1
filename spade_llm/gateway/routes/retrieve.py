"""specs/2: what is remembered, as Markdown for a model."""

from __future__ import annotations

from fastapi import APIRouter, Response

from spade_llm.gateway.asking import Asked
from spade_llm.gateway.bodies.memory import RetrieveMemory
from spade_llm.gateway.failures import FAILURES
from spade_llm.memory.retrieve import DEFAULT_LIMIT

router = APIRouter(prefix="/api/v0", tags=["memory"], responses=FAILURES)

MARKDOWN = "text/markdown"
_EXAMPLE = """## Memory 1 [rank: 1, score: 0.85]
**When:** yesterday
**Summary:** User prefers dark mode interfaces and finds light mode straining.
"""


class Markdown(Response):
    media_type = MARKDOWN


@router.post(
    "/retrieve_memory",
    response_class=Markdown,
    responses={200: {"content": {MARKDOWN: {"schema": {"type": "string"}, "example": _EXAMPLE}}}},
)
async def retrieve_memory(asked: Asked, body: RetrieveMemory) -> Markdown:
    """The memories that a query brings to mind, best first."""
    return Markdown(
        await asked.clients.sessions.retrieve(
            body.query, limit=body.limit or DEFAULT_LIMIT, detail_limit=body.detail_limit
        )
    )
