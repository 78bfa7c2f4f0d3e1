"""Supervisor: agents in this process or in child processes, restarted with back-off."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from spade_llm.cli.factory.agent_factory import AgentFactory, running_agent
from spade_llm.cli.factory.deployment_spec import DeploymentSpec, start_waves
from spade_llm.cli.factory.model_choice import MODEL_FILE
from spade_llm.cli.fork_server import ForkedProcess, ForkServer
from spade_llm.cli.health import remove_heartbeat, wait_for_heartbeat
from spade_llm.cli.logs import last_lines, log_path, rotate_log
from spade_llm.core.errors import SpadeLLMError
from spade_llm.core.settings import DATABASE_VARIABLE, ProviderTable, load_network_model
from spade_llm.core.settings.environment import MODEL_VARIABLES, secret_variables
from spade_llm.core.text import host_in_url

if TYPE_CHECKING:
    from spade_llm.agents import XmppAgent
    from spade_llm.core.database import DatabaseUrl

logger = logging.getLogger(__name__)

READY_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 15.0
"""More than the grace periods of a gateway (5 s) and of an agent's running requests (3 s)."""
MIN_BACKOFF_S = 0.2
MAX_BACKOFF_S = 10.0
BACKOFF_RESET_S = 30.0
"""Lifetime in seconds after which a child counts as started well: the back-off begins anew."""


class Supervisor(Protocol):
    """Group of running agents."""

    async def wait_heard(self, jid: str, *, within_s: float) -> None:
        """Wait until this agent seems to be online, at most `within_s`."""

    def finish_startup(self) -> None:
        """All agents have answered once: from now on, an agent that dies is restarted."""

    async def wait_failed(self) -> str:
        """Wait until an agent has ended for good, and return the reason. The caller cancels the
        wait."""


class LocalSupervisor:
    """Agents in this process, all on one event loop."""

    def __init__(self, agents: Sequence[XmppAgent]) -> None:
        self._agents = agents

    async def wait_heard(self, jid: str, *, within_s: float) -> None:
        """Local agents are online once they are started."""

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
    """Run the agents in this process for the block. Agents stop before those that they use; those
    of one wave stop together. Raises ConfigurationError: an agent does not start."""
    async with AsyncExitStack() as stack:
        waves = [
            await stack.enter_async_context(_start_wave(wave, factory))
            for wave in start_waves(specs)
        ]
        yield LocalSupervisor([agent for wave in waves for agent in wave])


