"""`spade-llm health`: whether the agents of this data hear their server, and gateways answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.cli.agent_data import agent_homes
from spade_llm.cli.checks_of_gateway import problem_of as http_problem_of
from spade_llm.cli.place import data_directory
from spade_llm.deployment.heartbeat import problem_of
from spade_llm.deployment.http_record import read_record
from spade_llm.deployment.lock import is_held
from spade_llm.deployment.run_record import read_record as read_run_record
from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    import argparse
    from pathlib import Path


def main(options: argparse.Namespace) -> int:
    data = data_directory(options)
    homes = _homes(data)
    if not homes:
        raise ConfigurationError(f"no agent has run on the data in {str(data)!r}")
    problems = {home.name: problem_of(home) or _unanswered(home) for home in homes}
    for jid, problem in problems.items():
        print(f"{jid} {problem or 'hears its server'}")
    return 1 if any(problems.values()) else 0


def _homes(data: Path) -> list[Path]:
    """Of the agents that should run: those of the running `up`, and what else runs; without an
    `up`, all that ever ran here."""
    homes = agent_homes(data)
    record = read_run_record(data)
    if record is None:
        return homes
    return [home for home in homes if home.name in record.agents or is_held(home)]


def _unanswered(home: Path) -> str | None:
    """Why a gateway does not answer over HTTP."""
    record = read_record(home)
    problem = http_problem_of(record) if record else None
    return f"hears its server, but {problem} at {record.url}" if record and problem else None
