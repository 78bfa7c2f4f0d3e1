"""Presence status line: the model's name and the load level (ready, busy, saturated).

Looks at the load by itself; what it shows changes at most once in `Identity.status_every_s`.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from spade_llm.xmpp.spade_adapters import Behaviour
from spade_llm.xmpp.stanzas.message import xml_safe_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.stanzas.vcard import Identity

POLL_EVERY_S = 4.0
"""Interval of load checks in seconds, while requests come and go; peaks between them are not shown.
"""
MAX_POLL_PAUSE_S = 60.0
"""While none do: the model's name may change without one."""
MAX_CHARS = 200
_CLIENT = "{jabber:client}"


class LoadState(StrEnum):
    FREE = "free"
    BUSY = "busy"
    SATURATED = "saturated"


class LoadLevel:
    """Begins as FREE. A level is left only when the load is clearly below it, and at most one
    change comes in `every_s`: each is a stanza to every contact."""

    def __init__(
        self, *, busy_at: int, every_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._busy_at = busy_at
        self._every_s = every_s
        self._clock = clock
        self._changed_at_s = clock() - every_s
        self.now = LoadState.FREE
        self._described = ""
        self.is_settled = False
        """True if the shown status is that of the last check; False: another check is due."""

    def has_changed(self, open_requests: int, described: str = "") -> bool:
        """Update the level; True if it or its description changed and may be shown now."""
        state, now_s = (self._level(open_requests), described), self._clock()
        self.is_settled = state == (self.now, self._described)
        if self.is_settled or now_s - self._changed_at_s < self._every_s:
            return False
        (self.now, self._described), self._changed_at_s = state, now_s
        self.is_settled = True
        return True

    def _level(self, open_requests: int) -> LoadState:
        # Hysteresis: a level is left at half of what it was entered at, as each change is a stanza
        # to every contact.
        saturated = self._busy_at if self.now is not LoadState.SATURATED else self._busy_at / 2
        busy = self._busy_at / 4 if self.now is LoadState.FREE else self._busy_at / 8
        if open_requests >= saturated:
            return LoadState.SATURATED
        # 1.5: a single request is never busy, however small `busy_at` is.
        return LoadState.BUSY if open_requests >= max(busy, 1.5) else LoadState.FREE


class StatusLine(Behaviour):
    def __init__(self, agent: XmppAgent, identity: Identity) -> None:
        super().__init__()
        self._shown_by = agent
        self.describe: Callable[[], str] = lambda: ""
        """Text in front of the load: the model's name. Must not raise."""
        self._level = LoadLevel(busy_at=identity.busy_at, every_s=identity.status_every_s)
        self._look_every_s = min(POLL_EVERY_S, identity.status_every_s)
        agent.on_presence.append(self._write)

    async def run(self) -> None:
        dispatcher = self._shown_by.node.dispatcher
        dispatcher.load_changed.clear()
        load = dispatcher.load
        if self._level.has_changed(load.running + load.queued, self.describe()):
            self._shown_by.show_presence()
        await asyncio.sleep(self._look_every_s)
        if self._level.is_settled:
            await self._until_changed(dispatcher.load_changed)

    async def _until_changed(self, changed: asyncio.Event) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_POLL_PAUSE_S):
                await changed.wait()

    def _write(self, presence: ET.Element) -> None:
        """Add the status to a presence for all or for a contact, unless it has one. Room presences
        get none: a room is told once, and would go on showing an old status."""
        is_for_room = "/" in presence.get("to", "")
        if is_for_room or presence.find(f"{_CLIENT}status") is not None:
            return
        if self._level.now is LoadState.SATURATED and presence.find(f"{_CLIENT}show") is None:
            ET.SubElement(presence, f"{_CLIENT}show").text = "dnd"
        ET.SubElement(presence, f"{_CLIENT}status").text = self._line()

    def _line(self) -> str:
        described = xml_safe_text(self.describe()[:MAX_CHARS])
        return f"{described} · {_TEXTS[self._level.now]}" if described else _TEXTS[self._level.now]


_TEXTS = {
    LoadState.FREE: "ready",
    LoadState.BUSY: "busy, answers may take a little longer",
    LoadState.SATURATED: "working to capacity, answers take longer",
}
