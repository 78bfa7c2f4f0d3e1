"""`spade-llm up`: starts a server, every agent and a chat, until it is stopped.

lock the data → server and accounts → agents → each has answered → `ready` → chat or serve.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from spade_llm.cli import context
from spade_llm.cli.chat import converse, is_terminal
from spade_llm.cli.context import DEFAULT_PERSON, login
from spade_llm.cli.factory.agent_factory import AgentFactory
from spade_llm.cli.factory.deployment_spec import read_deployment, standard_deployment
from spade_llm.cli.factory.embeddings import EmbedderPool
from spade_llm.cli.factory.model_choice import read_model_record
from spade_llm.cli.installed_packages import require_agent_extras, warn_of_package_conflicts
from spade_llm.cli.logs import log_to_file
from spade_llm.cli.signals import run_until_stopped
from spade_llm.cli.sockets import HTTP_OFF, open_sockets, with_allowed_hosts
from spade_llm.cli.startup_messages import (
    announce_models,
    first_assistant,
    login_line,
    ready_line,
    say,
    web_lines,
)
from spade_llm.cli.supervisor import supervise_local, supervise_processes
from spade_llm.cli.terminal import sanitize_line
from spade_llm.cli.xmpp_server import server_domain, xmpp_server
from spade_llm.core import directory_lock
from spade_llm.core.concurrency import freeze_gc, gc_paused
from spade_llm.core.errors import ConfigurationError, RequestError, SpadeLLMError
from spade_llm.xmpp.servers.run_record import RunRecord, remove_run_record

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Coroutine, Sequence

    from spade_llm.agents import ChatAgent
    from spade_llm.cli.context import CliContext
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.cli.supervisor import Supervisor

T = TypeVar("T")

READY_TIMEOUT_S = 90.0
STATUS_TIMEOUT_S = 3.0
STATUS_PAUSE_S = 0.1
MODEL_POLL_INTERVAL_S = 2.0
HEARTBEAT_TIMEOUT_S = 5.0
"""Time in seconds to wait for an agent's heartbeat; then the agent is asked for its status."""


def main(options: argparse.Namespace) -> int:
    with gc_paused():
        return run_until_stopped(_up(options))


async def _up(options: argparse.Namespace) -> int:
    data = context.data_directory(options)
    context.check_disk_space(data)
    with directory_lock.lock_directory(data, what=f"`spade-llm up` on the data in {str(data)!r}"):
        # Within the lock: two processes cannot rotate one log file safely.
        log_to_file(data, "up")
        say(f"data        {data}")
        warn_of_package_conflicts(say)
        try:
            return await _serve(options, data)
        finally:
            remove_run_record(data)


async def _serve(options: argparse.Namespace, data: Path) -> int:
    all_specs = with_allowed_hosts(_specs(options), options)
    is_off = options.http == HTTP_OFF
    definitions = [one for one in all_specs if not (is_off and one.settings.kind == "gateway")]
    require_agent_extras(definitions)
    # Before the server and the agents: a port that is taken is told at once.
    with open_sockets(definitions, None if is_off else options.http, say) as listeners:
        async with (
            EmbedderPool(data, may_download=not options.no_download, say=say) as embedders,
            xmpp_server(options, data, all_specs, say) as cli_context,
        ):
            factory = AgentFactory(
                place=cli_context, embedders=embedders, print_line=say, listeners=listeners
            )
            await announce_models(definitions, factory)
            _record(factory, definitions)
            start = supervise_processes if options.processes else supervise_local
            async with start(definitions, factory) as group:
                return await _serve_agents(options, factory, definitions, group)


async def _serve_agents(
    options: argparse.Namespace,
    factory: AgentFactory,
    specs: Sequence[DeploymentSpec],
    group: Supervisor,
) -> int:
    """Wait until the running agents answer, then chat, or wait until one fails."""
    cli_context = factory.place
    person = cli_context.jid(DEFAULT_PERSON)
    async with login(person, cli_context) as client:
        # Until this is over a child that dies is a fault of the configuration, and ends everything.
        await _unless_failed(_all_answer(client, specs, group), group)
        group.finish_startup()
        say(login_line(cli_context, person))
        for line in web_lines(specs, factory):
            say(line)
        say(ready_line(specs))
        freeze_gc()
        async with _reporting_model_faults(specs, cli_context):
            if is_terminal() and not options.no_chat:
                return await _unless_failed(_chat(client, specs, cli_context), group)
            raise SpadeLLMError(await group.wait_failed())


