"""SPADE's behaviours with types, for the layers above that must not import SPADE."""

from __future__ import annotations

import asyncio

from spade_llm.xmpp.spade_classes import SpadeCyclicBehaviour, SpadeOneShotBehaviour


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
