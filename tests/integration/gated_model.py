"""A model that makes whoever says "wait" wait, until it is let go; it echoes everybody."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.providers.model import NonStreamingModel
from spade_llm.providers.scripted import ScriptedProvider

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.providers.model import Completion, ContextMessage, Sampling, ToolSpec


class GatedModel(NonStreamingModel):
    """A ChatModel with a gate."""

    name = "gated"

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.was_asked = asyncio.Event()
        self._echo = ScriptedProvider.echo()

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> Completion:
        if str(messages[-1]["content"]).startswith("wait"):
            self.was_asked.set()
            await self.gate.wait()
        return await self._echo.complete(messages, tools, tool_choice=tool_choice)
