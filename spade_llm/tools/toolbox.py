"""What can be called: the Toolbox role and a call's result. Knows no tool and no wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spade_llm.providers.model import ToolSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ToolResult", "ToolSpec", "Toolbox"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a call gave. A failure is a result too: the model reads it and can act on it."""

    text: str
    is_error: bool = False


class Toolbox(Protocol):
    """A set of tools, local or in another agent."""

    async def list(self) -> Sequence[ToolSpec]:
        """Every tool that may be called now."""
        ...

    async def call(self, name: str, arguments: Mapping[str, object]) -> ToolResult:
        """Run one tool.

        Raises:
            UnknownTool: no tool of this name.
            RequestError: (remote) the tool agent could not be reached.
        """
        ...
