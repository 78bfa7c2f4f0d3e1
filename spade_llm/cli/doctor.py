"""`spade-llm doctor`: diagnoses machine, running agents, models; changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.context import (
    agent_directories,
    context_of_run,
    data_directory,
    default_database,
    find_context,
    login,
)
from spade_llm.cli.doctor_checks import (
    Check,
    CheckState,
    check_databases,
    check_extras,
    check_gateways,
    check_host_machine,
    check_machine,
)
from spade_llm.cli.factory.deployment_spec import DeploymentSpec, agents_folder, read_deployment
from spade_llm.cli.factory.model_choice import (
    CONNECT_COMMAND,
    REMEDIES,
    build_model,
    choose_fallback,
    choose_model,
)
from spade_llm.cli.factory.model_record import explain_refusal, read_model_record
from spade_llm.cli.signals import run_until_stopped
from spade_llm.cli.terminal import sanitize_line, show, style
from spade_llm.core.errors import ConfigurationError, ModelError, RequestError
from spade_llm.providers import OfflineProvider
from spade_llm.xmpp.servers.data_directory import read_run_record, saved_ca

if TYPE_CHECKING:
    import argparse

    from spade_llm.agents import ChatAgent
    from spade_llm.cli.factory.model_choice import ModelChoice

STATE_STYLES = {CheckState.OK: "green", CheckState.MISSING: "yellow", CheckState.FAILED: "red"}
STATUS_TIMEOUT_S = 3.0
MODEL_TIMEOUT_S = 15.0
"""A local server may have to load the model first."""


async def check_run(data: Path) -> list[Check]:
    record = read_run_record(data)
    if record is None:
        return [Check.missing("up", "not running on this data", "spade-llm up")]
    return [Check.ok("up", f"pid {record.pid}, {record.host}:{record.port}")]


async def check_agents(data: Path) -> list[Check]:
    """Check that each agent of the running `up` answers a status request."""
    record = read_run_record(data)
    if record is None:
        return []
    try:
        async with login(record.person, context_of_run(record, data)) as client:
            return list(await asyncio.gather(*(_check_agent(client, jid) for jid in record.agents)))
    except ConfigurationError as error:
        return [Check.failed(record.person, str(error), "restart `spade-llm up`")]


def check_running_models(data: Path) -> list[Check]:
    """Model status that each running assistant on this data reports. This command's environment may
    differ from the assistant's, and is not used."""
    checks = []
    for home in agent_directories(data):
        if (record := read_model_record(home)) is None:
            continue
        what = f"{home.name}: {record.description}"
        if record.fault is not None:
            mend = REMEDIES[record.fault.cause]
            checks.append(Check.failed("model", f"{what}: {record.fault}", mend))
        elif record.refused is not None:
            text, mend = explain_refusal(record, record.refused)
            checks.append(Check.failed("model", f"{home.name} {text}", mend))
        elif record.is_offline:
            checks.append(Check.missing("model", what, CONNECT_COMMAND))
        else:
            checks.append(Check.ok("model", what))
    return checks


async def check_models(spec: DeploymentSpec, data: Path) -> list[Check]:
    """Check the model that `up` would choose here; used while no assistant runs."""
    try:
        first, second = await choose_model(spec, data), await choose_fallback(spec, data)
    except ConfigurationError as error:
        return [Check.failed("model", str(error))]
    return [
        await _check_model("model", first),
        *([await _check_model("fallback", second)] if second else []),
    ]


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_doctor(options))


async def _check_model(name: str, choice: ModelChoice) -> Check:
    if choice.kind == "offline" and name == "fallback":
        return Check.ok(name, "rules instead of a model")
    if choice.kind == "offline":
        return Check.missing(name, choice.description, CONNECT_COMMAND)
    try:
        model = build_model(choice)
        async with aclosing(model):
            if not isinstance(model, OfflineProvider):
                await model.check(within_s=MODEL_TIMEOUT_S)
    except ConfigurationError as error:
        return Check.failed(name, f"{choice.description}: {error}")
    except ModelError as error:
        detail = f"{choice.description}: {sanitize_line(str(error))}"
        return Check.failed(name, detail, REMEDIES[error.cause])
    return Check.ok(name, choice.description)


async def _check_agent(client: ChatAgent, jid: str) -> Check:
    try:
        status = await client.status(jid, timeout_s=STATUS_TIMEOUT_S)
    except RequestError as error:
        return Check.failed(jid, str(error), "see the log files in log/ of the data directory")
    return Check.ok(jid, f"{status.kind}: {status.summary}")


async def _doctor(options: argparse.Namespace) -> int:
    data = data_directory(options)
    machine = check_host_machine if options.host else check_machine
    checks = await asyncio.to_thread(machine, data)
    definitions, problem = _definitions(options)
    checks.append(
        problem or check_extras(definitions, is_required=bool(options.agents or options.host))
    )
    checks += await _deployment(options, data, definitions)
    checks += await check_databases(definitions, default_database(options))
    if running_models := check_running_models(data):
        checks += running_models
    else:
        for one in definitions:
            if one.settings.kind == "assistant":
                checks += await check_models(one, data)
    for check in checks:
        state = style(f"{check.state:8}", STATE_STYLES[check.state])
        remedy = [f"{'':30}→ {check.remedy}"] if check.remedy else []
        show(options, check, [f"{state} {check.name:20} {check.detail}", *remedy])
    return 1 if any(check.state is CheckState.FAILED for check in checks) else 0


async def _deployment(
    options: argparse.Namespace, data: Path, specs: Sequence[DeploymentSpec]
) -> list[Check]:
    """Checks of the private `up`, or (with --host) of a multi-user server: that of --server, else
    that of the prepared deployment in --data, else that of the running `up`."""
    if not options.host:
        gateways = await check_gateways(specs, data)
        return [*await check_run(data), *await check_agents(data), *gateways]
    from spade_llm.cli.doctor_hosting import check_host
    from spade_llm.cli.host import PEOPLE_FOLDER, prepared_server

    try:
        server = None if options.server else prepared_server(data)
        if server is not None:
            options.server, options.domain = f"localhost:{server.port}", server.domain
            options.web_url = options.web_url or server.web_url
        cli_context = find_context(options)
        if cli_context.ca is None:
            cli_context = replace(cli_context, ca=saved_ca(data / PEOPLE_FOLDER))
        return await check_host(cli_context, options.web_url)
    except ConfigurationError as error:
        return [Check.failed("server", str(error))]


def _definitions(options: argparse.Namespace) -> tuple[tuple[DeploymentSpec, ...], Check | None]:
    try:
        return read_deployment(agents_folder(options), domain="localhost"), None
    except ConfigurationError as error:
        return (), Check.failed("agent files", str(error))
