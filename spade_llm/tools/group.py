"""Tools that come together and share their terms: those of a program, those of an MCP server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spade_llm.tools.terms import NO_TERMS, Terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from spade_llm.tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGroup:
    """One toolbox of a tool agent, and its terms. The agent's rules for a single tool go first."""

    name: str
    """For people: in the log and in what the agent says of itself."""
    toolbox: Toolbox
    """Its `list` is asked before each call: it answers from memory."""
    terms: Terms = NO_TERMS
    """Of all its tools."""
    terms_of: Mapping[str, Terms] = field(default_factory=dict)
    """Of single tools by name, as their author set them; narrower than `terms`."""
    keeps_limits: bool = False
    """The toolbox itself keeps the time limit and the number of calls of each tool."""
    resource: AbstractAsyncContextManager[object] | None = None
    """Entered before the first request, left after the last one; often the toolbox itself."""
    state: Callable[[], str] | None = None
    """Says in one clause whether its tools are here, or why not; None: they always are. Their
    names begin with the group's and `_`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """What an operator has set for the tools of an agent."""

    defaults: Terms = NO_TERMS
    terms_of: Mapping[str, Terms] = field(default_factory=dict)
    """Of single tools by name, of whichever group: the narrowest terms."""
    max_per_caller: int = 64
    """Calls of one bare JID that run at the same time; 256 more may wait."""

    def terms(self, name: str, group: Terms, *, own: Terms = NO_TERMS) -> Terms:
        """Of one tool, from the narrowest to the widest: the operator's for it, its author's, its
        group's, the operator's for all."""
        single = self.terms_of.get(name, NO_TERMS)
        return single.within(own).within(group).within(self.defaults)
