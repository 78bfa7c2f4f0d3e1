"""Whether other agents are there and ours, as their presences say. Asks nobody anything."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from spade_llm.acl import bare
from spade_llm.services.subagents import Standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.discovery import Sighting

LOOK_S = 1.0
"""How long a presence may take to reach us, the first time that it is looked for."""


class Standings:
    def __init__(self, agent: XmppAgent, jids: Sequence[str]) -> None:
        self._agent = agent
        self._there: defaultdict[str, dict[str, bool]] = defaultdict(dict)
        """By bare JID: its connections, and whether each is ours."""
        self._seen = {jid: asyncio.Event() for jid in jids}
        """Set once its presence, or the lack of it, is known."""
        agent.on_sighting.append(self._sight)
        for jid in jids:
            agent.watch(jid)

    async def of(self, jid: str) -> Standing:
        await self._wait_once(jid)
        if there := self._there[jid].values():
            return Standing.OURS if all(there) else Standing.THERE
        return Standing.AWAY if self._agent.sees(jid) else Standing.UNKNOWN

    async def _wait_once(self, jid: str) -> None:
        seen = self._seen.get(jid)
        if seen is None or seen.is_set():
            return
        try:
            async with asyncio.timeout(LOOK_S):
                await seen.wait()
        except TimeoutError:
            seen.set()

    def _sight(self, seen: Sighting) -> None:
        jid = bare(seen.jid)
        if jid not in self._seen:
            return
        if seen.is_available:
            self._there[jid][seen.jid] = seen.is_ours
        else:
            self._there[jid].pop(seen.jid, None)
        self._seen[jid].set()
