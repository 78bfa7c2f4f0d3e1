"""Roster and presence subscriptions (RFC 6121): contacts that may see an agent.

Only allowed JIDs may see it: other subscription requests are declined. On an account of the agent's
own, contacts that are no longer allowed are removed before its first presence. The server answers
probes by the same list.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from slixmpp import JID, ClientXMPP
from slixmpp.exceptions import IqError, IqTimeout

from spade_llm.core.errors import PeerUnavailable
from spade_llm.messaging import bare
from spade_llm.xmpp.features import peer_features
from spade_llm.xmpp.stanzas.announcement import NODE, read_node

if TYPE_CHECKING:
    from slixmpp.stanza import Presence

    from spade_llm.xmpp.agent import XmppAgent

logger = logging.getLogger(__name__)

PRESENCE_TIMEOUT_S = 2 * peer_features.DISCOVERY_TIMEOUT_S
"""Maximum wait in seconds for the roster and the server's confirmation."""
_SEES_US = ("from", "both")
_SEEN = ("to", "both")


class Roster:
    """Contacts of the agent's account and their subscriptions."""

    def __init__(self, agent: XmppAgent) -> None:
        options = agent.options
        self._agent = agent
        self.allowed = frozenset((*options.allowed, str(agent.jid.domain)))
        """JIDs and domains that may see us; `*`: all."""
        self._watched = set(options.announce_to)
        self._is_own_account = options.identity is not None
        """False: the account belongs to a person, and its contacts are left unchanged."""
        self.nick = options.identity.named(str(agent.jid.local)) if options.identity else None
        self.priority: int | None = None
        """Priority of our session among those of the account; None: the usual one (0)."""
        self._has_appeared = asyncio.Event()
        agent.on_client.append(self._listen)

    def allows(self, asker: str) -> bool:
        """True if this bare JID may see our presence, and so our full JID."""
        return bool({"*", asker, JID(asker).domain} & self.allowed)

    def subscribe_presence(self, jid: str) -> None:
        if jid in self._watched:
            return
        self._watched.add(jid)
        if self._agent.connection and self._agent.connection.connected.is_set():
            self._agent.spawn(self._ask_to_see(frozenset({jid})))

    def is_subscribed_to(self, jid: str) -> bool:
        is_known = bool(self._agent.connection) and jid in self._client.client_roster
        return is_known and self._client.client_roster[jid]["subscription"] in _SEEN

    def appear(self) -> None:
        """Send our presence after a connection, and subscribe to the watched JIDs."""
        self._has_appeared.clear()
        if not self._is_own_account:
            self._show()
        self._agent.spawn(self._look_at_roster())

    async def until_shown(self) -> bool:
        """Return once our server has sent our presence to all that may see it; False: not before
        the timeout. So a caller that is told that the agent has started may rely on its presence.
        """
        try:
            async with asyncio.timeout(PRESENCE_TIMEOUT_S):
                await self._has_appeared.wait()
                await self._until_processed()
        except (TimeoutError, PeerUnavailable):
            logger.warning("%s: the server has not confirmed our presence", self._agent.jid)
            return False
        return True

    async def until_hidden(self) -> None:
        """Take a negative priority, and return once our server knows it, or after the timeout: it
        gives messages to our bare JID to other sessions, or stores them (RFC 6121 §8.5.2.1)."""
        self.priority = -1
        self._agent.show_presence()
        try:
            async with asyncio.timeout(PRESENCE_TIMEOUT_S):
                await self._until_processed()
        except (TimeoutError, PeerUnavailable):
            logger.warning("%s: the server has not confirmed that we leave", self._agent.jid)

    async def _until_processed(self) -> None:
        """Return once our server has processed what was sent to it."""
        if (connection := self._agent.connection) is not None:
            # slixmpp's stanzas leave in a task of their own, and are counted then.
            await connection.client.waiting_queue.join()
            await connection.confirm()

    def _show(self) -> None:
        self._agent.show_presence()
        self._has_appeared.set()

    async def _look_at_roster(self) -> None:
        await self._get_roster()
        if self._is_own_account:
            # In this order: who may not see us any more must not get our presence.
            self._take_off()
            self._show()
        self._subscribe(frozenset(self._watched))

    @property
    def _client(self) -> ClientXMPP:
        return self._agent.client

    def _listen(self, client: ClientXMPP) -> None:
        client.add_event_handler("presence_subscribe", self._decide)
        client.add_event_handler("presence_available", self._note_twin)

    def _note_twin(self, presence: Presence) -> None:
        """Warn of another process on the agent's own account: both answer the same messages. A data
        folder admits one process only."""
        jid = str(presence["from"])
        is_other = jid != self._agent.address and bare(jid) == str(self._agent.jid)
        is_expected = self._agent.replicas is not None
        if (
            self._is_own_account
            and not is_expected
            and is_other
            and read_node(presence.xml) == NODE
        ):
            logger.warning(
                "another process is logged in as %s and answers the same messages: stop one", jid
            )

    def _decide(self, presence: Presence) -> None:
        asker = presence["from"].bare
        if not self._agent.acts_for(asker):
            return
        if not self.allows(asker):
            self._client.send_presence(pto=asker, ptype="unsubscribed")
            return
        self._client.send_presence(pto=asker, ptype="subscribed")
        self._client.send_presence(pto=asker, ptype="subscribe", pnick=self.nick)
        self._client.send_presence(pto=asker)

    async def _ask_to_see(self, wanted: frozenset[str]) -> None:
        await self._get_roster()
        self._subscribe(wanted)

    async def _get_roster(self) -> None:
        try:
            await self._client.get_roster(timeout=peer_features.DISCOVERY_TIMEOUT_S)
        except (IqError, IqTimeout) as error:
            logger.warning("%s: the roster could not be loaded: %s", self._agent.jid, error)

    def _subscribe(self, wanted: frozenset[str]) -> None:
        roster = self._client.client_roster
        for jid in wanted:
            if roster[jid]["subscription"] not in _SEEN:
                self._client.send_presence(pto=jid, ptype="subscribe", pnick=self.nick)

    def _take_off(self) -> None:
        """Cancel the subscriptions of contacts that are no longer allowed to see the agent."""
        roster = self._client.client_roster
        for jid in [one for one in roster if roster[one]["subscription"] in _SEES_US]:
            if not self.allows(jid):
                logger.info("%s is not allowed to see %s any more", jid, self._agent.jid)
                self._client.send_presence(pto=jid, ptype="unsubscribed")
                if jid not in self._watched and roster[jid]["subscription"] == "both":
                    self._client.send_presence(pto=jid, ptype="unsubscribe")
