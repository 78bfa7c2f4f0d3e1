"""AnnouncingBehaviour: tells those who see our presence when our tools have changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from spade_llm.xmpp.behaviour import Behaviour

if TYPE_CHECKING:
    from spade_llm.xmpp.agent import XmppAgent

LOOK_EVERY_S = 1.0
"""Tools change by themselves, for instance those of an MCP server; to look costs microseconds."""

Digest = Callable[[], Awaitable[str]]
"""Of all that is offered, on its terms: another one when something has changed. Must not raise."""


class AnnouncingBehaviour(Behaviour):
    def __init__(self, agent: XmppAgent, digest: Digest) -> None:
        super().__init__()
        self._announcer = agent
        self._digest = digest

    async def run(self) -> None:
        self._announcer.announce(tools=await self._digest())
        await asyncio.sleep(LOOK_EVERY_S)
