"""Opens a file so that no link is followed on the way to it. Knows no root."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def opened_without_links(path: Path) -> int:
    """A descriptor. `path`: resolved; a folder on it may have become a link since, and that is
    seen here: O_NOFOLLOW alone looks at a path's last part only.

    Raises:
        OSError: also for a link.
    """
    folder = os.open(path.anchor, _FOLDER)
    try:
        for part in path.parts[1:-1]:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(path.name, _FILE, dir_fd=folder)
    finally:
        os.close(folder)
