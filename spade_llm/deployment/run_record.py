"""DATA/run.json: where the `up` that runs on this data can be reached. No secrets."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from spade_llm.deployment.lock import is_held
from spade_llm.errors import ConfigurationError

FILE = "run.json"


class RunRecord(BaseModel):
    model_config = ConfigDict(frozen=True)

    pid: int
    host: str
    port: int
    domain: str
    ca: Path | None
    server: str = ""
    """Which of our own kinds (xmpp/server.py); empty: somebody else's."""
    agents: tuple[str, ...]
    """Bare JIDs."""
    person: str
    web: tuple[str, ...] = ()
    """URLs of its gateways, without a path."""

    def write(self, data: Path) -> None:
        """At once or not at all: a reader never sees half of it."""
        fresh = data / f"{FILE}.new"
        fresh.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")
        os.replace(fresh, data / FILE)


def read_record(data: Path) -> RunRecord | None:
    """The record of the `up` that runs on this data now; None if none does."""
    if not is_held(data):
        return None
    try:
        return RunRecord.model_validate_json((data / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValidationError:
        raise ConfigurationError(
            f"{str(data / FILE)!r} is unreadable: stop `spade-llm up` and start it again"
        ) from None


def remove_record(data: Path) -> None:
    (data / FILE).unlink(missing_ok=True)
