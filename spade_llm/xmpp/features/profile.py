"""Profile: what people see of an agent. vCard, avatar, nickname, and a status line with the load.

The vCard (XEP-0054, 0292), avatar (XEP-0084, 0153) and nickname (XEP-0172) are published once; what
the server has already is not written again, and a server that rejects them only causes a log line.
The status line of the presence says the model's name and the load level (ready, busy, saturated);
it changes at most once in `Identity.status_every_s`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from slixmpp.exceptions import IqError, IqTimeout

from spade_llm.xmpp.features.pep import PepItems
from spade_llm.xmpp.spade_adapters import Behaviour
from spade_llm.xmpp.stanzas.message_codec import xml_safe_text
from spade_llm.xmpp.stanzas.vcard import VCARD, is_same_vcard, vcard4, vcard_lines, vcard_temp

if TYPE_CHECKING:
    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.stanzas.vcard import Identity

logger = logging.getLogger(__name__)

UPDATE = "vcard-temp:x:update"
NICK = "http://jabber.org/protocol/nick"
AVATAR_DATA = "urn:xmpp:avatar:data"
AVATAR_METADATA = "urn:xmpp:avatar:metadata"
VCARD4_NODE = "urn:xmpp:vcard4"
POLL_EVERY_S = 4.0
"""Interval of load checks in seconds while requests come and go; it misses peaks."""
MAX_POLL_PAUSE_S = 60.0
"""While none do: the model's name may change without one."""
MAX_CHARS = 200

_CLIENT = "{jabber:client}"


class Profile:
    """Publishes vCard, avatar and nickname once per start."""

    def __init__(self, agent: XmppAgent, identity: Identity) -> None:
        self._agent = agent
        self._identity = identity
        self._items = PepItems(agent)
        self._is_done = False
        """True once the profile is published or rejected; reconnections do not repeat it."""
        if identity.is_published:
            agent.on_session.append(self._begin)
            agent.on_presence.append(self._show)

    def _begin(self) -> None:
        if not self._is_done:
            self._agent.spawn(self._publish())

    async def _publish(self) -> None:
        try:
            jid, identity = str(self._agent.jid), self._identity
            card = vcard_lines(identity, jid=jid)
            answer = await self._items.ask("get", ET.Element(f"{{{VCARD}}}vCard"))
            if not is_same_vcard(answer.find(f"{{{VCARD}}}vCard"), card, identity.avatar):
                await self._items.ask("set", vcard_temp(card, identity.avatar))
            await self._publish_items(card)
            self._is_done = True
        except IqTimeout:
            logger.warning("%s: publishing the vCard timed out", self._agent.jid)
        except IqError as error:
            self._is_done = True
            logger.info("%s: the server rejected the vCard: %s", self._agent.jid, error.condition)

    async def _publish_items(self, card: Mapping[str, str]) -> None:
        # Some servers derive these from the vCard (Prosody's `vcard_legacy`).
        if (avatar := self._identity.avatar) is not None:
            data = ET.Element(f"{{{AVATAR_DATA}}}data")
            data.text = avatar.base64
            if await self._items.publish(AVATAR_DATA, avatar.hash, data):
                metadata = ET.Element(f"{{{AVATAR_METADATA}}}metadata")
                facts = {
                    "bytes": str(len(avatar.content)),
                    "id": avatar.hash,
                    "type": "image/png",
                    "width": str(avatar.width),
                    "height": str(avatar.height),
                }
                ET.SubElement(metadata, f"{{{AVATAR_METADATA}}}info", facts)
                await self._items.publish(AVATAR_METADATA, avatar.hash, metadata)
        await self._items.publish(VCARD4_NODE, "current", vcard4(card))
        nick = ET.Element(f"{{{NICK}}}nick")
        nick.text = card["FN"]
        await self._items.publish(NICK, "current", nick)

    def _show(self, presence: ET.Element) -> None:
        """Add the avatar hash (XEP-0153): contacts fetch the picture when they see a new hash."""
        if presence.find(f"{{{UPDATE}}}x") is None:
            update = ET.SubElement(presence, f"{{{UPDATE}}}x")
            avatar = self._identity.avatar
            # An empty `<photo/>` says that there is no picture (XEP-0153).
            ET.SubElement(update, f"{{{UPDATE}}}photo").text = avatar.hash if avatar else ""


class LoadState(StrEnum):
    """Load levels of the status line."""

    FREE = "free"
    BUSY = "busy"
    SATURATED = "saturated"


_LOAD_TEXTS = {
    LoadState.FREE: "ready",
    LoadState.BUSY: "busy, answers may take a little longer",
    LoadState.SATURATED: "working to capacity, answers take longer",
}


class LoadLevel:
    """Load level with hysteresis, starting as FREE; it changes at most once in `every_s`, as each
    change is a stanza to every contact."""

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
    """Behaviour that shows the load in the presence status."""

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
            with suppress(TimeoutError):
                async with asyncio.timeout(MAX_POLL_PAUSE_S):
                    await dispatcher.load_changed.wait()

    def _write(self, presence: ET.Element) -> None:
        """Add the status to a presence for all or for a contact, unless it has one. Room presences
        get none: a room is told once, and would go on showing an old status."""
        is_for_room = "/" in presence.get("to", "")
        if is_for_room or presence.find(f"{_CLIENT}status") is not None:
            return
        if self._level.now is LoadState.SATURATED and presence.find(f"{_CLIENT}show") is None:
            ET.SubElement(presence, f"{_CLIENT}show").text = "dnd"
        described, load = xml_safe_text(self.describe()[:MAX_CHARS]), _LOAD_TEXTS[self._level.now]
        line = f"{described} · {load}" if described else load
        ET.SubElement(presence, f"{_CLIENT}status").text = line
