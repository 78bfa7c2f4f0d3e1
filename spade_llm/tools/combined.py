"""Combined toolbox: several toolboxes as one, with cached tool lists (TTL)."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.core.errors import PeerUnavailable, RequestError, RequestTimeout, UnknownTool
from spade_llm.tools.toolbox import NO_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spade_llm.providers.model import ToolSpec
    from spade_llm.tools.toolbox import CallContext, Toolbox, ToolResult

_log = logging.getLogger(__name__)

LIST_TTL_S = 60.0
"""Time to live (TTL) of a cached tool list."""
ABSENCE_TTL_S = 5.0
"""Time during which an unavailable toolbox is not asked again."""
LIST_TIMEOUT_S = 10.0


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
        """Leave out the tools of a toolbox that is known to be unavailable, without waiting for
        it."""
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
