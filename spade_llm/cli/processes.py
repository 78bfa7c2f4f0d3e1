"""`up --processes`: each agent a `spade-llm run` of its own, started again when it dies.

A child ends with us, however we end: its standard input is a pipe from us (cli/stopping.py).
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from spade_llm.cli.logs import log_path, move_aside, tail
from spade_llm.deployment.heartbeat import stop_beating, wait_beating
from spade_llm.settings.secrets import OF_MODELS, secrets_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spade_llm.cli.definition import Definition
    from spade_llm.cli.hosting import Host
    from spade_llm.cli.listening import Listener

logger = logging.getLogger(__name__)

STOP_TIMEOUT_S = 15.0
"""More than the gateway's grace period (5 s) and an agent's patience with what runs (3 s)."""
FIRST_PAUSE_S = 0.2
MAX_PAUSE_S = 10.0
STEADY_S = 30.0
"""A child that lived this long has not failed at its start: the pauses begin anew."""


class AgentProcess:
    """One child, and its successors."""

    def __init__(self, definition: Definition, host: Host, environment: dict[str, str]) -> None:
        self.wave = definition.wave
        self.jid = definition.jid
        self._name = definition.name
        self._listener = host.listeners.get(definition.jid)
        self._command = _command(definition, host)
        self._log = log_path(host.place.data, definition.name)
        self._home = host.place.data / "agents" / definition.jid
        self._say = host.say
        self._environment = environment
        self._process: Process | None = None

    async def run(self, settled: asyncio.Event) -> str:
        """Start it, and again, ever later, whenever it dies after `settled`.

        Returns why it ended, if that was before.
        """
        pause_s = FIRST_PAUSE_S
        while True:
            lived_s, reason = await self._live()
            if not settled.is_set():
                return reason
            logger.error("%s", reason)
            pause_s = FIRST_PAUSE_S if lived_s > STEADY_S else min(pause_s * 2, MAX_PAUSE_S)
            self._say(f"agent       {self._name} has died; starting it again in {pause_s:.1f} s")
            await asyncio.sleep(pause_s)

    async def wait_heard(self, *, within_s: float) -> None:
        """Return once it hears its server, or it is asked anyway."""
        await wait_beating(self._home, within_s=within_s)

    async def stop(self) -> None:
        """The end of its input is how it is told."""
        process = self._process
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            logger.error("agent %s did not stop in time and is killed", self._name)
            process.kill()
            await process.wait()

    async def _live(self) -> tuple[float, str]:
        began = asyncio.get_running_loop().time()
        self._process = await self._spawn()
        status = await self._process.wait()
        reason = f"agent {self._name} ended with status {status}; {tail(self._log)}"
        return asyncio.get_running_loop().time() - began, reason

    async def _spawn(self) -> Process:
        """In a session of its own: a Ctrl-C in our terminal is for us, who stop it in order."""
        move_aside(self._log)
        stop_beating(self._home)  # One that was killed has left its last beat.
        with self._log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *self._command,
                stdin=PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=self._environment,
                pass_fds=[self._listener.socket.fileno()] if self._listener else [],
            )


class ProcessGroup:
    """Satisfies Group."""

    def __init__(self, agents: Sequence[AgentProcess]) -> None:
        self._agents = agents
        self._settled = asyncio.Event()
        self._runs = [asyncio.create_task(agent.run(self._settled)) for agent in agents]

    def settle(self) -> None:
        self._settled.set()

    async def wait_heard(self, jid: str, *, within_s: float) -> None:
        (agent,) = (one for one in self._agents if one.jid == jid)
        await agent.wait_heard(within_s=within_s)

    async def wait_failed(self) -> str:
        done, _ = await asyncio.wait(self._runs, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()

    async def stop(self) -> None:
        """Agents before those that they use; those of one wave together."""
        for run in self._runs:
            run.cancel()
        await asyncio.wait(self._runs)
        for wave in sorted({agent.wave for agent in self._agents}, reverse=True):
            together = [agent for agent in self._agents if agent.wave == wave]
            await asyncio.gather(*(agent.stop() for agent in together))


@asynccontextmanager
async def process_group(
    definitions: Sequence[Definition], host: Host
) -> AsyncIterator[ProcessGroup]:
    group = ProcessGroup(
        [AgentProcess(one, host, _environment(one, definitions)) for one in definitions]
    )
    try:
        yield group
    finally:
        await group.stop()


def _environment(definition: Definition, all_definitions: Sequence[Definition]) -> dict[str, str]:
    """Ours without the secrets that only others use: a key of a model is not for the tools."""
    secrets = OF_MODELS.union(*(secrets_of(one.settings) for one in all_definitions))
    of_others = secrets - secrets_of(definition.settings)
    return {name: value for name, value in os.environ.items() if name not in of_others}


def _command(definition: Definition, host: Host) -> list[str]:
    place = host.place
    server = f"[{place.host}]:{place.port}" if ":" in place.host else f"{place.host}:{place.port}"
    trust = ["--ca", str(place.ca)] if place.ca else []
    register = ["--register"] if place.may_register else []
    listener = host.listeners.get(definition.jid)
    listening = _listening(definition, listener) if listener else []
    return [
        *(sys.executable, "-m", "spade_llm.cli", "run", str(definition.path.absolute())),
        *("--data", str(place.data), "--server", server, "--domain", place.domain, *trust),
        *(*register, *listening, "--no-download", "--with-parent"),
    ]


def _listening(definition: Definition, listener: Listener) -> list[str]:
    """What a gateway is told of the socket that it inherits."""
    names = [word for name in definition.settings.http.hosts for word in ("--allow-host", name)]
    return ["--http", listener.address, "--listen-fd", str(listener.socket.fileno()), *names]
