"""SPADE's behaviours with types, for the layers above that must not import SPADE."""

from __future__ import annotations

from spade_llm.xmpp.spade_classes import SpadeCyclicBehaviour, SpadeOneShotBehaviour


class Behaviour(SpadeCyclicBehaviour):
    """A CyclicBehaviour: `on_start`, then `run` again and again until it is killed.

    SPADE 4.1.4 ends a behaviour for ever when `run` raises, and the agent looks alive: a
    subclass handles its errors inside `run`.
    """

    async def on_start(self) -> None: ...

    async def run(self) -> None: ...

    async def on_end(self) -> None: ...


class OneShotBehaviour(SpadeOneShotBehaviour):
    """`run` once. It gets the messages that its template asks for."""

    async def on_start(self) -> None: ...

    async def run(self) -> None: ...

    async def on_end(self) -> None: ...
