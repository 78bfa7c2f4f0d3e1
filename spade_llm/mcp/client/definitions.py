"""Tool definitions: canonical text, digest, offered names, side-by-side diff."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from textwrap import wrap
from typing import cast

from spade_llm.core.redaction import escape_hidden, sanitize_json, sanitize_text
from spade_llm.providers.model import MAX_NAME_CHARS, ToolSpec, safe_name

MAX_TOOL_NAME_CHARS = 200
MAX_DESCRIPTION_CHARS = 4000
MAX_DEFINITION_CHARS = 32_000
"""Maximum length of a definition (JSON) in characters. A larger one is not offered, because a model
would read it in every turn."""

_MAX_TEXT_CHARS = MAX_DESCRIPTION_CHARS - 60

_PINNED_FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""Fields of a tool that are pinned; icons and `_meta` are not, because no model reads them."""

_DIGEST_CHARS = 8

MIN_WIDTH = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """Definition of a tool. Its text holds everything by which the server may influence a model;
    equal texts are equal definitions."""

    name: str
    text: str
    """JSON with sorted keys: name, title, description, schemas, annotations, as they came."""

    @property
    def digest(self) -> str:
        return definition_digest(self.text)

    @property
    def defect(self) -> str:
        """Reason that the tool cannot be offered, even if an operator accepts it; empty if it
        can."""
        if not 0 < len(self.name) <= MAX_TOOL_NAME_CHARS:
            return f"its name has {len(self.name)} characters (limit {MAX_TOOL_NAME_CHARS})"
        if len(self.text) > MAX_DEFINITION_CHARS:
            return f"its definition has {len(self.text)} characters (limit {MAX_DEFINITION_CHARS})"
        if self._parts().get("inputSchema", {}).get("type") != "object":
            return "its input schema is not an object schema"
        return ""

    def spec(self, offered: str, *, server: str) -> ToolSpec:
        parts = self._parts()
        words = sanitize_text(
            str(parts.get("description") or parts.get("title") or ""), _MAX_TEXT_CHARS
        )
        return ToolSpec(
            name=offered,
            description=f"[MCP server {server} says:] {words}".rstrip(),
            parameters=cast("Mapping[str, object]", sanitize_json(parts["inputSchema"])),
        )

    def _parts(self) -> dict[str, dict[str, object]]:
        # Only `parse_definition` writes the text: an object whose schema is an object.
        return cast("dict[str, dict[str, object]]", json.loads(self.text))


def parse_definition(parts: Mapping[str, object]) -> ToolDefinition:
    """Build a definition from the fields of an MCP tool, under their names on the wire."""
    kept = {key: parts[key] for key in _PINNED_FIELDS if parts.get(key) is not None}
    # Sorted keys: a server that only reorders them has not changed its definition.
    return ToolDefinition(
        name=str(parts["name"]), text=json.dumps(kept, sort_keys=True, ensure_ascii=True)
    )


def definition_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def offered_name(server: str, tool: str) -> str:
    """Name under which a server's tool is offered. A name that is long or has other characters gets
    a digest of the whole, so that different tools keep different names."""
    plain = f"{server}_{safe_name(tool, max_chars=len(tool))}"
    if plain == f"{server}_{tool}" and len(plain) <= MAX_NAME_CHARS:
        return plain
    digest = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{plain[: MAX_NAME_CHARS - _DIGEST_CHARS - 1]}_{digest}"


def offered_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Names of the server's tools, keyed by offered name. If two collide (which takes intent), the
    one that needed no change is kept."""
    names: dict[str, str] = {}
    for tool in tools:
        name = offered_name(server, tool)
        if name not in names or name == f"{server}_{tool}":
            names[name] = tool
    return names


def side_by_side(old: str | None, new: str, *, width: int) -> list[str]:
    """Diff in two columns, old and new; `|` marks changed lines, `>` and `<` added and deleted
    ones."""
    column = (max(width, MIN_WIDTH) - 3) // 2
    left = [] if old is None else _lines(old, column)
    right = _lines(new, column)
    return [f"{one:{column}} {mark} {other}".rstrip() for one, mark, other in _pairs(left, right)]


def _pairs(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    # difflib's autojunk would take frequent lines of long definitions for noise.
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for one, other in zip_longest(left[a:b], right[c:d]):
            if kind == "equal":
                yield one, " ", other
            else:
                mark = ">" if one is None else "<" if other is None else "|"
                yield one or "", mark, other or ""


def _lines(definition: str, column: int) -> list[str]:
    parts = json.loads(definition)
    words = escape_hidden(str(parts.pop("description", "")))
    found = ["description:", *_wrapped(words, column - 2)]
    rest = json.dumps(parts, indent=1, ensure_ascii=False, sort_keys=True)
    return [
        piece
        for line in (*found, *escape_hidden(rest).splitlines())
        for piece in _cut(line, column)
    ]


def _wrapped(text: str, column: int) -> list[str]:
    return [f"  {line}" for part in text.splitlines() for line in wrap(part, column) or [""]]


def _cut(line: str, column: int) -> list[str]:
    return [line[at : at + column] for at in range(0, len(line), column)] or [""]
