"""Run record of a data directory: address of the running server, and its CA file."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from spade_llm.core.directory_lock import is_locked
from spade_llm.core.errors import ConfigurationError

RUN_FILE = "run.json"
CA_FILE = "ca.pem"


class RunRecord(BaseModel):
    model_config = ConfigDict(frozen=True)

    pid: int
    host: str
    port: int
    domain: str
    ca: Path | None
    server: str = ""
    """ServerKind of our own server (servers/managed_server.py); empty: an external server."""
    agents: tuple[str, ...]
    """Bare JIDs."""
    person: str
    web: tuple[str, ...] = ()
    """URLs of its gateways, without a path."""

    def write(self, data: Path) -> None:
        """Write the record atomically: a reader never sees half of it."""
        fresh = data / f"{RUN_FILE}.new"
        fresh.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")
        os.replace(fresh, data / RUN_FILE)


def read_run_record(data: Path) -> RunRecord | None:
    """The record of the `up` that runs on this data now; None if none does."""
    # A killed `up` leaves its record behind; its lock ends with it.
    if not is_locked(data):
        return None
    try:
        return RunRecord.model_validate_json((data / RUN_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValidationError:
        raise ConfigurationError(
            f"{str(data / RUN_FILE)!r} is unreadable: stop `spade-llm up` and start it again"
        ) from None


def remove_run_record(data: Path) -> None:
    (data / RUN_FILE).unlink(missing_ok=True)


def saved_ca(data: Path) -> Path | None:
    """Return the saved CA file; None if the system trusts the server's CA."""
    path = data / CA_FILE
    return path if path.is_file() else None


def save_ca(data: Path, authority: bytes | None) -> None:
    if authority is None:
        (data / CA_FILE).unlink(missing_ok=True)
        return
    fresh = data / f"{CA_FILE}.new"
    fresh.write_bytes(authority)
    fresh.replace(data / CA_FILE)
