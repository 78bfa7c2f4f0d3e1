"""SPADE adapters: typed behaviours, SPADE messages, and a container that always uses the wire.

In-process means no stamped sender, no size limit, and messages to a stopped agent vanish.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spade_llm.messaging import to_metadata
from spade_llm.xmpp.spade_classes import (
    Container,
    SpadeCyclicBehaviour,
    SpadeMessage,
    SpadeOneShotBehaviour,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade.agent import Agent
    from spade.behaviour import BehaviourType
    from spade.message import Message

    from spade_llm.messaging import AclMessage


class Behaviour(SpadeCyclicBehaviour):
    """A CyclicBehaviour: `on_start`, then `run` again and again until it is killed.

    SPADE 4.1.4 ends a behaviour for ever when `run` raises, and the agent looks alive: a
    subclass handles its errors inside `run`.
    """

    async def on_start(self) -> None: ...

    async def run(self) -> None: ...

    async def on_end(self) -> None: ...

    async def _run(self) -> None:
        """SPADE 4.1.4 takes a cancellation for the end of one `run` and begins the next: a program
        that is ended with Ctrl-C would wait for it for ever."""
        try:
            await self.run()
        except asyncio.CancelledError:
            self.kill()
            raise


class OneShotBehaviour(SpadeOneShotBehaviour):
    """`run` once. It gets the messages that its template asks for."""

    async def on_start(self) -> None: ...

    async def run(self) -> None: ...

    async def on_end(self) -> None: ...


def to_spade_message(message: AclMessage, *, body: str) -> SpadeMessage:
    return SpadeMessage(
        to=message.receiver,
        sender=message.sender,
        body=body,
        thread=message.conversation_id or None,
        metadata={**to_metadata(message), **message.extra},
    )


class WireContainer:
    """Stands in for SPADE's Container: sends through the sender's own stream, always."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop

    @classmethod
    def adopt(cls, agent: Agent) -> None:
        """Remove an agent from SPADE's container, so that no message reaches it in-process."""
        Container().unregister(agent.jid)
        agent.set_container(cls(agent.loop))

    async def send(self, msg: Message, behaviour: BehaviourType) -> None:
        await behaviour._xmpp_send(msg=msg)


@contextmanager
def preserved_event_loop_policy() -> Iterator[None]:
    """SPADE's container sets uvloop's policy for the whole process, after which a plain asyncio
    loop can start no child process (4.1.4; tests/test_facts.py): put the policy back."""
    policy = asyncio.get_event_loop_policy()
    try:
        yield
    finally:
        asyncio.set_event_loop_policy(policy)
