"""The resource of an agent's full JID: one for its folder, so the same after a kill −9.

A server that manages streams keeps the session of a killed process for a while, and with it what
comes for the account. Whoever takes the same resource ends that session, and what it held is
delivered (RFC 6120 §7.7.2.2, XEP-0198 §5). Without a folder there is nobody to come back as.
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

_RESOURCE = re.compile(r"llm-[0-9a-f]{8}")


def resource_of(data: Path | None, name: str) -> str:
    """Raises ConfigurationError: the folder cannot be written."""
    if data is None:
        return _new()
    path = data / f"resource-{name}"
    try:
        known = path.read_text("ascii", errors="replace").strip() if path.exists() else ""
        if not _RESOURCE.fullmatch(known):
            path.write_text(known := _new(), "ascii")
    except OSError as error:
        raise ConfigurationError(
            f"{str(path)!r} cannot be read or written ({error.strerror}): check who owns the folder"
        ) from error
    return known


def _new() -> str:
    return f"llm-{secrets.token_hex(4)}"
