"""Supervisor: agents in this process or in child processes, restarted with back-off."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from spade_llm.cli.factory.agent_factory import running_agent
from spade_llm.cli.factory.deployment_spec import start_waves
from spade_llm.cli.health import remove_heartbeat, wait_for_heartbeat
from spade_llm.cli.logs import last_lines, log_path, rotate_log
from spade_llm.core.settings.environment import MODEL_VARIABLES, secret_variables

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spade_llm.agents import XmppAgent
    from spade_llm.cli.factory.agent_factory import AgentFactory
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.cli.sockets import Listener

logger = logging.getLogger(__name__)

STOP_TIMEOUT_S = 15.0
"""More than the gateway's grace period (5 s) and an agent's patience with what runs (3 s)."""
MIN_BACKOFF_S = 0.2
MAX_BACKOFF_S = 10.0
BACKOFF_RESET_S = 30.0
"""A child that lived this long has not failed at its start: the pauses begin anew."""


class Supervisor(Protocol):
    async def wait_heard(self, jid: str, *, within_s: float) -> None:
        """Return once this agent of the group can be asked, as far as can be seen from outside,
        or at the end of that time."""
        ...

    def finish_startup(self) -> None:
        """All have answered once: from now on, start again what can be started again."""
        ...

    async def wait_failed(self) -> str:
        """Return why, once an agent has ended for good by itself. The caller cancels the wait."""
        ...


class LocalSupervisor:
    """Agents in this process, all on one event loop."""

    def __init__(self, agents: Sequence[XmppAgent]) -> None:
        self._agents = agents

    async def wait_heard(self, jid: str, *, within_s: float) -> None:
        """It has been started before."""

    def finish_startup(self) -> None: ...

    async def wait_failed(self) -> str:
        gone = {
            agent.connection.closed_for_good: agent
            for agent in self._agents
            if agent.connection is not None
        }
        done, _ = await asyncio.wait(gone, return_when=asyncio.FIRST_COMPLETED)
        first = done.pop()
        return f"{gone[first].jid} lost its connection for good ({first.result()})"


@asynccontextmanager
async def supervise_local(
    specs: Sequence[DeploymentSpec], factory: AgentFactory
) -> AsyncIterator[LocalSupervisor]:
    """Agents stop before those that they use; those of one wave together.

    Raises:
        ConfigurationError: one of them does not start.
    """
    async with AsyncExitStack() as stack:
        waves = [
            await stack.enter_async_context(_start_wave(wave, factory))
            for wave in start_waves(specs)
        ]
        yield LocalSupervisor([agent for wave in waves for agent in wave])


class AgentProcess:
    """Child process of an agent, restarted with back-off if it dies."""

    def __init__(
        self, spec: DeploymentSpec, factory: AgentFactory, environment: dict[str, str]
    ) -> None:
        self.wave = spec.wave
        self.jid = spec.jid
        self._name = spec.name
        self._listener = factory.listeners.get(spec.jid)
        self._command = _command(spec, factory)
        self._log = log_path(factory.place.data, spec.name)
        self._home = factory.place.data / "agents" / spec.jid
        self._say = factory.print_line
        self._environment = environment
        self._process: Process | None = None

    async def run(self, is_started_up: asyncio.Event) -> str:
        """Start it, and again, ever later, whenever it dies after `is_started_up`.

        Returns why it ended, if that was before.
        """
        pause_s = MIN_BACKOFF_S
        while True:
            lived_s, reason = await self._run_once()
            if not is_started_up.is_set():
                return reason
            logger.error("%s", reason)
            pause_s = (
                MIN_BACKOFF_S if lived_s > BACKOFF_RESET_S else min(pause_s * 2, MAX_BACKOFF_S)
            )
            self._say(f"agent       {self._name} has died; starting it again in {pause_s:.1f} s")
            await asyncio.sleep(pause_s)

    async def wait_for_heartbeat(self, *, within_s: float) -> None:
        """Return once it hears its server, or it is asked anyway."""
        await wait_for_heartbeat(self._home, within_s=within_s)

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

    async def _run_once(self) -> tuple[float, str]:
        began = asyncio.get_running_loop().time()
        self._process = await self._spawn()
        status = await self._process.wait()
        reason = f"agent {self._name} ended with status {status}; {last_lines(self._log)}"
        return asyncio.get_running_loop().time() - began, reason

    async def _spawn(self) -> Process:
        """Start the process in its own session, so that Ctrl-C reaches only the supervisor, which
        stops the agents in order."""
        # The child writes to the open file: it can be renamed only between two lives.
        rotate_log(self._log)
        remove_heartbeat(self._home)  # One that was killed has left its last beat.
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


class ProcessSupervisor:
    """Supervisor of agents in child processes, restarted with back-off."""

    def __init__(self, agents: Sequence[AgentProcess]) -> None:
        self._agents = agents
        self._is_started_up = asyncio.Event()
        self._runs = [asyncio.create_task(agent.run(self._is_started_up)) for agent in agents]

    def finish_startup(self) -> None:
        self._is_started_up.set()

    async def wait_heard(self, jid: str, *, within_s: float) -> None:
        (agent,) = (one for one in self._agents if one.jid == jid)
        await agent.wait_for_heartbeat(within_s=within_s)

    async def wait_failed(self) -> str:
        done, _ = await asyncio.wait(self._runs, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()

    async def stop(self) -> None:
        """Agents before those that they use; those of one wave together."""
        # First of all, or `run` would start again what is stopped below.
        for run in self._runs:
            run.cancel()
        await asyncio.wait(self._runs)
        for wave in sorted({agent.wave for agent in self._agents}, reverse=True):
            together = [agent for agent in self._agents if agent.wave == wave]
            await asyncio.gather(*(agent.stop() for agent in together))


@asynccontextmanager
async def supervise_processes(
    specs: Sequence[DeploymentSpec], factory: AgentFactory
) -> AsyncIterator[ProcessSupervisor]:
    group = ProcessSupervisor(
        [AgentProcess(one, factory, _environment(one, specs)) for one in specs]
    )
    try:
        yield group
    finally:
        await group.stop()


@asynccontextmanager
async def _start_wave(
    specs: Sequence[DeploymentSpec], factory: AgentFactory
) -> AsyncIterator[list[XmppAgent]]:
    # A stack for each, so that the agents of a wave can stop side by side.
    stacks = [AsyncExitStack() for _ in specs]
    try:
        yield [
            await stack.enter_async_context(running_agent(one, factory))
            for stack, one in zip(stacks, specs, strict=True)
        ]
    finally:
        await asyncio.gather(*(stack.aclose() for stack in stacks))


def _environment(spec: DeploymentSpec, all_definitions: Sequence[DeploymentSpec]) -> dict[str, str]:
    """Ours without the secrets that only others use: a key of a model is not for the tools."""
    secrets = MODEL_VARIABLES.union(*(secret_variables(one.settings) for one in all_definitions))
    of_others = secrets - secret_variables(spec.settings)
    return {name: value for name, value in os.environ.items() if name not in of_others}


def _command(spec: DeploymentSpec, factory: AgentFactory) -> list[str]:
    cli_context = factory.place
    server = (
        f"[{cli_context.host}]:{cli_context.port}"
        if ":" in cli_context.host
        else f"{cli_context.host}:{cli_context.port}"
    )
    trust = ["--ca", str(cli_context.ca)] if cli_context.ca else []
    register = ["--register"] if cli_context.may_register else []
    listener = factory.listeners.get(spec.jid)
    listening = _socket_arguments(spec, listener) if listener else []
    return [
        *(sys.executable, "-m", "spade_llm.cli", "run", str(spec.path.absolute())),
        *(
            "--data",
            str(cli_context.data),
            "--server",
            server,
            "--domain",
            cli_context.domain,
            *trust,
        ),
        *(*register, *listening, "--no-download", "--with-parent"),
    ]


def _socket_arguments(spec: DeploymentSpec, listener: Listener) -> list[str]:
    """Arguments that tell a gateway about its inherited socket."""
    names = [word for name in spec.settings.http.hosts for word in ("--allow-host", name)]
    return ["--http", listener.address, "--listen-fd", str(listener.socket.fileno()), *names]
