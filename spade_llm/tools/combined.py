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
    until: float
    missing: str = ""
    """Name of the toolbox that did not answer; empty if it did."""


@dataclass(slots=True, eq=False)
class _Member:
    toolbox: Toolbox
    is_guest: bool = False
    listing: _Listing | None = None
    names: frozenset[str] = frozenset()
    """Tool names in its last successful listing."""
    times_forgotten: int = 0
    """A listing that was asked for before the last time is not believed."""

    def forget(self) -> None:
        self.times_forgotten += 1
        self.listing = None


class CombinedToolbox:
    """Satisfies Toolbox. Of two tools with one name the first toolbox's is offered, and the log
    says so. A toolbox that is away takes its tools with it and nothing else."""

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
        self._homes: dict[str, _Member] = {}
        self._shadowed: frozenset[str] = frozenset()
        self._one_listing = asyncio.Lock()

    @property
    def missing(self) -> tuple[str, ...]:
        """Toolboxes that did not answer when the tools were last listed."""
        listings = [member.listing for member in self._members if member.listing]
        return tuple(listing.missing for listing in listings if listing.missing)

    async def list(self) -> Sequence[ToolSpec]:
        async with self._one_listing:
            stale = [member for member in self._members if self._is_stale(member)]
            await asyncio.gather(*(self._ask(member) for member in stale))
            return self._joined()

    def add(self, toolbox: Toolbox) -> None:
        """A guest, behind the others: it gets none of their names, not even while they are away. A
        person's yes, and a secret in an argument, are for the one that was here before."""
        self._members.append(_Member(toolbox, is_guest=True))

    def remove(self, toolbox: Toolbox) -> None:
        self._members = [one for one in self._members if one.toolbox is not toolbox]

    def forget(self, toolbox: Toolbox) -> None:
        """It may have other tools now: ask it again, next time."""
        for member in self._members:
            if member.toolbox is toolbox:
                member.forget()

    def set_absent(self, toolbox: Toolbox, who: str) -> None:
        """It is known to be away: go on without its tools, and do not wait for it."""
        for member in self._members:
            if member.toolbox is toolbox:
                member.listing = self._absent(who)

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        member = await self._home(name)
        try:
            return await member.toolbox.call(name, arguments, context=context)
        except UnknownTool:
            member.forget()
            raise
        except (PeerUnavailable, RequestTimeout) as error:
            member.listing = self._absent(error.peer)
            raise

    def forget_listings(self) -> None:
        """Ask every toolbox again, next time."""
        for member in self._members:
            member.forget()

    async def _home(self, name: str) -> _Member:
        await self.list()
        if name not in self._homes:
            known = ", ".join(sorted(self._homes))
            raise UnknownTool(f"there is no tool {name!r}; there are: {known}")
        return self._homes[name]

    def _is_stale(self, member: _Member) -> bool:
        return member.listing is None or self._now() >= member.listing.until

    async def _ask(self, member: _Member) -> None:
        before = member.times_forgotten
        listing = await self._listing(member)
        if not listing.missing:
            member.names = frozenset(spec.name for spec in listing.specs)
        is_current = before == member.times_forgotten
        member.listing = listing if is_current else replace(listing, until=self._now())

    async def _listing(self, member: _Member) -> _Listing:
        place = self._members.index(member) + 1
        try:
            async with asyncio.timeout(self._list_timeout_s):
                specs = await member.toolbox.list()
        except RequestError as error:
            return self._absent(error.peer)
        except TimeoutError:
            return self._absent(f"toolbox {place}")
        return _Listing(specs=specs, until=self._now() + self._list_ttl_s)

    def _absent(self, who: str) -> _Listing:
        _log.warning("%s does not answer; going on without its tools", who)
        return _Listing(specs=(), until=self._now() + self._absence_ttl_s, missing=who)

    def _joined(self) -> Sequence[ToolSpec]:
        specs: dict[str, ToolSpec] = {}
        homes: dict[str, _Member] = {}
        shadowed: set[str] = set()
        taken = frozenset[str]().union(*(one.names for one in self._members if not one.is_guest))
        for member in self._members:
            for spec in member.listing.specs if member.listing else ():
                if spec.name in specs or (member.is_guest and spec.name in taken):
                    shadowed.add(spec.name)
                else:
                    specs[spec.name] = spec
                    homes[spec.name] = member
        self._homes = homes
        self._warn_of(frozenset(shadowed))
        return tuple(specs.values())

    def _warn_of(self, shadowed: frozenset[str]) -> None:
        for name in sorted(shadowed - self._shadowed):
            _log.warning("two toolboxes offer %r; the first one's is used", name)
        self._shadowed = shadowed
