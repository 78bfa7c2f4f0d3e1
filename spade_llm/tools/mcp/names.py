"""What a server's tools are called here: `SERVER_tool`. Pure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from spade_llm.providers.safe_name import MAX_NAME_CHARS, safe_name

if TYPE_CHECKING:
    from collections.abc import Iterable

_DIGEST_CHARS = 8


def offered_name(server: str, tool: str) -> str:
    """The same for the same two names, always. One that does not fit is made to, and gets a digest
    of the whole: two long names that begin alike stay two."""
    plain = f"{server}_{safe_name(tool, max_chars=len(tool))}"
    if plain == f"{server}_{tool}" and len(plain) <= MAX_NAME_CHARS:
        return plain
    digest = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{plain[: MAX_NAME_CHARS - _DIGEST_CHARS - 1]}_{digest}"


def offered_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Offered name → the server's. Of two with one offered name (which takes intent) the one that
    needed no change is kept."""
    names: dict[str, str] = {}
    for tool in tools:
        name = offered_name(server, tool)
        if name not in names or name == f"{server}_{tool}":
            names[name] = tool
    return names
