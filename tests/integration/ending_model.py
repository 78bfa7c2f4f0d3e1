"""A model that says what it is told to say, piece by piece, until it is told to end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.providers.model import Completion, TextDelta

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from spade_llm.providers.model import ContextMessage, Sampling, ToolSpec

END = None


class EndingModel:
    """Satisfies ChatModel."""

    name = "ending"

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[str | Completion | None] = asyncio.Queue()
        self.requests: list[list[ContextMessage]] = []

    def says(self, *pieces: str | Completion | None) -> None:
        """A Completion ends it with what it wishes, END without a wish."""
        for piece in pieces:
            self.pieces.put_nowait(piece)

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> Completion:
        said = [piece async for piece in self.stream(messages, tools)]
        text = "".join(piece.text for piece in said if isinstance(piece, TextDelta))
        (last,) = (piece for piece in said if isinstance(piece, Completion))
        return Completion(text=text, tool_calls=last.tool_calls)

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncIterator[TextDelta | Completion]:
        self.requests.append(list(messages))
        while isinstance(piece := await self.pieces.get(), str):
            yield TextDelta(piece)
        yield piece or Completion()
