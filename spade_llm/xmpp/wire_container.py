"""Keeps an agent's messages on the wire: SPADE's container would hand them over in-process.

In-process means no stamped sender, no size limit, and messages to a stopped agent vanish.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade.container import Container

if TYPE_CHECKING:
    import asyncio

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
