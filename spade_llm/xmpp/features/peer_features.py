"""Peer features: presences of others, and cached service discovery of their clients.

Only disco#info and the software's name are queried, and of full JIDs only: disco#items ends the
stream on some servers.

Each `ver` in a presence is queried once per bare JID, and each connection without one separately.
So no client can determine another person's features by showing their `ver` (XEP-0115 §9.1).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slixmpp.exceptions import IqError, IqTimeout

from spade_llm.core.errors import PeerUnavailable, RequestError, RequestTimeout
from spade_llm.core.limits import LruDict
from spade_llm.messaging import bare
from spade_llm.xmpp.stanzas.announcement import MAX_FACT_CHARS, Announcement, read_announcement
from spade_llm.xmpp.stanzas.message_codec import CORRECTION
from spade_llm.xmpp.stanzas.namespaces import DISCO_INFO, VERSION

if TYPE_CHECKING:
    from slixmpp import ClientXMPP

    from spade_llm.xmpp.agent import XmppAgent

DISCOVERY_TIMEOUT_S = 5.0

FOLLOWS_CORRECTIONS = frozenset(
    {
        *("dino.im", "dino"),
        *("conversejs.org", "converse.js"),
        *("gajim.org", "gajim"),
        *("conversations.im", "conversations"),
    }
)
"""Clients that show every correction of one message: the host of their caps node (XEP-0115) and
their name (XEP-0092), in lower case. docs/design/manners.md says why each is here, and which is
not."""
MAX_KNOWN = 4096
"""People, connections, and kinds of clients that are remembered: of each, the latest."""
MAX_CLIENTS = 8
"""Maximum number of remembered connections per person (LRU)."""
QUERY_TIMEOUT_S = 2.0
"""Timeout in seconds of each of the two queries (features, software name)."""
MAX_ASKED = 64
"""Maximum number of concurrent queries in the background."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerPresence:
    """Presence of a peer that lets us see it."""

    jid: str
    """Full, as stamped."""
    is_available: bool
    is_ours: bool = False
    """It says that it runs this software: then it understands our requests."""
    ver: str = ""
    """Hash of the peer's features (entity capabilities, XEP-0115); it changes with them."""
    node: str = ""
    """Identifier of the software (XEP-0115), as its maker chose it: `https://dino.im`."""


async def discover(
    client: ClientXMPP, jid: str, *, timeout_s: float = DISCOVERY_TIMEOUT_S
) -> Announcement:
    """Query the announcement of a full JID (disco#info).

    Raises:
        PeerUnavailable: the JID is offline, or it does not tell its features.
        RequestTimeout: no answer in time, as on servers that carry no requests between clients.
    """
    try:
        answer = await client["xep_0030"].get_info(jid=jid, cached=False, timeout=timeout_s)
    except IqError as error:
        condition = str(error.condition)
        reason = f"{jid} does not tell its features (disco#info): {condition}"
        raise PeerUnavailable(reason, peer=jid, wire_code=condition) from None
    except IqTimeout:
        raise RequestTimeout(
            f"{jid} did not tell its features (disco#info) in time", peer=jid
        ) from None
    query = answer.xml.find(f"{{{DISCO_INFO}}}query")
    if query is None:
        raise PeerUnavailable(f"{jid} does not tell its features (disco#info)", peer=jid)
    return read_announcement(query)


async def software_of(
    client: ClientXMPP, jid: str, *, timeout_s: float = DISCOVERY_TIMEOUT_S
) -> str:
    """Query the software name at this full JID (XEP-0092); empty without an answer in time."""
    try:
        answer = await client.make_iq_get(VERSION, ito=jid).send(timeout=timeout_s)
    except (IqError, IqTimeout):
        return ""
    name = answer.xml.findtext(f"{{{VERSION}}}query/{{{VERSION}}}name")
    return (name or "")[:MAX_FACT_CHARS]


@dataclass(frozen=True, slots=True)
class PeerClient:
    """A client program: what it announces, and what it is."""

    features: frozenset[str] = frozenset()
    software: str = ""
    """Caps node, or name; empty: unknown."""

    @property
    def follows_corrections(self) -> bool:
        """True if the client shows every correction of a message, however many there are."""
        # `https://dino.im/` is known as `dino.im`.
        host = self.software.strip().casefold().rpartition("://")[2]
        name = host.removeprefix("www.").rstrip("/")
        return CORRECTION in self.features and name in FOLLOWS_CORRECTIONS


