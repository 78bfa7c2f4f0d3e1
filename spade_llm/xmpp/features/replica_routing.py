"""Replica routing: which of an agent's processes answers a message that all of them receive.

A server gives a message to a bare JID to every resource of the same priority (RFC 6121 §8.5.2.1.1).
What is sent to the full JID of one replica is its own, whichever replica owns the conversation.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from spade_llm.core.errors import MalformedContent, StorageFailed
from spade_llm.messaging import PRINCIPAL, AclMessage, Encoding, Idempotency, Performative, bare
from spade_llm.messaging.agent_status import ReplicaLoad
from spade_llm.messaging.message import origin_of, parse_principal
from spade_llm.messaging.replicas import ReplicaSet, require_shared_database
from spade_llm.xmpp.stanzas import message_codec as codec
from spade_llm.xmpp.stanzas.namespaces import DELAY

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from spade_llm.core.database import DatabaseServer
    from spade_llm.messaging.claimed_log import OrphanedRequest
    from spade_llm.xmpp.agent import XmppAgent

logger = logging.getLogger(__name__)

_MESSAGE = "{jabber:client}message"
_BODY = "{jabber:client}body"
_THREAD = "{jabber:client}thread"
_DELAY = f"{{{DELAY}}}delay"
_FOR_EACH = frozenset({"error", "groupchat", "headline"})
"""Message types that each replica reads: errors and room messages come to full JIDs, headlines are
notifications (PEP)."""
READ_HOLD_S = 5.0
"""A held request that only reads is dropped after this: the log does not show whether it was
answered, and its program asks again. The time exceeds that after which a dead replica is missed."""


class ReplicaRouting:
    """Membership of an agent's process in its replica set (`Takeover`), and routing by it."""

    def __init__(self, agent: XmppAgent, database: DatabaseServer | None) -> None:
        """Raises ConfigurationError: there is no database."""
        shared = require_shared_database(database, agent=agent.jid)
        self._agent = agent
        self._jid = str(agent.jid)
        self.members = ReplicaSet(shared, is_connected=self.is_connected)
        self.members.work = self
        # Of an assistant, the conversations: it says so itself.
        self.members.count_conversations = lambda: agent.node.dispatcher.recent.per_minute
        self.members.log.is_ordered = lambda request: agent.node.dispatcher.is_ordered(request)
        self.members.log.is_resumed = lambda request: agent.node.dispatcher.is_resumed(request)

    def is_held(self, stanza: Element) -> bool:
        """True if another replica answers this stanza; it is held here for a while.

        Each replica but one does this with each message: it reads the stanza's own elements, and
        decodes nothing.
        """
        if stanza.tag != _MESSAGE or stanza.get("type") in _FOR_EACH:
            return False
        acl, to = stanza.find(codec.ACL_TAG), stanza.get("to")
        is_ours = (to != self._jid and to == self._agent.address) or (
            bare(stanza.get("from", "")) == self._jid
        )
        # The server gives what it stored while all were offline to one of us.
        if is_ours or stanza.find(_DELAY) is not None:
            logger.debug("request %s: received by this replica only", stanza.get("id"))
            return False
        if acl is not None and acl.get("performative") != Performative.REQUEST:
            return False  # A cancellation: the others know no such request.
        key, request = self._keys_of(stanza, acl)
        if self.members.is_answered_here(key):
            logger.debug("request %s: received", request[1])
            return False
        if acl is not None or stanza.find(_BODY) is not None:
            self.members.hold(key, request, stanza)
            self._agent.admission.count_held(stanza)
        return True

    def _keys_of(self, stanza: Element, acl: Element | None) -> tuple[str, tuple[str, str]]:
        """Key by which replicas divide messages, and the request's sender and id as the answer log
        writes them (`_asker` there)."""
        sender, id = stanza.get("from", ""), stanza.get("id", "")
        key = bare(sender)
        if acl is None:
            return key, (sender, id)
        dispatcher, id = self._agent.node.dispatcher, acl.get("reply-with") or id
        origin = origin_of(sender, id, Encoding.ACL)
        if key in dispatcher.gateways and (who := parse_principal(acl.get(PRINCIPAL, ""))):
            key, origin = who, f"{who}/{sender}"
        if not (acl.get("conversation-id") or stanza.findtext(_THREAD)):
            content = stanza.findtext(_BODY) or ""
            if part := dispatcher.replica_key(acl.get("ontology", ""), content, id):
                key = f"{key}\0{part}"
        return key, (origin, id)

    @property
    def name(self) -> str:
        """Name of this replica, valid after the start."""
        return self.members.name

    def loads(self) -> list[ReplicaLoad]:
        """Load of each living replica, for the agent's status."""
        return [
            ReplicaLoad(
                name=one.name,
                conversations=one.conversations,
                takeovers=one.takeovers,
                is_leaving=one.is_leaving,
            )
            for one in self.members.members
        ]

    def take_up(self, orphan: OrphanedRequest) -> bool:
        return self._agent.node.dispatcher.take_up(orphan.message)

    def take_held(self, item: Element, at: float) -> bool:
        if time.time() > at + READ_HOLD_S:
            request = _request_in(item)
            dispatcher = self._agent.node.dispatcher
            if request and dispatcher.effect_of(request) is Idempotency.READ:
                return False
        self._agent.receive_held(item)
        return True

    async def until_present(self) -> bool:
        return await self._agent.roster.until_shown()

    async def until_hidden(self) -> None:
        await self._agent.roster.until_hidden()

    async def until_restored(self) -> None:
        await self._agent.node.dispatcher.delivery.until_restored()

    async def resend(self) -> None:
        try:
            await self._agent.node.dispatcher.resend()
        except StorageFailed as error:
            logger.warning("unsent answers are sent later: %s", error)

    def is_serving(self, key: str) -> bool:
        return self._agent.node.dispatcher.is_serving(key)

    def is_connected(self) -> bool:
        connection = self._agent.connection
        return connection is not None and connection.connected.is_set()


def _request_in(stanza: Element) -> AclMessage | None:
    """Request of a program in a stanza; None: a person's message, or one that cannot be read."""
    if stanza.find(codec.ACL_TAG) is None:
        return None
    try:
        message = codec.decode(stanza)
    except MalformedContent:
        return None
    return message if isinstance(message, AclMessage) else None
