"""`spade-llm up`: runs a server, every agent and a chat until it is stopped.

lock the data → server and accounts → agents → each has answered → `ready` → chat or serve.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from spade_llm.cli import context, ollama
from spade_llm.cli.chat import converse, is_terminal
from spade_llm.cli.context import DEFAULT_PERSON, CliContext, default_database, login
from spade_llm.cli.factory.agent_factory import AgentFactory
from spade_llm.cli.factory.deployment_spec import (
    agents_folder,
    read_deployment,
    require_agent_extras,
    warn_of_package_conflicts,
    without_missing_extras,
)
from spade_llm.cli.factory.embeddings import EmbedderPool
from spade_llm.cli.factory.model_choice import (
    REMEDIES,
    choose_fallback,
    choose_learning_model,
    choose_model,
)
from spade_llm.cli.factory.model_record import ModelRecord, explain_refusal, read_model_record
from spade_llm.cli.logs import logged_to_file
from spade_llm.cli.signals import run_until_stopped
from spade_llm.cli.sockets import HTTP_OFF, open_sockets, web_lines, with_allowed_hosts
from spade_llm.cli.supervisor import Supervisor, supervise_local, supervise_processes
from spade_llm.cli.terminal import sanitize_line, say
from spade_llm.cli.xmpp_server import server_domain, xmpp_server
from spade_llm.core.concurrency import concurrent_task, freeze_gc, gc_paused, run_event_loop
from spade_llm.core.errors import ConfigurationError, RequestError, SpadeLLMError
from spade_llm.xmpp.servers.data_directory import RunRecord, lock_directory, remove_run_record

if TYPE_CHECKING:
    import argparse

    from spade_llm.agents import ChatAgent
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec

T = TypeVar("T")

READY_TIMEOUT_S = 90.0
STATUS_TIMEOUT_S = 3.0
STATUS_PAUSE_S = 0.1
MODEL_POLL_INTERVAL_S = 2.0
HEARTBEAT_TIMEOUT_S = 5.0
"""Time in seconds to wait for an agent's heartbeat; then the agent is asked for its status."""


def main(options: argparse.Namespace) -> int:
    if is_terminal() and not options.no_chat:
        _offer_first_model(options)
    with gc_paused():
        return run_until_stopped(_up(options))


def _offer_first_model(options: argparse.Namespace) -> None:
    """Offer to download a model if the assistant has none, and the Ollama of this machine neither.
    Before the event loop: the question and the download block, and Ctrl-C ends them."""
    data = context.data_directory(options)
    for one in _specs(options):
        if one.settings.kind != "assistant":
            continue
        if run_event_loop(choose_model(one, data)).has_idle_ollama:
            try:
                ollama.offer_pull(ollama.ollama_url(), ollama.SUGGESTED_MODEL)
            except ConfigurationError as error:
                say(f"model       {error}")
            return


async def _up(options: argparse.Namespace) -> int:
    data = context.data_directory(options)
    context.check_disk_space(data)
    what = f"`spade-llm up` on the data in {str(data)!r}"
    # The log within the lock: two processes cannot rotate one file safely.
    remedy = "`spade-llm chat` opens a chat with it; Ctrl-C in its terminal ends it"
    with (
        lock_directory(data, what=what, remedy=remedy),
        logged_to_file(data, "up"),
    ):
        say(f"data        {data}")
        warn_of_package_conflicts(say)
        try:
            return await _serve(options, data)
        finally:
            remove_run_record(data)


async def _serve(options: argparse.Namespace, data: Path) -> int:
    all_specs = with_allowed_hosts(_specs(options), options)
    is_off = options.http == HTTP_OFF
    if not options.agents:
        # So that an installation without extras works, too: an assistant with memory and tools.
        all_specs = without_missing_extras(all_specs, say)
    definitions = [one for one in all_specs if not (is_off and one.settings.kind == "gateway")]
    require_agent_extras(definitions)
    # Before the server and the agents: a port that is in use is reported at once.
    with open_sockets(definitions, None if is_off else options.http, say) as listeners:
        async with (
            EmbedderPool(data, may_download=not options.no_download, say=say) as embedders,
            xmpp_server(options, data, all_specs, say) as cli_context,
        ):
            factory = AgentFactory(
                place=replace(cli_context, database=default_database(options)),
                embedders=embedders,
                print_line=say,
                listeners=listeners,
            )
            await _announce_models(definitions, factory)
            RunRecord(
                pid=os.getpid(),
                host=cli_context.host,
                port=cli_context.port,
                domain=cli_context.domain,
                ca=cli_context.ca,
                server=cli_context.server_kind,
                agents=tuple(one.jid for one in definitions),
                person=cli_context.jid(DEFAULT_PERSON),
                web=tuple(listener.url for listener in listeners.values()),
                agents_folder=context.absolute_path(options.agents),
            ).write(data)
            start = supervise_processes if options.processes else supervise_local
            async with start(definitions, factory) as group:
                return await _serve_agents(options, factory, definitions, group)


