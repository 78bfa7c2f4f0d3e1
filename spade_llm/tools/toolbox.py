"""Toolbox protocol: lists and calls tools; call context and tool result."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spade_llm.providers.model import ToolExample, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Result of a call. A failure is a result too: the model reads it and can react."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """Context that the caller states in addition to the arguments. The server stamps the caller
    itself."""

    on_behalf_of: str = ""
    """Bare JID of the person in the current turn."""
    approved_by: str = ""
    """Bare JID of the person that approved this call."""
    turn: str = ""
    """Id of the turn that the call belongs to; unchanged when the turn is resumed after a kill."""


NO_CONTEXT = CallContext()

current_context: ContextVar[CallContext] = ContextVar("current_context", default=NO_CONTEXT)
"""Context of the running call, for the few tools that need it."""


class Toolbox(Protocol):
    """A set of tools, local or in another agent."""

    async def list(self) -> Sequence[ToolSpec]:
        """Every tool that may be called now."""
        ...

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        """Run one tool.

        Raises:
            UnknownTool: no tool of this name.
            Unauthorised: the caller may not call it.
            ApprovalRequired: a person must say yes first, and the context names none.
            Busy: too many calls wait; nothing was run.
            RequestError: (remote) the tool agent could not be reached.
        """
        ...


class ToolboxBackend(Protocol):
    """Tools for every caller that asks, each seeing what it may call."""

    def for_caller(self, caller: str) -> Toolbox:
        """The tools of this bare JID, which the server has stamped. Any JID is allowed: it may
        have no tools. Cheap: called for each request."""
        ...

    async def time_limits(self) -> dict[str, float]:
        """Return time limits in seconds by tool name, for tools with a limit other than
        TIMEOUT_S."""
        ...


__all__ = ["CallContext", "ToolExample", "ToolResult", "ToolSpec", "Toolbox"]
