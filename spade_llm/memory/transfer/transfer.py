"""A memory as JSON Lines: what each record's fields are called and how their values are written.

Pure: knows no file and no SQL. The first line says which format it is; every other line is one
record, `{"kind": "entry", …}`, with its owner and all that is kept of it. Vectors, and the words
it is found by, are not in it: they are computed again. A field without a value is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from spade_llm.errors import InvalidArguments
from spade_llm.memory.sqlite.codes import (
    ACCESSES,
    CATEGORIES,
    CONTENT_TYPES,
    ORIGINS,
    ROLES,
    TIERS,
    TYPES,
    Codes,
)
from spade_llm.memory.sqlite.rows import (
    from_microseconds,
    packed_ids,
    to_microseconds,
    unpacked_ids,
)
from spade_llm.memory.sqlite.transaction import Value
from spade_llm.memory.store import Access, Category, ContentType, MemoryType, Origin, Tier

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMAT = "spade-llm memory"
VERSION = 1
HEADER = json.dumps({"format": FORMAT, "version": VERSION})

T = TypeVar("T")
Write = Callable[[Value], object]
Read = Callable[[object], Value]


@dataclass(frozen=True, slots=True)
class Field:
    """One field: as a value of SQLite's, and as one of JSON's."""

    write: Write
    read: Read
    is_required: bool = False


def line_of(kind: str, values: Mapping[str, Value]) -> str:
    """One record as a line, without its end."""
    fields = KINDS[kind]
    written = {
        name: field.write(values[name])
        for name, field in fields.items()
        if values[name] is not None
    }
    return json.dumps({"kind": kind, **written}, ensure_ascii=False, separators=(",", ":"))


def check_header(line: str) -> None:
    """Raises InvalidArguments: it is no export, or one of a newer version."""
    header = _object(line)
    if header.get("format") != FORMAT:
        raise InvalidArguments(f"it is no export of a memory: it does not begin with {HEADER}")
    if header.get("version") != VERSION:
        raise InvalidArguments(
            f"version {header.get('version')!r} of the format is unknown here ({VERSION} is"
            " known): use the spade-llm that wrote it"
        )


def read_line(line: str) -> tuple[str, dict[str, Value]]:
    """The record's kind, and all of its fields; None where a line has none.

    Raises:
        InvalidArguments: it is no such record; names the field.
    """
    found = _object(line)
    kind = found.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidArguments(f"kind: {str(kind)[:40]!r} is none of {', '.join(KINDS)}")
    fields = KINDS[kind]
    if unknown := found.keys() - fields:
        raise InvalidArguments(f"{min(unknown)[:40]}: {kind} has no such field")
    return kind, {name: _value(name, field, found.get(name)) for name, field in fields.items()}


def _object(line: str) -> dict[str, object]:
    try:
        line.encode()
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidArguments("it is not a JSON object")
    return found


def _value(name: str, field: Field, value: object) -> Value:
    if value is None:
        if field.is_required:
            raise InvalidArguments(f"{name}: missing")
        return None
    try:
        return field.read(value)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise InvalidArguments(f"{name}: {str(value)[:40]!r} is not what belongs there") from None


def read_tags(value: Value) -> Sequence[str]:
    """The tags in a record's field."""
    return json.loads(value) if isinstance(value, str) else ()


def _same(value: Value) -> object:
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**63:
        raise TypeError
    return value


