"""What `doctor` sees of HTTP gateways: whether they answer, and whom they let in."""

from __future__ import annotations

import asyncio
import sqlite3
import time
import urllib.error
import urllib.request
from contextlib import closing
from typing import TYPE_CHECKING

from spade_llm.cli.checks import Check, State
from spade_llm.cli.own_server import is_free
from spade_llm.deployment.http_record import FILE, read_record
from spade_llm.deployment.lock import is_held

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from spade_llm.cli.definition import Definition
    from spade_llm.deployment.http_record import HttpRecord

ANSWER_S = 3.0
STATE = "gateway.db"
_VALID = "SELECT count(*) FROM tokens WHERE expires IS NULL OR expires > ?"


async def check_gateways(definitions: Sequence[Definition], data: Path) -> list[Check]:
    """Those that run on this data; of those that do not, their ports."""
    running = {home.name: home for home in _homes(data, "agents") if is_held(home)}
    found = []
    for home in running.values():
        if record := read_record(home):
            found += [await _answers(record), _tokens(home, record)]
    gateways = [one for one in definitions if one.settings.kind == "gateway"]
    return found or [_port(one) for one in gateways]


def check_doors(root: Path) -> list[Check]:
    """Those of a deployment for people: its folders are perhaps of other containers."""
    homes = [*_homes(root, "agents"), *_homes(root, "*/agents")]
    return [_door(home, record) for home in homes if (record := read_record(home))]


def problem_of(record: HttpRecord) -> str | None:
    """Why it does not answer; None: it does."""
    try:
        with urllib.request.urlopen(f"{record.url}/health", timeout=ANSWER_S):
            return None
    except urllib.error.HTTPError as error:
        return f"answers with {error.code}"
    except (OSError, ValueError) as error:
        return f"does not answer ({getattr(error, 'reason', None) or type(error).__name__})"


def _homes(data: Path, agents: str) -> list[Path]:
    return sorted(path.parent for path in data.glob(f"{agents}/*@*/{FILE}"))


def _port(definition: Definition) -> Check:
    table = definition.settings.http
    if not table.port or is_free(table.port):
        return Check("http", State.OK, f"port {table.port or 'of any number'} is free")
    if "port" in table.model_fields_set:
        mend = f"end the program that listens there, or change http.port in {definition.path}"
        return Check("http", State.FAILED, f"port {table.port} is taken", mend)
    told = f"port {table.port} is taken: `up` takes the next that is free, and says so"
    return Check("http", State.MISSING, told)


async def _answers(record: HttpRecord) -> Check:
    problem = await asyncio.to_thread(problem_of, record)
    if problem:
        mend = "see the files in log/ of the data directory"
        return Check("http", State.FAILED, f"{record.url} {problem}", mend)
    return Check("http", State.OK, f"{record.url} answers")


def _door(home: Path, record: HttpRecord) -> Check:
    """Of a server for people: its programs, and its reverse proxy, are not one person."""
    if not record.local_principal:
        return _tokens(home, record)
    told = (
        f"without a token, whatever reaches {record.url} is {record.local_principal}, who may all"
    )
    mend = 'local_principal = "none" below [http] in its agent.toml'
    return Check("http tokens", State.FAILED, told, mend)


def _tokens(home: Path, record: HttpRecord) -> Check:
    try:
        tokens = _valid_tokens(home / STATE)
    except sqlite3.Error as error:
        return Check("http tokens", State.FAILED, f"{home / STATE} cannot be read: {error}")
    if record.local_principal:
        told = (
            f"{tokens or 'none'}; without one, this machine's programs are {record.local_principal}"
        )
        return Check("http tokens", State.OK, told)
    if not tokens:
        mend = "spade-llm token create NAME --principal WHO"
        return Check("http tokens", State.MISSING, f"none: {home.name} lets nobody in", mend)
    reached = "other machines, too" if record.is_open else "this machine only"
    return Check("http tokens", State.OK, f"{tokens}; reached from {reached}")


def _valid_tokens(path: Path) -> int:
    """`immutable`: of a gateway that is stopped, on a file system that cannot be written."""
    try:
        return _counted(f"file:{path}?mode=ro")
    except sqlite3.OperationalError:
        return _counted(f"file:{path}?mode=ro&immutable=1")


def _counted(uri: str) -> int:
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        (count,) = connection.execute(_VALID, (time.time(),)).fetchone()
        return int(count)