class PeerFeatures:
    """Cache of peers' clients and their features, filled by presences and queries."""

    def __init__(self, agent: XmppAgent) -> None:
        self._agent = agent
        self._seen: LruDict[str, LruDict[str, PeerPresence]] = LruDict(MAX_KNOWN)
        """Visible connections, by bare JID, then by full JID."""
        self._known: LruDict[str, PeerClient] = LruDict(MAX_KNOWN)
        """Clients by bare JID, node and `ver`, or by full JID if the presence shows no `ver`."""
        self._asked: dict[str, asyncio.Task[PeerClient]] = {}
        self._silent: LruDict[str, bool] = LruDict(MAX_KNOWN)
        """Full JIDs that did not answer; queried again only if a caller waits for it."""
        agent.on_peer_presence.append(self._report_presence)

    def known(self, jid: str) -> PeerClient | None:
        """Return the cached client at this full JID, without a query; None if unknown."""
        return self._known.get(self._key(jid))

    def may_follow_corrections(self, jid: str) -> bool:
        """True unless a known or silent client already makes `follow_corrections` false."""
        known = [(one, self.known(one)) for one in self._clients_with(jid)]
        return all(
            one not in self._silent if client is None else client.follows_corrections
            for one, client in known
        )

    async def follow_corrections(self, jid: str) -> bool:
        """True if the client at this full JID shows every correction of a message, and so do all
        other clients of that person, to which the server copies the messages (XEP-0280)."""
        clients = await asyncio.gather(*map(self.of, self._clients_with(jid)))
        return all(client.follows_corrections for client in clients)

    def knows_to_follow(self, jid: str) -> bool:
        """Return `follow_corrections` from the cache, without a query; False if unknown."""
        known = map(self.known, self._clients_with(jid))
        return all(client is not None and client.follows_corrections for client in known)

    def learn(self, jid: str) -> None:
        """Query the client in the background, so that it is known later."""
        is_open = self.known(jid) is None and jid not in self._silent
        if is_open and len(self._asked) < MAX_ASKED:
            self._asking(jid)

    async def of(self, jid: str) -> PeerClient:
        """Return the client at this full JID, by a query if unknown; one without features if it
        does not answer in time."""
        key = self._key(jid)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        # Others wait for the same query: who gives up first must not cancel it.
        return await asyncio.shield(self._asking(jid))

    async def close(self) -> None:
        """Cancel the pending queries."""
        asked = tuple(self._asked.values())
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)

    def _clients_with(self, jid: str) -> Sequence[str]:
        """Return the full JIDs of all visible clients of this person, this one included."""
        return list(dict.fromkeys([jid, *self._seen.get(bare(jid), ())]))

    def _sighting(self, jid: str) -> PeerPresence | None:
        clients = self._seen.get(bare(jid))
        return clients.get(jid) if clients else None

    def _key(self, jid: str) -> str:
        seen = self._sighting(jid)
        return f"{bare(jid)}#{seen.node}#{seen.ver}" if seen and seen.ver else jid

    def _asking(self, jid: str) -> asyncio.Task[PeerClient]:
        key = self._key(jid)
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._ask(jid, key))
        return task

    async def _ask(self, jid: str, key: str) -> PeerClient:
        seen = self._sighting(jid)
        try:
            said = await self._agent.discover(jid, timeout_s=QUERY_TIMEOUT_S)
            software = seen.node if seen else ""
            if CORRECTION in said.features and not software:
                software = await self._agent.software_of(jid, timeout_s=QUERY_TIMEOUT_S)
        except RequestError:
            self._silent[jid] = True
            return _UNKNOWN
        finally:
            del self._asked[key]
        client = PeerClient(said.features, software)
        self._known[key] = client
        return client

    def _report_presence(self, seen: PeerPresence) -> None:
        if seen.is_ours:
            return  # Our programs enable no carbons, and no person reads there.
        self._silent.pop(seen.jid, None)
        person = bare(seen.jid)
        clients = self._seen.get(person) or LruDict(MAX_CLIENTS)
        if seen.is_available:
            clients[seen.jid] = seen
            self._seen[person] = clients
            return
        clients.pop(seen.jid, None)
        # Only clients without a `ver` are known by full JID: the next one there may be another.
        self._known.pop(seen.jid, None)
        if not clients:
            self._seen.pop(person, None)


_UNKNOWN = PeerClient()
