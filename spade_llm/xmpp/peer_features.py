"""What the clients of those who write to us can do (XEP-0030, XEP-0115). Knows no conversation.

Asked once for each `ver` that a presence shows, and for each connection that shows none. Nobody
can speak for another's client by showing its `ver` (XEP-0115 §9.1).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from spade_llm.acl import bare
from spade_llm.errors import RequestError
from spade_llm.latest import keep_latest

if TYPE_CHECKING:
    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.discovery import Sighting

MAX_KNOWN = 4096
"""Connections, and kinds of clients, that are remembered: of each, the latest."""
ASK_S = 2.0
MAX_ASKED = 64
"""Who is asked at the same time without anybody waiting for it."""


class PeerFeatures:
    def __init__(self, agent: XmppAgent) -> None:
        self._agent = agent
        self._ver_of: OrderedDict[str, str] = OrderedDict()
        """By full JID: the bare one, and `ver`."""
        self._known: OrderedDict[str, frozenset[str]] = OrderedDict()
        """By bare JID and `ver`, or by full JID where that is not known."""
        self._asked: dict[str, asyncio.Task[frozenset[str]]] = {}
        self._silent: OrderedDict[str, bool] = OrderedDict()
        """Full JIDs that did not say; not asked again unless somebody waits for it."""
        agent.on_sighting.append(self._sight)

    def known(self, jid: str) -> frozenset[str] | None:
        """What is known of this full JID without asking; None: nothing."""
        return self._known.get(self._ver_of.get(jid, jid))

    def may_have(self, jid: str, feature: str) -> bool:
        """Whether it has it, or nobody has asked yet."""
        known = self.known(jid)
        return feature in known if known is not None else jid not in self._silent

    def learn(self, jid: str) -> None:
        """Ask, where nobody waits for it, so that it is known later."""
        is_open = self.known(jid) is None and jid not in self._silent
        if is_open and len(self._asked) < MAX_ASKED:
            self._asking(jid)

    async def of(self, jid: str) -> frozenset[str]:
        """Of this full JID; nothing where it does not say in time."""
        key = self._ver_of.get(jid, jid)
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

    def _asking(self, jid: str) -> asyncio.Task[frozenset[str]]:
        key = self._ver_of.get(jid, jid)
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._ask(jid, key))
        return task

    async def _ask(self, jid: str, key: str) -> frozenset[str]:
        try:
            said = await self._agent.discover(jid, timeout_s=ASK_S)
        except RequestError:
            keep_latest(self._silent, jid, True, most=MAX_KNOWN)
            return frozenset()
        finally:
            del self._asked[key]
        keep_latest(self._known, key, said.features, most=MAX_KNOWN)
        return said.features

    def _sight(self, seen: Sighting) -> None:
        self._silent.pop(seen.jid, None)
        if not seen.is_available:
            self._ver_of.pop(seen.jid, None)
            self._known.pop(seen.jid, None)
        elif seen.ver:
            key = f"{bare(seen.jid)}#{seen.ver}"
            keep_latest(self._ver_of, seen.jid, key, most=MAX_KNOWN)
