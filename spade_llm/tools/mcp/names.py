"""What a server's tools are called here: `SERVER_tool`. Pure."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_CHARS = 64
"""What model APIs allow, with these characters."""
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST_CHARS = 8


def offered_name(server: str, tool: str) -> str:
    """The same for the same two names, always. One that does not fit is made to, and gets a digest
    of the whole: two long names that begin alike stay two."""
    plain = f"{server}_{_FOREIGN.sub('_', tool)}"
    if plain == f"{server}_{tool}" and len(plain) <= MAX_CHARS:
        return plain
    digest = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{plain[: MAX_CHARS - _DIGEST_CHARS - 1]}_{digest}"


def offered_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Offered name → the server's. Of two with one offered name (which takes intent) the one that
    needed no change is kept."""
    names: dict[str, str] = {}
    for tool in tools:
        name = offered_name(server, tool)
        if name not in names or name == f"{server}_{tool}":
            names[name] = tool
    return names
