"""`spade-llm doctor`: what is there, what is missing, and how to mend it. Changes nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.checks import (
    Check,
    State,
    check_extras,
    check_host_machine,
    check_machine,
)
from spade_llm.cli.checks_of_gateway import check_gateways
from spade_llm.cli.checks_of_run import (
    check_agents,
    check_models,
    check_run,
    check_running_models,
)
from spade_llm.cli.definition import read_deployment, standard_deployment
from spade_llm.cli.place import data_directory, find_place
from spade_llm.cli.stopping import run_until_stopped
from spade_llm.deployment.authority import kept_ca
from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from spade_llm.cli.definition import Definition


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_doctor(options))


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
    return 1 if any(check.state is State.FAILED for check in checks) else 0


async def _models_from_here(definitions: Sequence[Definition]) -> list[Check]:
    assistants = [one for one in definitions if one.settings.kind == "assistant"]
    return [check for one in assistants for check in await check_models(one)]


async def _deployment(
    options: argparse.Namespace, data: Path, definitions: Sequence[Definition]
) -> list[Check]:
    """Of the private `up`, or of a server for people."""
    if not options.host:
        gateways = await check_gateways(definitions, data)
        return [*await check_run(data), *await check_agents(data), *gateways]
    from spade_llm.cli.checks_of_host import check_host
    from spade_llm.deployment.hosted import PEOPLE

    try:
        place = find_place(options)
        if place.ca is None:
            place = replace(place, ca=kept_ca(data / PEOPLE))
        return await check_host(place, options.web_url)
    except ConfigurationError as error:
        return [Check("server", State.FAILED, str(error))]


def _definitions(options: argparse.Namespace) -> tuple[tuple[Definition, ...], Check | None]:
    try:
        folder = Path(options.agents) if options.agents else standard_deployment()
        return read_deployment(folder, domain="localhost"), None
    except ConfigurationError as error:
        return (), Check("agent files", State.FAILED, str(error))


def _line(check: Check) -> str:
    mend = f"\n{'':30}→ {check.mend}" if check.mend else ""
    return f"{check.state:8} {check.what:20} {check.detail}{mend}"
