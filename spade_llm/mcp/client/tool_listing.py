"""Tool listings of a server: refresh, check against pins, offered and withheld tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from spade_llm.mcp.client.pins import Pins, PinVerdict, ToolDefinition, offered_names

if TYPE_CHECKING:
    from spade_llm.mcp.server_configs import McpServerSettings
    from spade_llm.providers.model import ToolSpec

_log = logging.getLogger(__name__)

LISTING_PAUSE_S = 1.0
"""Minimum interval in seconds between listings that no call waits for, because a server may
announce changes without end."""

MAX_REASONS = 20
"""Maximum number of withheld tools that are logged for one listing."""


class ConnectionLost(Exception):
    """The connection has ended; the text gives the reason, which peers may see."""


class ToolListings:
    """Tool listings of a connection, shared by the callers that wait for one."""

    def __init__(self, on_listed: Callable[[Sequence[ToolDefinition]], None]) -> None:
        self._on_listed = on_listed
        self._waiting_next: list[asyncio.Future[Sequence[ToolDefinition]]] = []
        """Futures of callers, bounded by the limit of concurrent calls."""
        self._waiting_current: list[asyncio.Future[Sequence[ToolDefinition]]] = []
        self._asked = asyncio.Event()
        self._wanted = asyncio.Event()
        self._is_over = False

    def refresh(self) -> None:
        """Request a new listing."""
        self._wanted.set()

    async def fetch(self) -> Sequence[ToolDefinition]:
        """List the tools with a request that starts after this call, shared with callers that came
        meanwhile.

        Raises:
            ConnectionLost
        """
        if self._is_over:
            raise ConnectionLost
        future: asyncio.Future[Sequence[ToolDefinition]] = (
            asyncio.get_running_loop().create_future()
        )
        self._waiting_next.append(future)
        self._asked.set()
        self._wanted.set()
        return await future

    async def poll(
        self, ask: Callable[[], Awaitable[Sequence[ToolDefinition]]], *, silence_s: float
    ) -> NoReturn:
        """List the tools whenever a caller or a change asks for it, and after each `silence_s`."""
        while True:
            await _wait_within(silence_s, self._wanted)
            # Before the request leaves: later callers need a later listing.
            self._wanted.clear()
            self._asked.clear()
            self._waiting_current, self._waiting_next = self._waiting_next, []
            self.add(await ask())
            await _wait_within(LISTING_PAUSE_S, self._asked)

    def add(self, listing: Sequence[ToolDefinition]) -> None:
        self._on_listed(listing)
        for future in self._waiting_current:
            if not future.done():
                future.set_result(listing)
        self._waiting_current = []

    def close(self) -> None:
        self._is_over = True
        for future in (*self._waiting_next, *self._waiting_current):
            if not future.done():
                future.set_exception(ConnectionLost())
        self._waiting_next, self._waiting_current = [], []


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTools:
    """Tools of one server that a model may call, and those that are withheld."""

    specs: Mapping[str, ToolSpec] = field(default_factory=dict)
    """Specs of the offered tools, keyed by offered name."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """The server's own tool names, keyed by offered name."""
    withheld: Mapping[str, str] = field(default_factory=dict)
    """Reasons that tools are withheld, keyed by offered name."""

    @property
    def waiting(self) -> int:
        """Number of tools that wait for an operator's review."""
        return sum(
            reason in (PinVerdict.CHANGED, PinVerdict.NEW) for reason in self.withheld.values()
        )


class ListingReview:
    """Review of the listings of one server against its pins."""

    def __init__(self, server: McpServerSettings, pins: Pins) -> None:
        self.latest = OfferedTools()
        self._server = server
        self._pins = pins
        self._specs: dict[str, tuple[str, ToolSpec]] = {}
        """Cached specs with the definition they were built from, keyed by offered name."""
        self._judged: tuple[Sequence[ToolDefinition] | None, bytes] | None = None
        self._logged: set[tuple[str, str]] = set()

    def is_stale(self, listing: Sequence[ToolDefinition] | None) -> bool:
        """Check whether a listing or an operator's decision is not reviewed yet (20 µs)."""
        return self._judged is None or self._judged != (listing, self._pins.version())

    def review(self, listing: Sequence[ToolDefinition] | None) -> None:
        """Review a listing; None reviews the definitions accepted so far. Blocks for milliseconds:
        call it off the event loop, one call at a time.

        Raises:
            StorageFailed
        """
        # Before the pins are read: a decision that comes meanwhile makes this review stale.
        version = self._pins.version()
        if listing is None:
            self.latest = self._offers(self._pins.accepted(self._server.name), {})
        else:
            self.latest = self._judge(listing)
            missing = (self._server.tools or frozenset()) - {one.name for one in listing}
            reasons = {
                *self.latest.withheld.items(),
                *((name, "the server has no such tool") for name in missing),
            }
            # Each reason is logged once, and again after it was gone.
            for name, reason in sorted(reasons - self._logged)[:MAX_REASONS]:
                _log.warning(
                    "MCP server %s: tool %s is withheld: %s", self._server.name, name, reason
                )
            self._logged = reasons
        self._judged = (listing, version)

    def _judge(self, listing: Sequence[ToolDefinition]) -> OfferedTools:
        sound = [definition for definition in listing if not definition.defect]
        verdicts = self._pins.review(
            self._server.name, sound, pins_new=self._server.accepts_new_tools
        )
        withheld = {one.name: one.defect for one in listing if one.defect}
        withheld |= {
            name: verdict
            for name, verdict in verdicts.items()
            if verdict is not PinVerdict.ACCEPTED
        }
        accepted = [one for one in sound if verdicts[one.name] is PinVerdict.ACCEPTED]
        return self._offers(accepted, withheld)

    def _offers(
        self, accepted: Sequence[ToolDefinition], withheld: Mapping[str, str]
    ) -> OfferedTools:
        wanted = {one.name: one for one in accepted if self._is_wanted(one.name)}
        reasons = {name: reason for name, reason in withheld.items() if self._is_wanted(name)}
        names = offered_names(self._server.name, (*wanted, *reasons))
        return OfferedTools(
            specs={
                name: self._spec(name, wanted[tool])
                for name, tool in names.items()
                if tool in wanted
            },
            tools={name: tool for name, tool in names.items() if tool in wanted},
            withheld={name: reasons[tool] for name, tool in names.items() if tool in reasons},
        )

    def _is_wanted(self, tool: str) -> bool:
        return self._server.tools is None or tool in self._server.tools

    def _spec(self, name: str, definition: ToolDefinition) -> ToolSpec:
        known = self._specs.get(name)
        if known is None or known[0] != definition.text:
            spec = definition.spec(name, server=self._server.name)
            known = self._specs[name] = (definition.text, spec)
        return known[1]


async def _wait_within(seconds: float, event: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
