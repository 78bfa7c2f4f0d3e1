"""Export format of a memory (JSON Lines): fields of each record and their encoding."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.contract import MemoryAccess
from spade_llm.memory.database import rows
from spade_llm.memory.database.connection import SqlValue
from spade_llm.search.memory_query import Category, ContentType, MemoryType, Origin, Tier

T = TypeVar("T")

FORMAT = "spade-llm memory"
VERSION = 1
HEADER = json.dumps({"format": FORMAT, "version": VERSION})

EncodeValue = Callable[[SqlValue], object]
DecodeValue = Callable[[object], SqlValue]


@dataclass(frozen=True, slots=True)
class FieldCodec:
    """Conversion of one field between SQLite and JSON values."""

    write: EncodeValue
    read: DecodeValue
    is_required: bool = False


def encode_record(kind: str, values: Mapping[str, SqlValue]) -> str:
    """Encode one record as a line, without the line end."""
    fields = RECORD_FIELDS[kind]
    written = {
        name: field.write(values[name])
        for name, field in fields.items()
        if values[name] is not None
    }
    return json.dumps({"kind": kind, **written}, ensure_ascii=False, separators=(",", ":"))


def check_header(line: str) -> None:
    """Check the first line. Raises InvalidArguments: it is no export, or one of a newer version."""
    header = _parse_object(line)
    if header.get("format") != FORMAT:
        raise InvalidArguments(f"not a memory export: the first line must be {HEADER}")
    if header.get("version") != VERSION:
        raise InvalidArguments(
            f"version {header.get('version')!r} of the format is unknown here ({VERSION} is"
            " known): use the spade-llm that wrote it"
        )


def decode_record(line: str) -> tuple[str, dict[str, SqlValue]]:
    """Decode a line into the record's kind and all of its fields; None for missing ones. Raises
    InvalidArguments: it is no such record; names the field."""
    found = _parse_object(line)
    kind = found.pop("kind", None)
    if not isinstance(kind, str) or kind not in RECORD_FIELDS:
        raise InvalidArguments(f"kind: {str(kind)[:40]!r} is none of {', '.join(RECORD_FIELDS)}")
    fields = RECORD_FIELDS[kind]
    if unknown := found.keys() - fields:
        raise InvalidArguments(f"{min(unknown)[:40]}: {kind} has no such field")
    return kind, {
        name: _decode_field(name, field, found.get(name)) for name, field in fields.items()
    }


def read_tags(value: SqlValue) -> Sequence[str]:
    """The tags in a record's field."""
    return json.loads(value) if isinstance(value, str) else ()


def _parse_object(line: str) -> dict[str, object]:
    try:
        line.encode()
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidArguments("it is not a JSON object")
    return found


def _decode_field(name: str, field: FieldCodec, value: object) -> SqlValue:
    if value is None:
        if field.is_required:
            raise InvalidArguments(f"{name}: missing")
        return None
    try:
        return field.read(value)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise InvalidArguments(f"{name}: {str(value)[:40]!r} is not a valid value") from None


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    # JSON can escape a lone surrogate, which SQLite's binding refuses.
    value.encode()
    return value


def _read_integer(value: object) -> int:
    # bool is a subclass of int, and SQLite's integers have 64 bits.
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**63:
        raise TypeError
    return value


def _read_real(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError
    return float(value)


def _read_boolean(value: object) -> int:
    if not isinstance(value, bool):
        raise TypeError
    return int(value)


def _read_time(value: object) -> int:
    at = datetime.fromisoformat(_read_text(value))
    return rows.to_microseconds(at if at.tzinfo else at.replace(tzinfo=UTC))


def _read_text_list(value: object) -> Sequence[str]:
    if not isinstance(value, list):
        raise TypeError
    return [_read_text(one) for one in value]


def _uuid_bytes(value: SqlValue) -> bytes:
    assert isinstance(value, bytes)
    return value


def _write_json(value: SqlValue) -> object:
    return json.loads(_read_text(value))


def _read_texts(value: object) -> str:
    return json.dumps(_read_text_list(value), ensure_ascii=False)


def _read_mapping(value: object) -> str:
    if not isinstance(value, dict):
        raise TypeError
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    text.encode()
    return text


def _code_field(
    codes: rows.EnumCodes[T], word: Callable[[str], T], *, is_required: bool = False
) -> FieldCodec:
    return FieldCodec(
        lambda value: codes.value(_read_integer(value)),
        lambda value: codes.number(word(_read_text(value))),
        is_required,
    )


TEXT = FieldCodec(lambda value: value, _read_text)
INTEGER = FieldCodec(lambda value: value, _read_integer, is_required=True)
REAL = FieldCodec(lambda value: value, _read_real)
BOOLEAN = FieldCodec(bool, _read_boolean, is_required=True)
TIME = FieldCodec(
    lambda value: rows.from_microseconds(_read_integer(value)).isoformat(), _read_time
)
ID = FieldCodec(
    lambda value: rows.unpack_ids(_uuid_bytes(value))[0],
    lambda value: UUID(_read_text(value)).bytes,
)
IDS = FieldCodec(
    lambda value: list(rows.unpack_ids(_uuid_bytes(value))),
    lambda value: rows.pack_ids(_read_text_list(value)) or b"",
)
TAGS = FieldCodec(_write_json, lambda value: _read_texts(value) if value else None)
TIERS_FIELD = FieldCodec(_write_json, _read_texts, is_required=True)
MAPPING = FieldCodec(_write_json, _read_mapping)
REQUIRED_TEXT, REQUIRED_REAL, REQUIRED_TIME, REQUIRED_ID, REQUIRED_IDS = (
    replace(codec, is_required=True) for codec in (TEXT, REAL, TIME, ID, IDS)
)

RECORD_FIELDS: Mapping[str, Mapping[str, FieldCodec]] = {
    "entry": {
        "id": REQUIRED_ID,
        "owner": REQUIRED_TEXT,
        "content": REQUIRED_TEXT,
        "type": _code_field(rows.TYPE_CODES, MemoryType, is_required=True),
        "category": _code_field(rows.CATEGORY_CODES, Category),
        "tier": _code_field(rows.TIER_CODES, Tier, is_required=True),
        "content_type": _code_field(rows.CONTENT_TYPE_CODES, ContentType, is_required=True),
        "origin": _code_field(rows.ORIGIN_CODES, Origin, is_required=True),
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
        "access_count": INTEGER,
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
        "role": _code_field(rows.ROLE_CODES, str, is_required=True),
        "speaker": TEXT,
        "content": REQUIRED_TEXT,
        "at": REQUIRED_TIME,
        "recalled": IDS,
        "episode": ID,
        "is_left_out": BOOLEAN,
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
        "access": _code_field(rows.ACCESS_CODES, MemoryAccess, is_required=True),
        "tag": TEXT,
        "session": TEXT,
        "created_at": REQUIRED_TIME,
    },
    "decay": {
        "owner": REQUIRED_TEXT,
        "is_enabled": BOOLEAN,
        "older_than_s": REQUIRED_REAL,
        "below_importance": REQUIRED_REAL,
        "tiers": TIERS_FIELD,
        "last_run_at": TIME,
        "last_deleted": INTEGER,
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
        "count": INTEGER,
        "ids": REQUIRED_IDS,
    },
}
"""Fields of each kind of record, in the order of writing: a record comes after those that it refers
to. `is_left_out`: a message that no episode may contain."""