def _real(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError
    return float(value)


def _truth(value: object) -> int:
    if not isinstance(value, bool):
        raise TypeError
    return int(value)


def _write_time(value: Value) -> object:
    return from_microseconds(_whole(value)).isoformat()


def _read_time(value: object) -> int:
    at = datetime.fromisoformat(_text(value))
    return to_microseconds(at if at.tzinfo else at.replace(tzinfo=UTC))


def _write_id(value: Value) -> object:
    return unpacked_ids(_bytes(value))[0]


def _read_id(value: object) -> bytes:
    return UUID(_text(value)).bytes


def _write_ids(value: Value) -> object:
    return list(unpacked_ids(_bytes(value)))


def _read_ids(value: object) -> bytes:
    return packed_ids(_texts(value)) or b""


def _texts(value: object) -> Sequence[str]:
    if not isinstance(value, list):
        raise TypeError
    return [_text(one) for one in value]


def _bytes(value: Value) -> bytes:
    assert isinstance(value, bytes)
    return value


def _write_json(value: Value) -> object:
    return json.loads(_text(value))


def _read_tags(value: object) -> str | None:
    return _read_texts(value) if value else None


def _read_texts(value: object) -> str:
    return json.dumps(_texts(value), ensure_ascii=False)


def _read_mapping(value: object) -> str:
    if not isinstance(value, dict):
        raise TypeError
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    text.encode()
    return text


def _code(codes: Codes[T], word: Callable[[str], T], *, is_required: bool = False) -> Field:
    return Field(
        lambda value: codes.value(_whole(value)),
        lambda value: codes.number(word(_text(value))),
        is_required,
    )


TEXT, REQUIRED_TEXT = Field(_same, _text), Field(_same, _text, is_required=True)
WHOLE = Field(_same, _whole, is_required=True)
REAL, REQUIRED_REAL = Field(_same, _real), Field(_same, _real, is_required=True)
TRUTH = Field(bool, _truth, is_required=True)
TIME, REQUIRED_TIME = (
    Field(_write_time, _read_time),
    Field(_write_time, _read_time, is_required=True),
)
ID, REQUIRED_ID = Field(_write_id, _read_id), Field(_write_id, _read_id, is_required=True)
IDS, REQUIRED_IDS = Field(_write_ids, _read_ids), Field(_write_ids, _read_ids, is_required=True)
TAGS = Field(_write_json, _read_tags)
TIERS_FIELD = Field(_write_json, _read_texts, is_required=True)
MAPPING = Field(_write_json, _read_mapping)

KINDS: Mapping[str, Mapping[str, Field]] = {
    "entry": {
        "id": REQUIRED_ID,
        "owner": REQUIRED_TEXT,
        "content": REQUIRED_TEXT,
        "type": _code(TYPES, MemoryType, is_required=True),
        "category": _code(CATEGORIES, Category),
        "tier": _code(TIERS, Tier, is_required=True),
        "content_type": _code(CONTENT_TYPES, ContentType, is_required=True),
        "origin": _code(ORIGINS, Origin, is_required=True),
        "context": TEXT,
        "confidence": REQUIRED_REAL,
        "subject": TEXT,
        "session": TEXT,
        "tags": TAGS,
        "metadata": MAPPING,
        "sources": IDS,
        "importance": REAL,
        "importance_reason": TEXT,
        "surprise": REAL,
        "stability": REAL,
        "difficulty": REAL,
        "reviewed_at": TIME,
        "created_at": REQUIRED_TIME,
        "updated_at": REQUIRED_TIME,
        "access_count": WHOLE,
        "last_accessed_at": TIME,
        "valid_at": TIME,
        "invalid_at": TIME,
        "expires_at": TIME,
        "deleted_at": TIME,
        "learned_at": TIME,
    },
    "key": {"key": REQUIRED_ID, "entry": REQUIRED_ID},
    "message": {
        "owner": REQUIRED_TEXT,
        "conversation": REQUIRED_TEXT,
        "id": REQUIRED_TEXT,
        "subject": TEXT,
        "role": _code(ROLES, str, is_required=True),
        "speaker": TEXT,
        "content": REQUIRED_TEXT,
        "at": REQUIRED_TIME,
        "recalled": IDS,
        "episode": ID,
        "is_left_out": TRUTH,
    },
    "conversation": {"owner": REQUIRED_TEXT, "name": REQUIRED_TEXT, "closed_after": TEXT},
    "link": {
        "owner": REQUIRED_TEXT,
        "source": REQUIRED_ID,
        "target": REQUIRED_ID,
        "relation": REQUIRED_TEXT,
        "created_at": REQUIRED_TIME,
    },
    "grant": {
        "id": REQUIRED_ID,
        "owner": REQUIRED_TEXT,
        "to": REQUIRED_TEXT,
        "access": _code(ACCESSES, Access, is_required=True),
        "tag": TEXT,
        "session": TEXT,
        "created_at": REQUIRED_TIME,
    },
    "decay": {
        "owner": REQUIRED_TEXT,
        "is_enabled": TRUTH,
        "older_than_s": REQUIRED_REAL,
        "below_importance": REQUIRED_REAL,
        "tiers": TIERS_FIELD,
        "last_run_at": TIME,
        "last_deleted": WHOLE,
    },
    "consent": {
        "owner": REQUIRED_TEXT,
        "subject": REQUIRED_TEXT,
        "since": REQUIRED_TIME,
        "refused": IDS,
    },
    "audit": {
        "owner": REQUIRED_TEXT,
        "at": REQUIRED_TIME,
        "action": REQUIRED_TEXT,
        "count": WHOLE,
        "ids": REQUIRED_IDS,
    },
}
"""In the order in which they are written: what a record points to comes before it. `is_left_out`:
a message that no episode is to hold."""
