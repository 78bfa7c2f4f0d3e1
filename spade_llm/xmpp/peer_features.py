"""What the clients of those who write to us can do (XEP-0030, XEP-0115, XEP-0092). Knows no
conversation.

Asked once for each `ver` that a presence shows, and for each connection that shows none. Nobody
can speak for another's client by showing its `ver` (XEP-0115 §9.1).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.acl import bare
from spade_llm.core.limits import LruDict
from spade_llm.errors import RequestError
from spade_llm.xmpp.stanza import CORRECTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.discovery import Sighting

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
"""Of one person, that are remembered: the latest."""
ASK_S = 2.0
"""For each of the two questions."""
MAX_ASKED = 64
"""Who is asked at the same time without anybody waiting for it."""


@dataclass(frozen=True, slots=True)
class PeerClient:
    """A client program: what it announces, and what it is."""

    features: frozenset[str] = frozenset()
    software: str = ""
    """Caps node, or name; empty: unknown."""

    @property
    def follows_corrections(self) -> bool:
        """Whether it shows every correction of a message, however often that is corrected."""
        return CORRECTION in self.features and _plain(self.software) in FOLLOWS_CORRECTIONS


_UNKNOWN = PeerClient()


class PeerFeatures:
    def __init__(self, agent: XmppAgent) -> None:
        self._agent = agent
        self._seen: LruDict[str, LruDict[str, Sighting]] = LruDict(MAX_KNOWN)
        """By bare JID, then by full JID: the connections that let us see their presence."""
        self._known: LruDict[str, PeerClient] = LruDict(MAX_KNOWN)
        """By bare JID, node and `ver`, or by full JID where these are not shown."""
        self._asked: dict[str, asyncio.Task[PeerClient]] = {}
        self._silent: LruDict[str, bool] = LruDict(MAX_KNOWN)
        """Full JIDs that did not say; not asked again unless somebody waits for it."""
        agent.on_sighting.append(self._sight)

    def known(self, jid: str) -> PeerClient | None:
        """The client at this full JID, without asking; None: nothing is known of it."""
        return self._known.get(self._key(jid))

    def may_follow_corrections(self, jid: str) -> bool:
        """Whether `follow_corrections` can still turn out to be true."""
        known = [(one, self.known(one)) for one in self._clients_with(jid)]
        return all(
            one not in self._silent if client is None else client.follows_corrections
            for one, client in known
        )

    async def follow_corrections(self, jid: str) -> bool:
        """Whether the client at this full JID shows every correction of a message, and so do all
        others of that person: a server copies to them what this one gets (XEP-0280)."""
        clients = await asyncio.gather(*map(self.of, self._clients_with(jid)))
        return all(client.follows_corrections for client in clients)

    def knows_to_follow(self, jid: str) -> bool:
        """As `follow_corrections`, without asking; False where that is not known."""
        known = map(self.known, self._clients_with(jid))
        return all(client is not None and client.follows_corrections for client in known)

    def learn(self, jid: str) -> None:
        """Ask, where nobody waits for it, so that it is known later."""
        is_open = self.known(jid) is None and jid not in self._silent
        if is_open and len(self._asked) < MAX_ASKED:
            self._asking(jid)

    async def of(self, jid: str) -> PeerClient:
        """The client at this full JID; one without features where it does not say in time."""
        key = self._key(jid)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        return await asyncio.shield(self._asking(jid))

    async def close(self) -> None:
        """Nobody wants to know any more."""
        asked = tuple(self._asked.values())
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)

    def _clients_with(self, jid: str) -> Sequence[str]:
        """Full JIDs of all clients that this person shows us; this one in any case."""
        return list(dict.fromkeys([jid, *self._seen.get(bare(jid), ())]))

    def _sighting(self, jid: str) -> Sighting | None:
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
            said = await self._agent.discover(jid, timeout_s=ASK_S)
            software = seen.node if seen else ""
            if CORRECTION in said.features and not software:
                software = await self._agent.software_of(jid, timeout_s=ASK_S)
        except RequestError:
            self._silent[jid] = True
            return _UNKNOWN
        finally:
            del self._asked[key]
        client = PeerClient(said.features, software)
        self._known[key] = client
        return client

    def _sight(self, seen: Sighting) -> None:
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
        self._known.pop(seen.jid, None)
        if not clients:
            self._seen.pop(person, None)


def _plain(software: str) -> str:
    """`https://dino.im/` → `dino.im`."""
    return software.strip().casefold().rpartition("://")[2].removeprefix("www.").rstrip("/")
