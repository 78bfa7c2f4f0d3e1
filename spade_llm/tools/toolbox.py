"""Toolbox protocol: lists and calls tools; call context, result, access terms; several as one."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Protocol

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from spade_llm.core.errors import PeerUnavailable, RequestError, RequestTimeout, UnknownTool
from spade_llm.providers.model import ToolSpec

_log = logging.getLogger(__name__)

LIST_TTL_S = 60.0
"""Time to live (TTL) of a cached tool list."""
ABSENCE_TTL_S = 5.0
"""Time during which an unavailable toolbox is not asked again."""
LIST_TIMEOUT_S = 10.0


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
    idempotency_key: Annotated[str, SkipJsonSchema(), Field(exclude=True)] = ""
    """Key of the call, unchanged when its turn is resumed after a kill, and of no other call: for
    services that a tool calls. Between agents it is the request's id. Empty: the call has none."""


NO_CONTEXT = CallContext()

current_context: ContextVar[CallContext] = ContextVar("current_context", default=NO_CONTEXT)
"""Context of the running call, for the few tools that need it."""


class Toolbox(Protocol):
    """A set of tools, local or in another agent."""

    async def list(self) -> Sequence[ToolSpec]:
        """Every tool that may be called now."""

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


class ToolboxBackend(Protocol):
    """Toolboxes by caller: each caller sees the tools that it may call."""

    def for_caller(self, caller: str) -> Toolbox:
        """Toolbox of a caller. It is made for each request.

        `caller`: bare JID, as stamped by the server. Any JID is allowed: it may have no tools.
        """

    async def time_limits(self) -> dict[str, float]:
        """Time limits in seconds by tool name, for tools with a limit other than TIMEOUT_S."""


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


STARTING = "starting"
"""State of a group whose tools are not there yet, but will be soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGroup:
    """Toolbox of a tool agent, with its terms; the agent's rules for a tool come first."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    specs: Sequence[ToolSpec]
    expires_at: float
    unavailable: str = ""
    """Name of the toolbox that did not answer; empty if it did."""


@dataclass(slots=True, eq=False)
class _Member:
    toolbox: Toolbox
    is_late: bool = False
    listing: _Listing | None = None
    names: frozenset[str] = frozenset()
    """Tool names in its last successful listing."""
    generation: int = 0
    """Incremented by `forget`; a listing requested before is used once only."""

    def forget(self) -> None:
        self.generation += 1
        self.listing = None


class CombinedToolbox:
    """Toolbox of several toolboxes. Of two tools with the same name, the first toolbox's is offered
    and a warning logged. The tools of an unavailable toolbox are left out."""

    def __init__(
        self,
        toolboxes: Sequence[Toolbox],
        *,
        list_ttl_s: float = LIST_TTL_S,
        absence_ttl_s: float = ABSENCE_TTL_S,
        list_timeout_s: float = LIST_TIMEOUT_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._members = [_Member(toolbox) for toolbox in toolboxes]
        self._list_ttl_s = list_ttl_s
        self._absence_ttl_s = absence_ttl_s
        self._list_timeout_s = list_timeout_s
        self._now = now
        self._member_by_tool: dict[str, _Member] = {}
        self._shadowed: frozenset[str] = frozenset()
        self._list_lock = asyncio.Lock()

    @property
    def unavailable(self) -> tuple[str, ...]:
        """Toolboxes that did not answer when the tools were last listed."""
        listings = [member.listing for member in self._members if member.listing]
        return tuple(listing.unavailable for listing in listings if listing.unavailable)

    async def list(self) -> Sequence[ToolSpec]:
        # Concurrent callers share one round of listings.
        async with self._list_lock:
            now = self._now()
            stale = [
                member
                for member in self._members
                if member.listing is None or now >= member.listing.expires_at
            ]
            await asyncio.gather(*(self._ask(member) for member in stale))
            return self._merge_listings()

    def add(self, toolbox: Toolbox) -> None:
        """Add a toolbox with the lowest priority. It never takes over a name of the others, even
        while they are unavailable: an approval or a secret argument meant for their tool must not
        reach another one."""
        self._members.append(_Member(toolbox, is_late=True))

    def remove(self, toolbox: Toolbox) -> None:
        """Remove a toolbox; its tools are unknown from now on."""
        self._members = [one for one in self._members if one.toolbox is not toolbox]

    def forget(self, toolbox: Toolbox) -> None:
        """Invalidate the cached list of this toolbox, whose tools may have changed."""
        for member in self._members:
            if member.toolbox is toolbox:
                member.forget()

    def mark_unavailable(self, toolbox: Toolbox, name: str) -> None:
        """Leave out the tools of a toolbox that is known to be away, without waiting for it."""
        for member in self._members:
            if member.toolbox is toolbox:
                member.listing = self._unavailable_listing(name)

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        await self.list()
        if name not in self._member_by_tool:
            known = ", ".join(sorted(self._member_by_tool))
            raise UnknownTool(f"there is no tool {name!r}; there are: {known}")
        member = self._member_by_tool[name]
        try:
            return await member.toolbox.call(name, arguments, context=context)
        # The cached list is out of date.
        except UnknownTool:
            member.forget()
            raise
        except (PeerUnavailable, RequestTimeout) as error:
            member.listing = self._unavailable_listing(error.peer)
            raise

    def invalidate_all(self) -> None:
        """Invalidate all cached lists."""
        for member in self._members:
            member.forget()

    async def _ask(self, member: _Member) -> None:
        before = member.generation
        listing = await self._listing(member)
        if not listing.unavailable:
            member.names = frozenset(spec.name for spec in listing.specs)
        # Invalidated while it answered: this listing expires at once.
        is_current = before == member.generation
        member.listing = listing if is_current else replace(listing, expires_at=self._now())

    async def _listing(self, member: _Member) -> _Listing:
        place = self._members.index(member) + 1
        try:
            async with asyncio.timeout(self._list_timeout_s):
                specs = await member.toolbox.list()
        except RequestError as error:
            return self._unavailable_listing(error.peer)
        except TimeoutError:
            return self._unavailable_listing(f"toolbox {place}")
        return _Listing(specs=specs, expires_at=self._now() + self._list_ttl_s)

    def _unavailable_listing(self, name: str) -> _Listing:
        _log.warning("%s does not answer; continuing without its tools", name)
        return _Listing(specs=(), expires_at=self._now() + self._absence_ttl_s, unavailable=name)

    def _merge_listings(self) -> Sequence[ToolSpec]:
        specs: dict[str, ToolSpec] = {}
        member_by_tool: dict[str, _Member] = {}
        shadowed: set[str] = set()
        taken = frozenset[str]().union(*(one.names for one in self._members if not one.is_late))
        for member in self._members:
            for spec in member.listing.specs if member.listing else ():
                if spec.name in specs or (member.is_late and spec.name in taken):
                    shadowed.add(spec.name)
                else:
                    specs[spec.name] = spec
                    member_by_tool[spec.name] = member
        self._member_by_tool = member_by_tool
        # Only once for each name, and again if it was unique in between.
        for name in sorted(shadowed - self._shadowed):
            _log.warning("two toolboxes offer %r; the first one's is used", name)
        self._shadowed = frozenset(shadowed)
        return tuple(specs.values())
