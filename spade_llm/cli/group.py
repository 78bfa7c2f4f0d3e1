"""The agents of `up`, running together: in this process, or in one each. Knows no server."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from spade_llm.cli.definition import in_waves
from spade_llm.cli.hosting import running_agent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spade_llm.agent import XmppAgent
    from spade_llm.cli.definition import Definition
    from spade_llm.cli.hosting import Host


class Group(Protocol):
    async def wait_heard(self, jid: str, *, within_s: float) -> None:
        """Return once this agent of the group can be asked, as far as can be seen from outside,
        or at the end of that time."""
        ...

    def settle(self) -> None:
        """All have answered once: from now on, start again what can be started again."""
        ...

    async def wait_failed(self) -> str:
        """Return why, once an agent has ended for good by itself. The caller cancels the wait."""
        ...


class LocalGroup:
    """Agents in this process, all on one event loop."""

    def __init__(self, agents: Sequence[XmppAgent]) -> None:
        self._agents = agents

    async def wait_heard(self, jid: str, *, within_s: float) -> None:
        """It has been started before."""

    def settle(self) -> None: ...

    async def wait_failed(self) -> str:
        gone = {agent.link.gone: agent for agent in self._agents if agent.link is not None}
        done, _ = await asyncio.wait(gone, return_when=asyncio.FIRST_COMPLETED)
        first = done.pop()
        return f"{gone[first].jid} lost its connection for good ({first.result()})"


@asynccontextmanager
async def local_group(definitions: Sequence[Definition], host: Host) -> AsyncIterator[LocalGroup]:
    """Agents stop before those that they use; those of one wave together.

    Raises:
        ConfigurationError: one of them does not start.
    """
    async with AsyncExitStack() as stack:
        waves = [
            await stack.enter_async_context(_together(wave, host)) for wave in in_waves(definitions)
        ]
        yield LocalGroup([agent for wave in waves for agent in wave])


@asynccontextmanager
async def _together(
    definitions: Sequence[Definition], host: Host
) -> AsyncIterator[list[XmppAgent]]:
    stacks = [AsyncExitStack() for _ in definitions]
    try:
        yield [
            await stack.enter_async_context(running_agent(one, host))
            for stack, one in zip(stacks, definitions, strict=True)
        ]
    finally:
        await asyncio.gather(*(stack.aclose() for stack in stacks))
