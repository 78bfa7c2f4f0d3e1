"""Directory lock (flock): one process holds a directory at a time, also after a crash."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spade_llm.core.errors import ConfigurationError

LOCK_FILE = "lock"
ATTEMPTS = 5
PAUSE_S = 0.05


@contextmanager
def lock_directory(directory: Path, *, what: str) -> Iterator[None]:
    """Hold the directory, made if it is missing, as long as the block runs.

    Raises:
        ConfigurationError: another process holds it; names its pid.
    """
    _make_directory(directory)
    # Not "w": it would remove the holder's pid before the lock is tried.
    with (directory / LOCK_FILE).open("a+") as file:
        if not _locked(file.fileno()):
            file.seek(0)
            raise ConfigurationError(f"{what} is already running (pid {file.read().strip()})")
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
        file.truncate(0)


def is_locked(directory: Path) -> bool:
    """Check whether a process holds the directory now."""
    try:
        with (directory / LOCK_FILE).open("r") as file:
            # Shared: two that look at the same time do not take each other for the holder.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ConfigurationError(
            f"--data: cannot make the directory {str(directory)!r}: {error.strerror}"
        ) from None


def _locked(descriptor: int) -> bool:
    """A few attempts: `is_locked` takes the lock for a moment, too."""
    for _ in range(ATTEMPTS):
        try:
            # The kernel releases it with the process: a crash leaves no stale lock.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PAUSE_S)
        else:
            return True
    return False