@asynccontextmanager
async def _reporting_model_faults(
    specs: Sequence[DeploymentSpec], cli_context: CliContext
) -> AsyncIterator[None]:
    telling = asyncio.create_task(_report_model_faults(specs, cli_context))
    try:
        yield
    finally:
        telling.cancel()
        await asyncio.wait((telling,))


async def _report_model_faults(specs: Sequence[DeploymentSpec], cli_context: CliContext) -> None:
    """A line when an assistant's model fails, in whichever process, and when it answers again."""
    homes = {one.jid: cli_context.data / "agents" / one.jid for one in specs}
    told: dict[str, str] = {}
    while True:
        for jid, home in homes.items():
            if (record := read_model_record(home)) is None:
                continue
            text = record.fault.text if record.fault else ""
            if text != told.get(jid, ""):
                say(f"model       {jid}: {sanitize_line(text) or 'answers again'}")
                told[jid] = text
        await asyncio.sleep(MODEL_POLL_INTERVAL_S)


async def _all_answer(
    client: ChatAgent, specs: Sequence[DeploymentSpec], group: Supervisor
) -> None:
    """Raises ConfigurationError if one agent does not answer in time."""
    try:
        async with asyncio.timeout(READY_TIMEOUT_S):
            await asyncio.gather(*(_answers(client, one.jid, group) for one in specs))
    except TimeoutError:
        raise ConfigurationError(
            f"not every agent answered within {READY_TIMEOUT_S:.0f} s: see the files in log/"
        ) from None


async def _answers(client: ChatAgent, jid: str, group: Supervisor) -> None:
    """Asked before it is there, it would be asked again seconds later only."""
    while True:
        await group.wait_heard(jid, within_s=HEARTBEAT_TIMEOUT_S)
        try:
            status = await client.status(jid, timeout_s=STATUS_TIMEOUT_S)
        except RequestError:
            await asyncio.sleep(STATUS_PAUSE_S)
        else:
            say(f"agent       {jid}: {status.summary}")
            return


async def _unless_failed(work: Coroutine[object, object, T], group: Supervisor) -> T:
    """The work's result. Raises SpadeLLMError if an agent ends for good meanwhile."""
    working = asyncio.create_task(work)
    failing = asyncio.create_task(group.wait_failed())
    try:
        await asyncio.wait([working, failing], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise SpadeLLMError(failing.result())
    finally:
        working.cancel()
        failing.cancel()
        await asyncio.wait([working, failing])


async def _chat(client: ChatAgent, specs: Sequence[DeploymentSpec], cli_context: CliContext) -> int:
    assistant = first_assistant(specs)
    if assistant is None:
        raise ConfigurationError("--agents: no assistant to chat with; serve with --no-chat")
    return await converse(client, assistant.jid, history=cli_context.data)


def _specs(options: argparse.Namespace) -> tuple[DeploymentSpec, ...]:
    folder = Path(options.agents) if options.agents else standard_deployment()
    definitions = read_deployment(folder, domain=server_domain(options))
    for one in definitions:
        if one.settings.server.model_fields_set:
            raise ConfigurationError(
                f"{one.path}: server: `up` logs every agent in at its own server: remove the"
                " table, or start this agent with `spade-llm run`"
            )
    return definitions


def _record(factory: AgentFactory, specs: Sequence[DeploymentSpec]) -> None:
    cli_context = factory.place
    RunRecord(
        pid=os.getpid(),
        host=cli_context.host,
        port=cli_context.port,
        domain=cli_context.domain,
        ca=cli_context.ca,
        server=cli_context.server_kind,
        agents=tuple(one.jid for one in specs),
        person=cli_context.jid(DEFAULT_PERSON),
        web=tuple(listener.url for listener in factory.listeners.values()),
    ).write(cli_context.data)
