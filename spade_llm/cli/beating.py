"""Touches the heartbeat of an agent as long as it hears itself through its server."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from spade_llm.deployment.heartbeat import EVERY_S, beat, stop_beating

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.agent import XmppAgent


@asynccontextmanager
async def beating(agent: XmppAgent, home: Path) -> AsyncIterator[None]:
    stop_beating(home)
    heart = asyncio.create_task(_beat(agent, home))
    try:
        yield
    finally:
        heart.cancel()
        await asyncio.wait([heart])
        stop_beating(home)


async def _beat(agent: XmppAgent, home: Path) -> None:
    from spade_llm.xmpp.self_ping import hears_itself

    while True:
        if agent.link is not None and await hears_itself(agent.link):
            beat(home)
        await asyncio.sleep(EVERY_S)
