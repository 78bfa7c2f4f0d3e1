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
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from slixmpp.exceptions import IqError, IqTimeout

from spade_llm.xmpp.spade_adapters import Behaviour
from spade_llm.xmpp.stanzas.forms import typed_form
from spade_llm.xmpp.stanzas.message import xml_safe_text
from spade_llm.xmpp.stanzas.vcard import VCARD, is_same_vcard, vcard4, vcard_lines, vcard_temp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.stanzas.vcard import Identity

logger = logging.getLogger(__name__)

TIMEOUT_S = 10.0
UPDATE = "vcard-temp:x:update"
NICK = "http://jabber.org/protocol/nick"
PUBSUB = "http://jabber.org/protocol/pubsub"
AVATAR_DATA = "urn:xmpp:avatar:data"
AVATAR_METADATA = "urn:xmpp:avatar:metadata"
VCARD4_NODE = "urn:xmpp:vcard4"
PUBLISH_OPTIONS = f"{PUBSUB}#publish-options"
POLL_EVERY_S = 4.0
"""Interval of load checks in seconds, while requests come and go; peaks between them are not shown.
"""
MAX_POLL_PAUSE_S = 60.0
"""While none do: the model's name may change without one."""
MAX_CHARS = 200

_CLIENT = "{jabber:client}"
_OPTIONS = {
    "pubsub#persist_items": "true",
    # An agent is known by its face before anybody subscribes to it, as it is by its vcard-temp.
    "pubsub#access_model": "open",
}


class Profile:
    """Publishes vCard, avatar and nickname once per start."""

    def __init__(self, agent: XmppAgent, identity: Identity) -> None:
        self._agent = agent
        self._identity = identity
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
            answer = await self._ask("get", ET.Element(f"{{{VCARD}}}vCard"))
            if not is_same_vcard(answer.find(f"{{{VCARD}}}vCard"), card, identity.avatar):
                await self._ask("set", vcard_temp(card, identity.avatar))
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
            if await self._keep(AVATAR_DATA, avatar.hash, data):
                metadata = ET.Element(f"{{{AVATAR_METADATA}}}metadata")
                facts = {
                    "bytes": str(len(avatar.content)),
                    "id": avatar.hash,
                    "type": "image/png",
                    "width": str(avatar.width),
                    "height": str(avatar.height),
                }
                ET.SubElement(metadata, f"{{{AVATAR_METADATA}}}info", facts)
                await self._put(AVATAR_METADATA, avatar.hash, metadata)
        await self._keep(VCARD4_NODE, "current", vcard4(card))
        nick = ET.Element(f"{{{NICK}}}nick")
        nick.text = card["FN"]
        await self._keep(NICK, "current", nick)

    async def _keep(self, node: str, id: str, payload: ET.Element) -> bool:
        """Publish an item unless the server has it already; False if it had."""
        if _texts(await self._item(node, id)) == _texts(payload):
            return False
        await self._put(node, id, payload)
        return True

    async def _item(self, node: str, id: str) -> ET.Element | None:
        query = ET.Element(f"{{{PUBSUB}}}pubsub")
        items = ET.SubElement(query, f"{{{PUBSUB}}}items", {"node": node})
        ET.SubElement(items, f"{{{PUBSUB}}}item", {"id": id})
        try:
            answer = await self._ask("get", query)
        except IqError:
            return None
        item = answer.find(f"{{{PUBSUB}}}pubsub/{{{PUBSUB}}}items/{{{PUBSUB}}}item")
        return item[0] if item is not None and len(item) else None

    async def _put(self, node: str, id: str, payload: ET.Element) -> None:
        """Publish an item; an existing node keeps its options."""
        try:
            await self._ask("set", _publication(node, id, payload, with_options=True))
        except IqError as error:
            # XEP-0060 §7.1.5: the node exists with other options than those of `publish-options`.
            if error.condition != "conflict":
                raise
            await self._ask("set", _publication(node, id, payload, with_options=False))

    async def _ask(self, kind: str, payload: ET.Element) -> ET.Element:
        """Send an IQ and return the answer. Raises IqError, IqTimeout."""
        iq = self._agent.client.Iq()
        iq["type"] = kind
        iq.xml.append(payload)
        answer: ET.Element = (await iq.send(timeout=TIMEOUT_S)).xml
        return answer

    def _show(self, presence: ET.Element) -> None:
        """Add the avatar hash (XEP-0153): contacts fetch the picture when they see a new hash."""
        if presence.find(f"{{{UPDATE}}}x") is None:
            update = ET.SubElement(presence, f"{{{UPDATE}}}x")
            avatar = self._identity.avatar
            # An empty `<photo/>` says that there is no picture (XEP-0153).
            ET.SubElement(update, f"{{{UPDATE}}}photo").text = avatar.hash if avatar else ""


def _texts(element: ET.Element | None) -> list[tuple[str, str]]:
    return [] if element is None else [(one.tag, one.text or "") for one in element.iter()]


def _publication(node: str, id: str, payload: ET.Element, *, with_options: bool) -> ET.Element:
    query = ET.Element(f"{{{PUBSUB}}}pubsub")
    publish = ET.SubElement(query, f"{{{PUBSUB}}}publish", {"node": node})
    ET.SubElement(publish, f"{{{PUBSUB}}}item", {"id": id}).append(payload)
    if with_options:
        options = ET.SubElement(query, f"{{{PUBSUB}}}publish-options")
        options.append(typed_form("submit", PUBLISH_OPTIONS, _OPTIONS))
    return query


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
