"""`spade-llm run`: one agent in this process, until it is stopped."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.context import CliContext, check_disk_space, find_context
from spade_llm.cli.factory.agent_factory import AgentFactory, running_agent
from spade_llm.cli.factory.deployment_spec import (
    database_of,
    read_spec,
    require_agent_extras,
    warn_of_package_conflicts,
    without_rag,
)
from spade_llm.cli.factory.embeddings import EmbedderPool
from spade_llm.cli.logs import log_to_stderr
from spade_llm.cli.signals import run_until_stopped
from spade_llm.cli.sockets import inherited_socket, open_sockets, web_lines, with_allowed_hosts
from spade_llm.cli.supervisor import supervise_replicas
from spade_llm.cli.terminal import say
from spade_llm.core.concurrency import freeze_gc, gc_paused
from spade_llm.core.errors import ConfigurationError, SpadeLLMError
from spade_llm.core.settings import MAX_REPLICAS, load_agent
from spade_llm.core.text import pluralize
from spade_llm.messaging.replicas import require_shared_database
from spade_llm.xmpp.servers.data_directory import lock_directory

if TYPE_CHECKING:
    import argparse

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec


def main(options: argparse.Namespace) -> int:
    with gc_paused():
        return run_until_stopped(_run(options), with_parent=options.with_parent)


async def _run(options: argparse.Namespace) -> int:
    log_to_stderr()
    warn_of_package_conflicts(say)
    path = Path(options.file)
    cli_context = find_context(options, load_agent(path))
    check_disk_space(cli_context.data)
    (definition,) = with_allowed_hosts([read_spec(path, domain=cli_context.domain)], options)
    if options.without_rag:
        definition = without_rag(definition)
    require_agent_extras([definition])
    if cli_context.may_register:
        cli_context.accounts.get_or_make(definition.jid)
    async with AsyncExitStack() as stack:
        if options.listen_fd is None:
            listeners = stack.enter_context(open_sockets([definition], options.http, say))
        else:
            listeners = inherited_socket(definition, options.http, options.listen_fd)
        embedders = EmbedderPool(cli_context.data, may_download=not options.no_download, say=say)
        factory = AgentFactory(
            place=cli_context,
            embedders=await stack.enter_async_context(embedders),
            print_line=say,
            listeners=listeners,
            replica=options.replica,
        )
        count = definition.settings.storage.replicas
        count = count if options.replicas is None else int(options.replicas)
        if options.replica is None and count is not None:
            _check_replicas(definition, cli_context, count)
            return await _run_replicas(definition, factory, count)
        async with running_agent(definition, factory) as agent:
            for line in web_lines([definition], listeners):
                say(line)
            say(f"ready       {definition.jid} ({definition.settings.kind}), Ctrl-C stops it")
            freeze_gc()
            if agent.connection is None:
                raise SpadeLLMError(f"{agent.jid} has no connection")
            reason = await agent.connection.closed_for_good
            raise SpadeLLMError(f"{agent.jid} lost its connection for good: {reason}")


def _check_replicas(spec: DeploymentSpec, cli_context: CliContext, count: int) -> None:
    """Raises ConfigurationError: this agent cannot run as replicas."""
    if not 1 <= count <= MAX_REPLICAS:
        raise ConfigurationError(f"--replicas: {count} is not 1 to {MAX_REPLICAS}")
    if problem := spec.settings.replica_problem:
        raise ConfigurationError(f"{spec.path}: --replicas: {problem}")
    require_shared_database(database_of(spec, cli_context.database), agent=spec.path)


async def _run_replicas(spec: DeploymentSpec, factory: AgentFactory, count: int) -> int:
    home = factory.home(spec)
    # Neither a second group with these folders, nor the agent as a single process.
    with lock_directory(home, what=f"{spec.jid} with this data"):
        async with supervise_replicas(spec, factory, count) as group:
            for line in web_lines([spec], factory.listeners):
                say(line)
            noun = pluralize(count, "replica")
            say(f"ready       {spec.jid} ({spec.settings.kind}, {noun}), Ctrl-C stops it")
            freeze_gc()
            raise SpadeLLMError(await group.wait_failed())
