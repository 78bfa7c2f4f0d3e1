"""HTTP record of a gateway: its current addresses, in http.json."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HTTP_FILE = "http.json"


class HttpRecord(BaseModel):
    model_config = ConfigDict(frozen=True)

    url: str
    """Base URL of the gateway on this machine, without a path."""
    is_open: bool
    """Other machines may reach it, too."""
    local_principal: str | None
    """Principal of requests without a token; None means that a token is required."""


@contextmanager
def published_http_record(home: Path, record: HttpRecord) -> Iterator[None]:
    """It is there as long as the block runs; `home`: the gateway's folder."""
    (home / HTTP_FILE).write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8")
    try:
        yield
    finally:
        (home / HTTP_FILE).unlink(missing_ok=True)


def read_http_record(home: Path) -> HttpRecord | None:
    """Read the record; None if there is none or it is unreadable. After a kill it is that of the
    last run."""
    try:
        return HttpRecord.model_validate_json((home / HTTP_FILE).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None
