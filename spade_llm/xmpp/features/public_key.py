"""Public key of an agent: published in a PEP node of its account, and read by other agents.

The server of an account lets only the account write the node, and answers for it while the agent is
offline: so the node tells which key belongs to a JID, as far as its server is trusted.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from slixmpp.exceptions import IqError, IqTimeout

from spade_llm.messaging import bare
from spade_llm.xmpp.features.pep import PepItems

if TYPE_CHECKING:
    from spade_llm.xmpp.agent import XmppAgent

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
