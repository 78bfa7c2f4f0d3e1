"""What a server says of one tool, as it is pinned and as a model reads it. Knows no session."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from spade_llm.providers.model import ToolSpec
from spade_llm.tools.mcp.cleaning import clean_values, cleaned

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_NAME_CHARS = 200
MAX_DESCRIPTION_CHARS = 4000
MAX_DEFINITION_CHARS = 32_000
"""Of the whole as JSON. A larger one is not offered: a model would read it in every turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Equal text, equal definition: all that the server may steer a model with is in it."""

    name: str
    text: str
    """JSON with sorted keys: name, title, description, schemas, annotations, as they came."""

    @property
    def digest(self) -> str:
        return digest_of(self.text)

    @property
    def flaw(self) -> str:
        """Why it cannot be offered whatever anybody accepts; empty if it can."""
        if not 0 < len(self.name) <= MAX_NAME_CHARS:
            return f"its name has {len(self.name)} characters"
        if len(self.text) > MAX_DEFINITION_CHARS:
            return f"its definition has {len(self.text)} characters, over {MAX_DEFINITION_CHARS}"
        if self._parts().get("inputSchema", {}).get("type") != "object":
            return "its input schema is not that of an object"
        return ""

    def spec(self, offered: str, *, server: str) -> ToolSpec:
        parts = self._parts()
        words = cleaned(str(parts.get("description") or parts.get("title") or ""), _ROOM)
        return ToolSpec(
            name=offered,
            description=f"[MCP server {server} says:] {words}".rstrip(),
            parameters=cast("Mapping[str, object]", clean_values(parts["inputSchema"])),
        )

    def _parts(self) -> dict[str, dict[str, object]]:
        # Only `definition_of` writes the text: an object whose schema is an object.
        return cast("dict[str, dict[str, object]]", json.loads(self.text))


_ROOM = MAX_DESCRIPTION_CHARS - 60


def definition_of(parts: Mapping[str, object]) -> Definition:
    """From the fields of an MCP tool, under their names on the wire."""
    kept = {key: parts[key] for key in _KEPT if parts.get(key) is not None}
    return Definition(
        name=str(parts["name"]), text=json.dumps(kept, sort_keys=True, ensure_ascii=True)
    )


_KEPT = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""Not icons and `_meta`: no model reads them."""


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
