"""Profile: publishes vCard, avatar and nickname (XEP-0054, 0084, 0153, 0172, 0292).

What the server has already is not written again. A server that takes none of it costs a line in the
log, and nothing else. Does not know what the card says.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from slixmpp.exceptions import IqError, IqTimeout

from spade_llm.xmpp.stanzas.forms import typed_form
from spade_llm.xmpp.stanzas.vcard import VCARD, is_same_vcard, vcard4, vcard_lines, vcard_temp

if TYPE_CHECKING:
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
_OPTIONS = {
    "pubsub#persist_items": "true",
    # An agent is known by its face before anybody subscribes to it, as it is by its vcard-temp.
    "pubsub#access_model": "open",
}


class Profile:
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
            await self._publish_card()
            await self._publish_items()
            self._is_done = True
        except IqTimeout:
            logger.warning("%s: publishing the vCard timed out", self._agent.jid)
        except IqError as error:
            self._is_done = True
            logger.info("%s: the server rejected the vCard: %s", self._agent.jid, error.condition)

    async def _publish_card(self) -> None:
        identity, card = self._identity, vcard_lines(self._identity, jid=str(self._agent.jid))
        known = (await self._ask("get", ET.Element(f"{{{VCARD}}}vCard"))).find(f"{{{VCARD}}}vCard")
        if not is_same_vcard(known, card, identity.avatar):
            await self._ask("set", vcard_temp(card, identity.avatar))

    async def _publish_items(self) -> None:
        """Some servers make these of the card (Prosody's `vcard_legacy`); then they are there."""
        card = vcard_lines(self._identity, jid=str(self._agent.jid))
        if (avatar := self._identity.avatar) is not None:
            data = ET.Element(f"{{{AVATAR_DATA}}}data")
            data.text = avatar.base64
            if await self._keep(AVATAR_DATA, avatar.hash, data):
                await self._put(AVATAR_METADATA, avatar.hash, self._metadata())
        await self._keep(VCARD4_NODE, "current", vcard4(card))
        nick = ET.Element(f"{{{NICK}}}nick")
        nick.text = card["FN"]
        await self._keep(NICK, "current", nick)

    def _metadata(self) -> ET.Element:
        metadata = ET.Element(f"{{{AVATAR_METADATA}}}metadata")
        if (avatar := self._identity.avatar) is not None:
            facts = {
                "bytes": str(len(avatar.content)),
                "id": avatar.hash,
                "type": "image/png",
                "width": str(avatar.width),
                "height": str(avatar.height),
            }
            ET.SubElement(metadata, f"{{{AVATAR_METADATA}}}info", facts)
        return metadata

    async def _keep(self, node: str, id: str, payload: ET.Element) -> bool:
        """False: it was there."""
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
        """A node that was made with other options keeps them."""
        try:
            await self._ask("set", _publication(node, id, payload, with_options=True))
        except IqError as error:
            # XEP-0060 §7.1.5: the node exists with other options than those of `publish-options`.
            if error.condition != "conflict":
                raise
            await self._ask("set", _publication(node, id, payload, with_options=False))

    async def _ask(self, kind: str, payload: ET.Element) -> ET.Element:
        """Raises IqError, IqTimeout."""
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
