"""`spade-llm health`: health check of running agents (heartbeat file) and gateways (HTTP record).

Each agent touches a heartbeat file while its server answers it, and a gateway publishes its address
in http.json. The check reads these files: a login of its own would cost as much as the agent's
start, twice a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from spade_llm.cli.context import REPLICAS_FOLDER, agent_directories, data_directory
from spade_llm.cli.terminal import show, style
from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.servers.data_directory import is_locked, read_run_record

logger = logging.getLogger(__name__)

HEARTBEAT_FILE = "heard"
HEARTBEAT_INTERVAL_S = 15.0
HEARTBEAT_TTL_S = 60.0
"""Four intervals: a server that restarts is back by then."""
POLL_INTERVAL_S = 0.05
HTTP_FILE = "http.json"
HTTP_TIMEOUT_S = 3.0


def main(options: argparse.Namespace) -> int:
    data = data_directory(options)
    homes = agent_directories(data)
    if (run := read_run_record(data)) is not None:
        # Without a running `up`, every agent that ever ran here should run.
        homes = [home for home in homes if home.name in run.agents or is_locked(home)]
    if not homes:
        raise ConfigurationError(f"no agent has run on the data in {str(data)!r}")
    is_healthy = True
    for home in with_replicas(homes):
        problem = heartbeat_problem(home)
        if problem is None and (published := read_http_record(home)) is not None:
            http_problem = gateway_problem(published)
            problem = http_problem and f"is connected, but {http_problem} at {published.url}"
        name = str(home.relative_to(data / "agents"))
        record = {"agent": name, "is_healthy": problem is None, "problem": problem}
        text = f"{name} {style(problem, 'red') if problem else 'is healthy'}"
        show(options, record, text)
        is_healthy = is_healthy and problem is None
    return 0 if is_healthy else 1


def replica_home(home: Path, number: int) -> Path:
    """Folder of a replica in its agent's folder."""
    return home / REPLICAS_FOLDER / str(number)


def with_replicas(homes: Sequence[Path]) -> Iterator[Path]:
    """Folders to check: of an agent that runs as replicas here, those of the running ones."""
    for home in homes:
        running = [one for one in sorted(home.glob(f"{REPLICAS_FOLDER}/*")) if is_locked(one)]
        yield from running or (home,)


def touch_heartbeat(home: Path) -> None:
    """Update the heartbeat file. A disk error is logged: the next heartbeat may succeed."""
    try:
        (home / HEARTBEAT_FILE).touch()
    except OSError as error:
        logger.warning("%s cannot be touched: %s", home / HEARTBEAT_FILE, error)


def remove_heartbeat(home: Path) -> None:
    (home / HEARTBEAT_FILE).unlink(missing_ok=True)


def heartbeat_problem(home: Path, *, now_s: float | None = None) -> str | None:
    """Reason that the agent with this home is unhealthy; None if it is healthy."""
    try:
        age_s = (time.time() if now_s is None else now_s) - (home / HEARTBEAT_FILE).stat().st_mtime
    except FileNotFoundError:
        return "has no heartbeat yet, or is not running"
    if age_s < -HEARTBEAT_TTL_S:
        return "has a heartbeat in the future: the clock was set back; wait for the next one"
    return f"has had no heartbeat for {age_s:.0f} s" if age_s > HEARTBEAT_TTL_S else None


async def wait_for_heartbeat(home: Path, *, within_s: float) -> bool:
    """Wait until the agent with this home is healthy; False after `within_s`. Polls the file."""
    until = time.monotonic() + within_s
    while not (is_well := heartbeat_problem(home) is None) and time.monotonic() < until:  # noqa: ASYNC110
        await asyncio.sleep(POLL_INTERVAL_S)
    return is_well


class HttpRecord(BaseModel):
    """Current HTTP addresses of a gateway, in http.json."""

    model_config = ConfigDict(frozen=True)

    url: str
    """Base URL of the gateway on this machine, without a path."""
    is_open: bool
    """Other machines may reach it, too."""
    local_principal: str | None
    """Principal of requests without a token; None means that a token is required."""


@contextmanager
def published_http_record(home: Path, record: HttpRecord) -> Iterator[None]:
    """Keep the record in the gateway's folder for the block."""
    (home / HTTP_FILE).write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8")
    try:
        yield
    finally:
        (home / HTTP_FILE).unlink(missing_ok=True)


def read_http_record(home: Path) -> HttpRecord | None:
    """Read the record; None if there is none or it is unreadable. A killed gateway leaves that of
    its last run."""
    try:
        return HttpRecord.model_validate_json((home / HTTP_FILE).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


def gateway_problem(record: HttpRecord) -> str | None:
    """Reason that the gateway does not answer; None if it does."""
    try:
        with urllib.request.urlopen(f"{record.url}/health", timeout=HTTP_TIMEOUT_S):
            return None
    except urllib.error.HTTPError as error:
        return f"answers with {error.code}"
    except (OSError, ValueError) as error:
        return f"does not answer ({getattr(error, 'reason', None) or type(error).__name__})"
