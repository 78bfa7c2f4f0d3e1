"""EntryTool: a name, parameters and what is done. Its answer is always one JSON object."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spade_llm.errors import ModelError, RequestError, ServiceError
from spade_llm.memory.entry_tools.answers import error_object
from spade_llm.memory.entry_tools.as_text import as_text
from spade_llm.providers.model import ToolSpec

if TYPE_CHECKING:
    from spade_llm.memory.entry_tools.arguments import ToolArguments

Answer = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryTool:
    """A MemoryTool that also gives its answer as an object."""

    name: str
    description: str
    arguments: type[ToolArguments]
    run: Callable[[Any], Awaitable[Answer]]
    """Takes what `arguments` has read."""

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters=self.arguments.parameters(),
        )

    async def execute(self, /, **arguments: object) -> str:
        """What a model reads; of a long answer the first items."""
        return as_text(await self.answer(arguments))

    async def answer(self, arguments: object) -> Answer:
        """For any JSON; a failure is `{"error": true, "error_type": …, "message": …}`."""
        try:
            return await self.run(self.arguments.read(arguments))
        except (ServiceError, RequestError, ModelError) as error:
            return error_object(error)
