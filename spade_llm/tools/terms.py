"""Terms of tools: allowed callers, approval, timeout and concurrency, by tool and by group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from spade_llm.tools.toolbox import Toolbox

T = TypeVar("T")

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
        """These, with the wider ones where they say nothing."""
        return Terms(
            allowed=_first_set(self.allowed, wider.allowed),
            needs_approval=_first_set(self.needs_approval, wider.needs_approval),
            timeout_s=_first_set(self.timeout_s, wider.timeout_s),
            max_concurrent=_first_set(self.max_concurrent, wider.max_concurrent),
            max_result_chars=_first_set(self.max_result_chars, wider.max_result_chars),
        )

    def allow(self, caller: str) -> bool:
        """Check whether this bare JID, as the server stamps it, may call."""
        jid = caller.lower()
        return bool({ANY_CALLER, jid, jid.rpartition("@")[2]} & (self.allowed or frozenset()))


def _first_set(narrow: T | None, wide: T | None) -> T | None:
    return wide if narrow is None else narrow


NO_TERMS = Terms()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGroup:
    """Toolbox of a tool agent, with its terms. The agent's rules for a single tool take
    precedence."""

    name: str
    """Display name, in the log and in the agent's description of itself."""
    toolbox: Toolbox
    """Its `list` is asked before each call: it answers from memory."""
    terms: Terms = NO_TERMS
    """Terms of all its tools."""
    terms_of: Mapping[str, Terms] = field(default_factory=dict)
    """Terms of single tools by name, set by their author; narrower than `terms`."""
    enforces_limits: bool = False
    """The toolbox itself keeps the time limit and the number of calls of each tool."""
    resource: AbstractAsyncContextManager[object] | None = None
    """Entered before the first request, left after the last one; often the toolbox itself."""
    state: Callable[[], str] | None = None
    """Says in one clause whether its tools are here, or why not; None: they always are. Their
    names begin with the group's and `_`."""


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
