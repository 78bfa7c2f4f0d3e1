"""Reads a file that a person wrote, or says why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


def read_text(path: Path, *, named_in: str = "") -> str:
    """Raises ConfigurationError, behind who named the file."""
    where = f"{named_in}: " if named_in else ""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise ConfigurationError(f"{where}cannot read {str(path)!r}: {reason}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{where}{str(path)!r} is not UTF-8 text") from None
