"""A file that only its user may read. Knows no database."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE = 0o600


def make_private(path: Path) -> None:
    """Make it, empty, if it is not there, and take others' rights away.

    SQLite gives the rights of the file to its log. What cannot be made is left to SQLite, which
    says why; the rights of a file of another user stay.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, PRIVATE))
    except OSError:
        return
    if path.stat().st_mode & 0o077 and path.stat().st_uid == os.getuid():
        path.chmod(PRIVATE)
