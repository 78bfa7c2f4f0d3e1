"""`spade-llm doctor`: diagnoses machine, running agents, models; changes nothing."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.context import CliContext, agent_directories, data_directory, find_context, login
from spade_llm.cli.doctor_checks import (
    Check,
    CheckState,
    check_extras,
    check_gateways,
    check_host_machine,
    check_machine,
)
from spade_llm.cli.factory.deployment_spec import read_deployment, standard_deployment
from spade_llm.cli.factory.model_choice import (
    build_model,
    choose_fallback,
    choose_model,
    read_model_record,
)
from spade_llm.cli.signals import run_until_stopped
from spade_llm.core.errors import ConfigurationError, ModelError, RequestError
from spade_llm.providers import OfflineProvider
from spade_llm.xmpp.servers.run_record import read_run_record, saved_ca

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from spade_llm.agents import ChatAgent
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.cli.factory.model_choice import ModelChoice, ModelRecord
    from spade_llm.xmpp.servers.run_record import RunRecord

STATUS_TIMEOUT_S = 3.0
MODEL_TIMEOUT_S = 5.0


async def check_run(data: Path) -> list[Check]:
    record = read_run_record(data)
    if record is None:
        return [Check("up", CheckState.MISSING, "not running on this data", "spade-llm up")]
    return [Check("up", CheckState.OK, f"pid {record.pid}, {record.host}:{record.port}")]


async def check_agents(data: Path) -> list[Check]:
    """Each agent of the running `up`, asked for its status."""
    record = read_run_record(data)
    if record is None:
        return []
    try:
        async with login(record.person, _context_of_run(record, data)) as client:
            return list(await asyncio.gather(*(_check_agent(client, jid) for jid in record.agents)))
    except ConfigurationError as error:
        return [Check(record.person, CheckState.FAILED, str(error), "stop `up` and start it again")]


def check_running_models(data: Path) -> list[Check]:
    """Model status that each running assistant on this data reports. This command's environment may
    differ from the assistant's, and is not used."""
    homes = agent_directories(data)
    records = {home.name: record for home in homes if (record := read_model_record(home))}
    return [_check_running_model(jid, record) for jid, record in records.items()]


async def check_models(spec: DeploymentSpec) -> list[Check]:
    """Check the model that `up` would choose if it were started here; used while no assistant
    runs."""
    try:
        first, second = await choose_model(spec), await choose_fallback(spec)
    except ConfigurationError as error:
        return [Check("model", CheckState.FAILED, str(error))]
    return [
        await _check_model("model", first),
        *([await _check_model("fallback", second)] if second else []),
    ]


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_doctor(options))


def _check_running_model(jid: str, record: ModelRecord) -> Check:
    what = f"{jid}: {record.description}"
    if record.fault is not None:
        mend = "correct it in the agent.toml or the environment of the assistant, and restart that"
        return Check("model", CheckState.FAILED, f"{what}: {record.fault}", mend)
    return Check("model", CheckState.MISSING if record.is_offline else CheckState.OK, what)


async def _check_model(name: str, choice: ModelChoice) -> Check:
    if choice.kind == "offline" and name == "fallback":
        return Check(name, CheckState.OK, "rules instead of a model")
    if choice.kind == "offline":
        return Check(name, CheckState.MISSING, choice.description)
    try:
        model = build_model(choice)
        async with aclosing(model):
            if not isinstance(model, OfflineProvider):
                await model.check(within_s=MODEL_TIMEOUT_S)
    except (ConfigurationError, ModelError) as error:
        mend = "correct the agent.toml or the environment before `spade-llm up`"
        return Check(name, CheckState.FAILED, f"{choice.description}: {error}", mend)
    return Check(name, CheckState.OK, choice.description)


async def _check_agent(client: ChatAgent, jid: str) -> Check:
    try:
        status = await client.status(jid, timeout_s=STATUS_TIMEOUT_S)
    except RequestError as error:
        return Check(
            jid, CheckState.FAILED, str(error), "see the files in log/ of the data directory"
        )
    return Check(jid, CheckState.OK, f"{status.kind}: {status.summary}")


def _context_of_run(record: RunRecord, data: Path) -> CliContext:
    return CliContext(
        data=data, host=record.host, port=record.port, domain=record.domain, ca=record.ca
    )


async def _doctor(options: argparse.Namespace) -> int:
    data = data_directory(options)
    machine = check_host_machine if options.host else check_machine
    checks = await asyncio.to_thread(machine, data)
    definitions, problem = _definitions(options)
    checks.append(problem or check_extras(definitions))
    checks += await _deployment(options, data, definitions)
    checks += check_running_models(data) or await _models_from_here(definitions)
    for check in checks:
        print(_line(check))
    return 1 if any(check.state is CheckState.FAILED for check in checks) else 0


async def _models_from_here(specs: Sequence[DeploymentSpec]) -> list[Check]:
    assistants = [one for one in specs if one.settings.kind == "assistant"]
    return [check for one in assistants for check in await check_models(one)]


async def _deployment(
    options: argparse.Namespace, data: Path, specs: Sequence[DeploymentSpec]
) -> list[Check]:
    """Checks of the private `up`, or (with --host) of a multi-user server."""
    if not options.host:
        gateways = await check_gateways(specs, data)
        return [*await check_run(data), *await check_agents(data), *gateways]
    from spade_llm.cli.deployment.hosted import PEOPLE_FOLDER
    from spade_llm.cli.doctor_hosting import check_host

    try:
        cli_context = find_context(options)
        if cli_context.ca is None:
            cli_context = replace(cli_context, ca=saved_ca(data / PEOPLE_FOLDER))
        return await check_host(cli_context, options.web_url)
    except ConfigurationError as error:
        return [Check("server", CheckState.FAILED, str(error))]


def _definitions(options: argparse.Namespace) -> tuple[tuple[DeploymentSpec, ...], Check | None]:
    try:
        folder = Path(options.agents) if options.agents else standard_deployment()
        return read_deployment(folder, domain="localhost"), None
    except ConfigurationError as error:
        return (), Check("agent files", CheckState.FAILED, str(error))


def _line(check: Check) -> str:
    mend = f"\n{'':30}→ {check.remedy}" if check.remedy else ""
    return f"{check.state:8} {check.name:20} {check.detail}{mend}"
