"""Toolbox protocol: lists and calls tools; call context, result, and access terms of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import Protocol

from spade_llm.providers.model import ToolExample, ToolSpec

__all__ = [
    "CallContext",
    "Terms",
    "ToolExample",
    "ToolGroup",
    "ToolResult",
    "ToolRules",
    "ToolSpec",
    "Toolbox",
    "ToolboxBackend",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Result of a call. A failure is a result too: the model reads it and can react."""

    text: str
    is_error: bool = False


def error_result(text: str) -> ToolResult:
    return ToolResult(text=text, is_error=True)


def valid_unicode(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded in UTF-8, by `?`."""
    return text if text.isascii() else text.encode(errors="replace").decode()


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
    """Toolboxes by caller: each caller sees the tools that it may call."""

    def for_caller(self, caller: str) -> Toolbox:
        """Toolbox of a caller. It is made for each request.

        `caller`: bare JID, as stamped by the server. Any JID is allowed: it may have no tools.
        """
        ...

    async def time_limits(self) -> dict[str, float]:
        """Return time limits in seconds by tool name, for tools with a limit other than
        TIMEOUT_S."""
        ...


ANY_CALLER = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Access and limits of tools. None: the next wider terms apply (tool, group, agent)."""

    allowed: frozenset[str] | None = None
    """Bare JIDs and domains of callers. `*`: any caller; empty: no caller."""
    needs_approval: bool | None = None
    """A person must say yes to each call."""
    timeout_s: float | None = None
    max_concurrent: int | None = None
    """Calls of one tool that run at the same time."""
    max_result_chars: int | None = None
    """A longer result is given in pages of so many characters."""

    def within(self, wider: Terms) -> Terms:
        """These terms, with the wider ones in the place of None."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(wider, **{key: value for key, value in own.items() if value is not None})

    def allow(self, caller: str) -> bool:
        """Check whether this bare JID, as the server stamps it, may call."""
        jid = caller.lower()
        return bool({ANY_CALLER, jid, jid.rpartition("@")[2]} & (self.allowed or frozenset()))


NO_TERMS = Terms()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGroup:
    """Toolbox of a tool agent, with its terms. The agent's rules for a single tool take
    precedence."""

    name: str
    """Display name, in the log and in the agent's description of itself."""
    toolbox: Toolbox
    """Its `list` is called before each call, so it must answer from memory."""
    terms: Terms = NO_TERMS
    """Terms of all its tools."""
    terms_of: Mapping[str, Terms] = field(default_factory=dict)
    """Terms of single tools by name, set by their author; narrower than `terms`."""
    enforces_limits: bool = False
    """True if the toolbox itself enforces the time and concurrency limits of its tools."""
    resource: AbstractAsyncContextManager[object] | None = None
    """Entered before the first request, left after the last one; often the toolbox itself."""
    state: Callable[[], str] | None = None
    """Returns the state of a group whose tools may be missing, as a clause for error messages;
    None: its tools are always there. Names of such tools begin with the group's name and `_`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """Rules that an operator sets for the tools of an agent."""

    defaults: Terms = NO_TERMS
    terms_of: Mapping[str, Terms] = field(default_factory=dict)
    """Terms of single tools by name, in any group; the narrowest terms."""
    max_per_caller: int = 64
    """Calls of one bare JID that run at the same time; 256 more may wait."""

    def terms(self, name: str, group: Terms, *, own: Terms = NO_TERMS) -> Terms:
        """Resolve the terms of one tool. Precedence: the operator's terms for the tool, its
        author's, its group's, the operator's defaults."""
        single = self.terms_of.get(name, NO_TERMS)
        return single.within(own).within(group).within(self.defaults)
