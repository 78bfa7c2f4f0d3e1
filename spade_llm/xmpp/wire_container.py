"""Keeps an agent's messages on the wire: SPADE's container would hand them over in-process.

In-process means no stamped sender, no size limit, and messages to a stopped agent vanish.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spade_llm.xmpp.spade_classes import Container

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade.agent import Agent
    from spade.behaviour import BehaviourType
    from spade.message import Message


class WireContainer:
    """Stands in for SPADE's Container: sends through the sender's own stream, always."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop

    @classmethod
    def adopt(cls, agent: Agent) -> None:
        """Take an agent out of SPADE's container, so that nobody reaches it in-process."""
        Container().unregister(agent.jid)
        agent.set_container(cls(agent.loop))

    async def send(self, msg: Message, behaviour: BehaviourType) -> None:
        await behaviour._xmpp_send(msg=msg)


@contextmanager
def own_event_loop_policy() -> Iterator[None]:
    """SPADE's container sets uvloop's policy for the whole process, after which a plain asyncio
    loop can start no child process (4.1.4; tests/test_facts.py): put the policy back."""
    policy = asyncio.get_event_loop_policy()
    try:
        yield
    finally:
        asyncio.set_event_loop_policy(policy)
