"""Personal eventing (PEP, XEP-0163): items that an account publishes, which its server answers for.

A published item can be read by every address, also while the account is offline (access model
`open`, XEP-0060). Only the account itself can write it: so the public key in an agent's node tells
which key belongs to its JID, as far as its server is trusted.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from slixmpp.exceptions import IqError, IqTimeout

from spade_llm.messaging import bare
from spade_llm.xmpp.stanzas.forms import typed_form

if TYPE_CHECKING:
    from spade_llm.xmpp.agent import XmppAgent


PUBSUB = "http://jabber.org/protocol/pubsub"
PUBLISH_OPTIONS = f"{PUBSUB}#publish-options"
TIMEOUT_S = 10.0

_OPTIONS = {"pubsub#persist_items": "true", "pubsub#access_model": "open"}


class PepItems:
    """Items in the nodes of an agent's account, and those of other accounts.

    Raises IqError (the server refuses) and IqTimeout.
    """

    def __init__(self, agent: XmppAgent) -> None:
        self._agent = agent

    async def publish(self, node: str, id: str, payload: ET.Element) -> bool:
        """Publish an item unless the server has it already; False if it had."""
        if _texts(await self.read(node, id)) == _texts(payload):
            return False
        try:
            await self.ask("set", _publication(node, id, payload, with_options=True))
        except IqError as error:
            # XEP-0060 §7.1.5: the node exists with other options than those of `publish-options`.
            if error.condition != "conflict":
                raise
            await self.ask("set", _publication(node, id, payload, with_options=False))
        return True

    async def read(self, node: str, id: str, *, jid: str = "") -> ET.Element | None:
        """Payload of an item; None if the server has none. `jid`: account; empty: our own."""
        query = ET.Element(f"{{{PUBSUB}}}pubsub")
        items = ET.SubElement(query, f"{{{PUBSUB}}}items", {"node": node})
        ET.SubElement(items, f"{{{PUBSUB}}}item", {"id": id})
        try:
            answer = await self.ask("get", query, jid=jid)
        except IqError:
            return None
        item = answer.find(f"{{{PUBSUB}}}pubsub/{{{PUBSUB}}}items/{{{PUBSUB}}}item")
        return item[0] if item is not None and len(item) else None

    async def ask(self, kind: str, payload: ET.Element, *, jid: str = "") -> ET.Element:
        """Send an IQ to an account (empty: our own) and return the answer."""
        iq = self._agent.client.Iq()
        iq["type"] = kind
        if jid:
            iq["to"] = jid
        iq.xml.append(payload)
        answer: ET.Element = (await iq.send(timeout=TIMEOUT_S)).xml
        return answer


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


logger = logging.getLogger(__name__)

ITEM = "current"
MAX_KEY_CHARS = 200


class PublicKeyNode:
    """Publishes the agent's key once per start, and reads the keys of other accounts."""

    def __init__(self, agent: XmppAgent, *, node: str, key: str) -> None:
        """`node`: name of the node, also the namespace of the element. `key`: in Base64."""
        self._agent = agent
        self._items = PepItems(agent)
        self._node = node
        self._key = key
        self._is_done = False
        agent.on_session.append(self._begin)

    async def key_of(self, jid: str) -> str:
        """Key that a bare JID has published; empty: none, or its server cannot be asked."""
        if jid == bare(str(self._agent.jid)):
            return self._key
        try:
            found = await self._items.read(self._node, ITEM, jid=jid)
        except IqTimeout:
            return ""
        is_key = found is not None and found.tag == f"{{{self._node}}}key"
        return (found.text or "").strip()[:MAX_KEY_CHARS] if is_key and found is not None else ""

    def _begin(self) -> None:
        if not self._is_done:
            self._agent.spawn(self._publish())

    async def _publish(self) -> None:
        payload = ET.Element(f"{{{self._node}}}key", {"algorithm": "Ed25519"})
        payload.text = self._key
        try:
            await self._items.publish(self._node, ITEM, payload)
            self._is_done = True
        except IqTimeout:
            logger.warning("%s: publishing the public key timed out", self._agent.jid)
        except IqError as error:
            self._is_done = True
            logger.info("%s: the server takes no public key: %s", self._agent.jid, error.condition)
