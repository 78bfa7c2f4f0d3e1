"""Several toolboxes as one: local, or in other agents. Knows no tool and no wire."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.errors import RequestError, UnknownTool
from spade_llm.tools.toolbox import NO_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spade_llm.providers.model import ToolSpec
    from spade_llm.tools.toolbox import CallContext, Toolbox, ToolResult

_log = logging.getLogger(__name__)

LIST_TTL_S = 60.0
"""How long a listing is believed."""
ABSENCE_TTL_S = 5.0
"""How long a toolbox that was away is not asked again."""
LIST_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    specs: Sequence[ToolSpec]
    until: float
    missing: str = ""
    """Who did not answer; empty if it did."""


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
        self._toolboxes = tuple(toolboxes)
        self._list_ttl_s = list_ttl_s
        self._absence_ttl_s = absence_ttl_s
        self._list_timeout_s = list_timeout_s
        self._now = now
        self._listings: dict[int, _Listing] = {}
        self._homes: dict[str, int] = {}
        self._shadowed: frozenset[str] = frozenset()
        self._one_listing = asyncio.Lock()

    @property
    def missing(self) -> tuple[str, ...]:
        """Who did not answer when the tools were last listed."""
        listings = (self._listings[place] for place in sorted(self._listings))
        return tuple(listing.missing for listing in listings if listing.missing)

    async def list(self) -> Sequence[ToolSpec]:
        async with self._one_listing:
            stale = [place for place in range(len(self._toolboxes)) if self._is_stale(place)]
            listed = await asyncio.gather(*(self._ask(place) for place in stale))
            self._listings.update(zip(stale, listed, strict=True))
            return self._joined()

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        place = await self._home(name)
        try:
            return await self._toolboxes[place].call(name, arguments, context=context)
        except UnknownTool:
            self._listings.pop(place, None)
            raise

    def forget_listings(self) -> None:
        """Ask every toolbox again, next time."""
        self._listings.clear()

    async def _home(self, name: str) -> int:
        await self.list()
        if name not in self._homes:
            known = ", ".join(sorted(self._homes))
            raise UnknownTool(f"there is no tool {name!r}; there are: {known}")
        return self._homes[name]

    def _is_stale(self, place: int) -> bool:
        listing = self._listings.get(place)
        return listing is None or self._now() >= listing.until

    async def _ask(self, place: int) -> _Listing:
        try:
            async with asyncio.timeout(self._list_timeout_s):
                specs = await self._toolboxes[place].list()
        except RequestError as error:
            return self._absent(error.peer)
        except TimeoutError:
            return self._absent(f"toolbox {place + 1}")
        return _Listing(specs=specs, until=self._now() + self._list_ttl_s)

    def _absent(self, who: str) -> _Listing:
        _log.warning("%s did not list its tools; going on without them", who)
        return _Listing(specs=(), until=self._now() + self._absence_ttl_s, missing=who)

    def _joined(self) -> Sequence[ToolSpec]:
        specs: dict[str, ToolSpec] = {}
        homes: dict[str, int] = {}
        shadowed: set[str] = set()
        for place in range(len(self._toolboxes)):
            for spec in self._listings[place].specs:
                if spec.name in specs:
                    shadowed.add(spec.name)
                else:
                    specs[spec.name] = spec
                    homes[spec.name] = place
        self._homes = homes
        self._warn_of(frozenset(shadowed))
        return tuple(specs.values())

    def _warn_of(self, shadowed: frozenset[str]) -> None:
        for name in sorted(shadowed - self._shadowed):
            _log.warning("two toolboxes offer %r; the first one's is used", name)
        self._shadowed = shadowed
