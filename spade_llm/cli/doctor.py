"""`spade-llm doctor`: what is there, what is missing, and how to mend it. Changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.checks import Check, State, check_machine
from spade_llm.cli.checks_of_run import check_agents, check_models, check_run
from spade_llm.cli.definition import read_deployment, standard_deployment
from spade_llm.cli.place import data_directory
from spade_llm.cli.stopping import run_until_stopped
from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    import argparse

    from spade_llm.cli.definition import Definition


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_doctor(options))


async def _doctor(options: argparse.Namespace) -> int:
    data = data_directory(options)
    checks = await asyncio.to_thread(check_machine, data)
    definitions, problem = _definitions(options)
    checks += [problem] if problem else []
    checks += await check_run(data)
    checks += await check_agents(data)
    for one in definitions:
        checks += await check_models(one) if one.settings.kind == "assistant" else []
    for check in checks:
        print(_line(check))
    return 1 if any(check.state is State.FAILED for check in checks) else 0


def _definitions(options: argparse.Namespace) -> tuple[tuple[Definition, ...], Check | None]:
    try:
        folder = Path(options.agents) if options.agents else standard_deployment()
        return read_deployment(folder, domain="localhost"), None
    except ConfigurationError as error:
        return (), Check("agent files", State.FAILED, str(error))


def _line(check: Check) -> str:
    mend = f"\n{'':30}→ {check.mend}" if check.mend else ""
    return f"{check.state:8} {check.what:20} {check.detail}{mend}"