async def _announce_models(specs: Sequence[DeploymentSpec], factory: AgentFactory) -> None:
    """Print the models and embedders of the agents; weights are downloaded here, once for all."""
    for one in specs:
        if one.settings.kind == "assistant":
            choice = await choose_model(one, factory.place.data)
            say(f"model       {one.jid}: {choice.description}")
        if fallback := await choose_fallback(one, factory.place.data):
            say(f"fallback    {one.jid}: {fallback.description}")
        if one.settings.kind in {"memory", "rag"}:
            say(f"embeddings  {one.jid}: {await factory.embedders.describe(one)}")
        if learning := await choose_learning_model(one, factory.place.data):
            say(f"learning    {one.jid}: {learning.description}")


async def _serve_agents(
    options: argparse.Namespace,
    factory: AgentFactory,
    specs: Sequence[DeploymentSpec],
    group: Supervisor,
) -> int:
    """Wait until the running agents answer, then chat, or wait until one fails."""
    cli_context = factory.place
    person = cli_context.jid(DEFAULT_PERSON)
    assistant = next((one.jid for one in specs if one.settings.kind == "assistant"), None)
    async with login(person, cli_context) as client:
        # Until then, a child that dies means a wrong configuration, and ends everything.
        await _unless_failed(_all_answer(client, specs, group), group)
        group.finish_startup()
        password = cli_context.accounts.get(person)
        server = f"host {cli_context.host}, port {cli_context.port}"
        trust = f", CA {cli_context.ca}" if cli_context.ca else ""
        say(f"your login  {person}, password {password}, {server}{trust}")
        for line in web_lines(specs, factory.listeners):
            say(line)
        say(f"ready       {f'write to {assistant}; ' if assistant else ''}Ctrl-C stops everything")
        freeze_gc()
        async with concurrent_task(_report_models(specs, cli_context)):
            if is_terminal() and not options.no_chat:
                if assistant is None:
                    raise ConfigurationError(
                        "--agents: no assistant to chat with; serve with --no-chat"
                    )
                chat = converse(client, assistant, history=cli_context.data)
                return await _unless_failed(chat, group)
            raise SpadeLLMError(await group.wait_failed())


async def _report_models(specs: Sequence[DeploymentSpec], cli_context: CliContext) -> None:
    """Print a line when an assistant's model, in any process, is replaced, fails or recovers."""
    homes = {one.jid: cli_context.data / "agents" / one.jid for one in specs}
    told: dict[str, ModelRecord] = {}
    while True:
        for jid, home in homes.items():
            if (record := read_model_record(home)) is not None:
                for line in _model_news(record, told.get(jid)):
                    say(f"model       {jid}: {line}" if line[0] != " " else line)
                told[jid] = record
        await asyncio.sleep(MODEL_POLL_INTERVAL_S)


def _model_news(record: ModelRecord, before: ModelRecord | None) -> Iterator[str]:
    """Lines on what has changed; those that continue one are indented."""
    is_read_again = before is not None and record.settings_read_at != before.settings_read_at
    if before is not None and record.description != before.description:
        yield f"now {record.description}"
        before = None
    if is_read_again and record.refused is not None:
        text, remedy = explain_refusal(record, record.refused)
        yield text
        yield f"{'':12}→ {remedy}"
    fault = record.fault.text if record.fault else ""
    if fault != (before.fault.text if before and before.fault else ""):
        yield sanitize_line(fault) or "answers again"
        if record.fault:
            yield f"{'':12}→ {REMEDIES[record.fault.cause]}"


async def _all_answer(
    client: ChatAgent, specs: Sequence[DeploymentSpec], group: Supervisor
) -> None:
    """Raises ConfigurationError if one agent does not answer in time."""
    try:
        async with asyncio.timeout(READY_TIMEOUT_S):
            await asyncio.gather(*(_answers(client, one.jid, group) for one in specs))
    except TimeoutError:
        raise ConfigurationError(
            f"not every agent answered within {READY_TIMEOUT_S:.0f} s: see the log files in log/"
        ) from None


async def _answers(client: ChatAgent, jid: str, group: Supervisor) -> None:
    """Wait until the agent answers a status request."""
    while True:
        # A request to an agent that is not online yet would be repeated seconds later only.
        await group.wait_heard(jid, within_s=HEARTBEAT_TIMEOUT_S)
        try:
            status = await client.status(jid, timeout_s=STATUS_TIMEOUT_S)
        except RequestError:
            await asyncio.sleep(STATUS_PAUSE_S)
        else:
            say(f"agent       {jid}: {status.summary}")
            return


async def _unless_failed(work: Coroutine[object, object, T], group: Supervisor) -> T:
    """Result of the work. Raises SpadeLLMError if an agent ends for good meanwhile."""
    async with concurrent_task(work) as working, concurrent_task(group.wait_failed()) as failing:
        await asyncio.wait([working, failing], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise SpadeLLMError(failing.result())


def _specs(options: argparse.Namespace) -> tuple[DeploymentSpec, ...]:
    definitions = read_deployment(agents_folder(options), domain=server_domain(options))
    for one in definitions:
        if one.settings.storage.replicas:
            raise ConfigurationError(
                f"{one.path}: storage.replicas: `up` runs one process of each agent: remove the"
                " key, or start this agent with `spade-llm run`"
            )
        if one.settings.server.model_fields_set:
            raise ConfigurationError(
                f"{one.path}: server: `up` logs in every agent at its own server: remove the"
                " table, or start this agent with `spade-llm run`"
            )
    return definitions