class AgentProcess:
    """Child process of an agent, restarted with back-off if it dies."""

    def __init__(
        self,
        spec: DeploymentSpec,
        factory: AgentFactory,
        environment: Mapping[str, str],
        fork_server: ForkServer,
    ) -> None:
        self.wave = spec.wave
        self.jid = spec.jid
        self._name = spec.name if factory.replica is None else f"{spec.name}-{factory.replica}"
        self._listener = factory.listeners.get(spec.jid)
        self._arguments = _arguments(spec, factory)
        self._log = log_path(factory.place.data, self._name)
        self._home = factory.home(spec)
        self._say = factory.print_line
        self._environment = environment
        self._fork_server = fork_server
        self._process: ForkedProcess | None = None

    async def run(self, is_started_up: asyncio.Event) -> str:
        """Start the child process, and restart it with back-off when it dies after `is_started_up`.

        Returns the reason if it dies earlier.
        """
        pause_s = MIN_BACKOFF_S
        while True:
            began = asyncio.get_running_loop().time()
            self._process = await self._spawn()
            status = await self._process.wait()
            lived_s = asyncio.get_running_loop().time() - began
            reason = f"agent {self._name} ended with status {status}; {last_lines(self._log)}"
            if not is_started_up.is_set():
                return reason
            logger.error("%s", reason)
            pause_s = (
                MIN_BACKOFF_S if lived_s > BACKOFF_RESET_S else min(pause_s * 2, MAX_BACKOFF_S)
            )
            self._say(f"agent       {self._name} has died; restarting it in {pause_s:.1f} s")
            await asyncio.sleep(pause_s)

    async def wait_for_heartbeat(self, *, within_s: float) -> bool:
        """Wait for the agent's heartbeat file; False after `within_s`."""
        return await wait_for_heartbeat(self._home, within_s=within_s)

    async def stop(self) -> None:
        """Close the child's standard input, which tells it to stop; kill it after a timeout."""
        process = self._process
        if process is None:
            return
        process.close_stdin()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            logger.error("agent %s did not stop in time and is killed", self._name)
            process.kill()
            await process.wait()

    async def _spawn(self) -> ForkedProcess:
        """Start the process in its own session, so that Ctrl-C reaches only the supervisor, which
        stops the agents in order."""
        # The child writes to the open file, which can be renamed only between two runs.
        rotate_log(self._log)
        remove_heartbeat(self._home)  # A killed agent leaves its last heartbeat.
        with self._log.open("ab") as log:
            files = {1: log.fileno(), 2: log.fileno()}
            if self._listener:
                listening = self._listener.socket.fileno()
                files[listening] = listening
            return await self._fork_server.start(self._arguments, self._environment, files)


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

    async def wait_ready(self, *, within_s: float) -> None:
        """Wait until all have a heartbeat; from then on, one that dies is restarted. Raises
        SpadeLLMError: one has ended, or takes longer."""
        failing = asyncio.create_task(self.wait_failed())
        beats = [one.wait_for_heartbeat(within_s=within_s) for one in self._agents]
        starting = asyncio.ensure_future(asyncio.gather(*beats))
        try:
            await asyncio.wait((starting, failing), return_when=asyncio.FIRST_COMPLETED)
            if failing.done():
                raise SpadeLLMError(failing.result())
            if not all(starting.result()):
                raise SpadeLLMError(
                    f"not every replica was ready within {within_s:.0f} s: see log/"
                )
        finally:
            failing.cancel()
            starting.cancel()
            await asyncio.gather(starting, failing, return_exceptions=True)
        self.finish_startup()

    async def wait_failed(self) -> str:
        done, _ = await asyncio.wait(self._runs, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()

    async def stop(self) -> None:
        """Stop agents before those that they use; those of one wave together."""
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
    network = load_network_model(factory.place.data / MODEL_FILE)
    environment = partial(
        _environment, all_specs=specs, network=network, database=factory.place.database
    )
    async with ForkServer(environment(())) as fork_server:
        group = ProcessSupervisor(
            [AgentProcess(one, factory, environment((one,)), fork_server) for one in specs]
        )
        try:
            yield group
        finally:
            await group.stop()


@asynccontextmanager
async def supervise_replicas(
    spec: DeploymentSpec, factory: AgentFactory, count: int
) -> AsyncIterator[ProcessSupervisor]:
    """Run so many replicas of one agent for the block, each in a process of its own. They have
    answered when it begins. Raises SpadeLLMError: one does not start; with the reason."""
    environment = dict(os.environ)
    if factory.place.database is not None:
        environment[DATABASE_VARIABLE] = factory.place.database.url
    async with ForkServer(environment) as fork_server:
        numbered = [replace(factory, replica=number) for number in range(1, count + 1)]
        group = ProcessSupervisor(
            [AgentProcess(spec, one, environment, fork_server) for one in numbered]
        )
        try:
            await group.wait_ready(within_s=READY_TIMEOUT_S)
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


def _environment(
    specs: Sequence[DeploymentSpec],
    all_specs: Sequence[DeploymentSpec],
    network: ProviderTable,
    database: DatabaseUrl | None,
) -> dict[str, str]:
    """Our environment without the secrets of other agents: the key of a model is not for tools."""
    secrets = MODEL_VARIABLES.union(*(secret_variables(one.settings, network) for one in all_specs))
    of_others = secrets.difference(*(secret_variables(one.settings, network) for one in specs))
    ours = {name: value for name, value in os.environ.items() if name not in of_others}
    # Not among the arguments, which other users of the machine can read: it may hold a password.
    return {**ours, DATABASE_VARIABLE: database.url} if database else ours


def _arguments(spec: DeploymentSpec, factory: AgentFactory) -> list[str]:
    """Arguments of `spade-llm` that run this agent."""
    cli_context = factory.place
    server = f"{host_in_url(cli_context.host)}:{cli_context.port}"
    arguments = ["run", str(spec.path.absolute())]
    arguments += ["--data", str(cli_context.data), "--no-download", "--with-parent"]
    # Several addresses are those of the agent.toml, which the child reads itself.
    if not cli_context.alternative_addresses:
        arguments += ["--server", server, "--domain", cli_context.domain]
        if cli_context.ca:
            arguments += ["--ca", str(cli_context.ca)]
    if factory.replica is not None:
        arguments += ["--replica", str(factory.replica)]
    if cli_context.may_register:
        arguments.append("--register")
    if spec.settings.kind == "assistant" and spec.settings.services.rag is None:
        # Its agent.toml may name an agent that `up` has left out.
        arguments.append("--without-rag")
    if listener := factory.listeners.get(spec.jid):
        arguments += ["--http", listener.address, "--listen-fd", str(listener.socket.fileno())]
        for name in spec.settings.http.hosts:
            arguments += ["--allow-host", name]
    return arguments
