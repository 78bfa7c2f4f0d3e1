"""SPADE adapters: base classes, typed behaviours, messages, and a container that uses the wire.

SPADE's own container delivers in-process: without a stamped sender or a size limit, and messages to
a stopped agent vanish. SPADE is imported here without the XMPP server that comes with it: that
import takes 0.4 s (a database layer with it) and no agent needs it; `spade.run` still imports it to
start one.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from slixmpp.stanza import Presence

from spade_llm.messaging import AclMessage, to_metadata

if TYPE_CHECKING:
    from spade.behaviour import BehaviourType


SERVER = {"pyjabber.server": "Server", "pyjabber.server_parameters": "Parameters"}
"""Names that spade.container (4.1.4) imports from the server, and uses only by calling them."""


@contextmanager
def _server_imported_later() -> Iterator[None]:
    later = {module: name for module, name in SERVER.items() if module not in sys.modules}
    for module, name in later.items():
        stand_in = sys.modules[module] = ModuleType(module)
        setattr(stand_in, name, partial(_make_later, module, name))
    try:
        yield
    finally:
        for module in later:
            # So that `spade.run` imports the real module when it needs it.
            del sys.modules[module]


def _make_later(module: str, name: str, *args: object, **kwargs: object) -> object:
    made: object = getattr(import_module(module), name)(*args, **kwargs)
    return made


with _server_imported_later():
    from spade.agent import Agent
    from spade.behaviour import CyclicBehaviour as SpadeCyclicBehaviour
    from spade.behaviour import OneShotBehaviour as SpadeOneShotBehaviour
    from spade.container import Container
    from spade.message import Message as SpadeMessage
    from spade.presence import PresenceManager
    from spade.template import Template as SpadeTemplate

# SPADE 4.1.4 reads `ask` of every subscription request; slixmpp's presence has no such attribute,
# and warns on the root logger, which is the user's terminal.
Presence.interfaces = Presence.interfaces | {"ask"}

__all__ = [
    "Agent",
    "Behaviour",
    "OneShotBehaviour",
    "PresenceManager",
    "SpadeCyclicBehaviour",
    "SpadeMessage",
    "SpadeOneShotBehaviour",
    "SpadeTemplate",
    "WireContainer",
    "preserved_event_loop_policy",
    "to_spade_message",
]


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
    """SPADE behaviour that runs once. It gets the messages that its template asks for."""

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

    async def send(self, msg: SpadeMessage, behaviour: BehaviourType) -> None:
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
