"""Log files in DATA/log, bounded by rotation."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

MAX_BYTES = 5 * 1024 * 1024
"""Maximum size of a log file in bytes; one older file of this size is kept."""
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
TAIL_BYTES = 2000
TAIL_LINES = 5


@contextmanager
def logged_to_file(data: Path, name: str) -> Iterator[None]:
    """Log to DATA/log/NAME.log for the block."""
    path = log_path(data, name)
    handler = RotatingFileHandler(path, maxBytes=MAX_BYTES, backupCount=1, encoding="utf-8")
    _log_to(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


def log_to_stderr() -> None:
    _log_to(logging.StreamHandler(sys.stderr))


def log_path(data: Path, name: str) -> Path:
    """DATA/log/NAME.log; makes the folder."""
    folder = data / "log"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / f"{name}.log"


def rotate_log(path: Path) -> None:
    """Rename the log file if it has reached its maximum size."""
    if path.exists() and path.stat().st_size > MAX_BYTES:
        path.replace(path.with_suffix(".log.1"))


def last_lines(path: Path) -> str:
    """Last lines of the log file, on one line, for an error message."""
    with path.open("rb") as file:
        # Only the end is read: a log file may have 5 MB.
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return f"last lines of {path}: " + " | ".join(lines[-TAIL_LINES:])


def _log_to(handler: logging.Handler) -> None:
    """Log our messages from INFO, those of other libraries from WARNING."""
    handler.setFormatter(logging.Formatter(FORMAT))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("spade_llm").setLevel(logging.INFO)
