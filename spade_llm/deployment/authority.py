"""DATA/ca.pem: the CA that the agent of this data verifies its server by. Knows no server."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILE = "ca.pem"


def kept_ca(data: Path) -> Path | None:
    """None: the server's certificate is of a CA that the system trusts."""
    path = data / FILE
    return path if path.is_file() else None


def keep_ca(data: Path, authority: bytes | None) -> None:
    if authority is None:
        (data / FILE).unlink(missing_ok=True)
        return
    fresh = data / f"{FILE}.new"
    fresh.write_bytes(authority)
    fresh.replace(data / FILE)
