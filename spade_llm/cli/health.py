"""`spade-llm health`: health check of running agents and gateways (heartbeat, HTTP)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.cli.context import agent_directories, data_directory
from spade_llm.cli.deployment.heartbeat import heartbeat_problem
from spade_llm.cli.deployment.http_record import read_http_record
from spade_llm.cli.doctor_checks import gateway_problem as http_problem_of
from spade_llm.core.directory_lock import is_locked
from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.servers.run_record import read_run_record

if TYPE_CHECKING:
    import argparse
    from pathlib import Path


def main(options: argparse.Namespace) -> int:
    data = data_directory(options)
    homes = _agent_directories(data)
    if not homes:
        raise ConfigurationError(f"no agent has run on the data in {str(data)!r}")
    problems = {home.name: heartbeat_problem(home) or _http_problem(home) for home in homes}
    for jid, problem in problems.items():
        print(f"{jid} {problem or 'hears its server'}")
    return 1 if any(problems.values()) else 0


def _agent_directories(data: Path) -> list[Path]:
    """Homes of the agents that should run: those of the running `up`, and any other running agent;
    without an `up`, all agents that ever ran here."""
    homes = agent_directories(data)
    record = read_run_record(data)
    if record is None:
        return homes
    return [home for home in homes if home.name in record.agents or is_locked(home)]


def _http_problem(home: Path) -> str | None:
    """Reason that a gateway does not answer over HTTP; None if it does."""
    record = read_http_record(home)
    problem = http_problem_of(record) if record else None
    return f"hears its server, but {problem} at {record.url}" if record and problem else None
