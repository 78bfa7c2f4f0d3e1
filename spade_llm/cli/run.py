"""`spade-llm run`: one agent in this process, until it is stopped."""

from __future__ import annotations

from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.context import check_disk_space, find_context
from spade_llm.cli.factory.agent_factory import AgentFactory, running_agent
from spade_llm.cli.factory.deployment_spec import read_spec
from spade_llm.cli.factory.embeddings import EmbedderPool
from spade_llm.cli.installed_packages import require_agent_extras, warn_of_package_conflicts
from spade_llm.cli.logs import log_to_stderr
from spade_llm.cli.signals import run_until_stopped
from spade_llm.cli.sockets import inherited_socket, open_sockets, with_allowed_hosts
from spade_llm.cli.startup_messages import web_lines
from spade_llm.core.concurrency import freeze_gc, gc_paused
from spade_llm.core.errors import SpadeLLMError
from spade_llm.core.settings import load_agent

if TYPE_CHECKING:
    import argparse
    from contextlib import AbstractContextManager

    from spade_llm.agents import XmppAgent
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.cli.sockets import Listener


def main(options: argparse.Namespace) -> int:
    with gc_paused():
        return run_until_stopped(_run(options), with_parent=options.with_parent)


async def _run(options: argparse.Namespace) -> int:
    log_to_stderr()
    warn_of_package_conflicts(_say)
    path = Path(options.file)
    cli_context = find_context(options, load_agent(path))
    check_disk_space(cli_context.data)
    (definition,) = with_allowed_hosts([read_spec(path, domain=cli_context.domain)], options)
    require_agent_extras([definition])
    if cli_context.may_register:
        cli_context.accounts.get_or_make(definition.jid)
    async with AsyncExitStack() as stack:
        listeners = stack.enter_context(_gateway_socket(definition, options))
        embedders = EmbedderPool(cli_context.data, may_download=not options.no_download, say=_say)
        factory = AgentFactory(
            place=cli_context,
            embedders=await stack.enter_async_context(embedders),
            print_line=_say,
            listeners=listeners,
        )
        async with running_agent(definition, factory) as agent:
            for line in web_lines([definition], factory):
                _say(line)
            _say(f"ready       {definition.jid} ({definition.settings.kind}), Ctrl-C stops it")
            freeze_gc()
            raise SpadeLLMError(await _connection_lost(agent))


def _gateway_socket(
    spec: DeploymentSpec, options: argparse.Namespace
) -> AbstractContextManager[dict[str, Listener]]:
    """The socket of a gateway, if it is one: our own, or that of the `up` which started us."""
    if options.listen_fd is None:
        return open_sockets([spec], options.http, _say)
    return nullcontext(inherited_socket(spec, options.http, options.listen_fd))


async def _connection_lost(agent: XmppAgent) -> str:
    """Reason that the agent cannot continue; waits until its connection is lost for good."""
    if agent.connection is None:
        return f"{agent.jid} has no connection"
    return f"{agent.jid} lost its connection for good: {await agent.connection.closed_for_good}"


def _say(line: str) -> None:
    print(line, flush=True)
