"""What an agent's presence says to people: its model, and whether it is busy (`dnd`: saturated).

Looks at the load by itself; what it shows changes at most once in `Identity.status_every_s`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from spade_llm.xmpp.behaviour import Behaviour
from spade_llm.xmpp.load_level import Level, LoadLevel
from spade_llm.xmpp.stanza import readable

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.identity import Identity

LOOK_EVERY_S = 4.0
"""While requests come and go. A load between two looks is nobody's news."""
LOOK_ANYWAY_S = 60.0
"""While none do: the model's name may change without one."""
MAX_CHARS = 200
_CLIENT = "{jabber:client}"


class StatusLine(Behaviour):
    def __init__(self, agent: XmppAgent, identity: Identity) -> None:
        super().__init__()
        self._shown_by = agent
        self.describe: Callable[[], str] = lambda: ""
        """What stands before the load: the model's name. Must not raise."""
        self._level = LoadLevel(busy_at=identity.busy_at, every_s=identity.status_every_s)
        self._look_every_s = min(LOOK_EVERY_S, identity.status_every_s)
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
            async with asyncio.timeout(LOOK_ANYWAY_S):
                await changed.wait()

    def _write(self, presence: ET.Element) -> None:
        """Of a presence that has none of its own, and is for all or for a contact: a room is told
        once, and would go on showing what was then."""
        is_for_room = "/" in presence.get("to", "")
        if is_for_room or presence.find(f"{_CLIENT}status") is not None:
            return
        if self._level.now is Level.SATURATED and presence.find(f"{_CLIENT}show") is None:
            ET.SubElement(presence, f"{_CLIENT}show").text = "dnd"
        ET.SubElement(presence, f"{_CLIENT}status").text = self._line()

    def _line(self) -> str:
        described = readable(self.describe()[:MAX_CHARS])
        return f"{described} · {_TEXTS[self._level.now]}" if described else _TEXTS[self._level.now]


_TEXTS = {
    Level.FREE: "ready",
    Level.BUSY: "busy, answers may take a little longer",
    Level.SATURATED: "working to capacity, answers take longer",
}
