"""Records of imported files: target of an import, fields of entries and messages, faults."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from uuid import UUID

from pydantic import ValidationError

from spade_llm.core.errors import InvalidArguments
from spade_llm.core.text import validation_problems
from spade_llm.memory import validation
from spade_llm.memory.contract import MemoryDraft, ObservedMessage
from spade_llm.memory.database.rows import new_id
from spade_llm.memory.validation import normalize_subject
from spade_llm.search.memory_query import Category, Tier

MAX_METADATA_BYTES = 8 * 1024
"""Maximum size of metadata taken over from another program; the rest is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportTarget:
    """Owner and subject of the imported memories."""

    owner: str | None = None
    """Owner of the memories. None: the agent that the file names (only files of spade_llm)."""
    subject: str | None = None
    file_time: datetime = field(default_factory=lambda: datetime.now(UTC))
    """Date of records without one: the file's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRecord:
    """A record of an imported file: with `fields`, or the reason why it has none."""

    name: str
    """Location in the file, for messages."""
    fields: Mapping[str, object] = field(default_factory=dict)
    """A record of the export (memory/transfer/json_lines.py)."""
    fault: str = ""
    """Error in the record."""
    omitted: str = ""
    """Kind of a record that is not imported on purpose, in the singular: `tool message`."""
    person: str = ""
    """Id of the person in the other program. Empty: its file names none."""


def read_record(name: str, read: Callable[[], Mapping[str, object]]) -> ImportedRecord:
    """Call `read`; its InvalidArguments or ValidationError becomes the fault of the record."""
    try:
        return ImportedRecord(name=name, fields=read())
    except (InvalidArguments, ValidationError) as error:
        return fault_record(name, error)


def entry_fields(
    draft: MemoryDraft,
    *,
    owner: str,
    key: str,
    created_at: datetime,
    updated_at: datetime | None = None,
    expires_at: datetime | None = None,
) -> Mapping[str, object]:
    """Fields of an entry record; owner and key determine the id. Raises InvalidArguments."""
    validation.check_draft(draft)
    fields: dict[str, object] = {
        "kind": "entry",
        "id": str(UUID(bytes=new_id(owner, key))),
        "owner": owner,
        "content": draft.content,
        "type": draft.effective_type,
        "category": draft.category,
        "tier": Tier.LONG_TERM,
        "content_type": draft.content_type,
        "origin": draft.origin,
        "context": draft.context,
        "confidence": draft.confidence,
        "subject": normalize_subject(draft.subject),
        "session": draft.session,
        "tags": list(draft.tags),
        "created_at": created_at.isoformat(),
        "updated_at": max(created_at, updated_at or created_at).isoformat(),
        "access_count": 0,
    }
    if draft.metadata:
        fields["metadata"] = dict(draft.metadata)
    if expires_at is not None:
        fields["expires_at"] = expires_at.isoformat()
    return fields


def message_fields(
    message: ObservedMessage, *, owner: str, conversation: str, subject: str | None
) -> Mapping[str, object]:
    """Fields of a message record. Raises InvalidArguments."""
    validation.check_messages([message])
    validation.check_name("conversation", conversation)
    if not message.content.strip():
        raise InvalidArguments("content must not be empty")
    return {
        "kind": "message",
        "owner": owner,
        "conversation": conversation,
        "id": message.id,
        "subject": normalize_subject(subject),
        "role": message.role,
        "content": message.content,
        "at": message.at.isoformat(),
        "is_left_out": False,
    }


def parse_time(name: str, value: object) -> datetime | None:
    """Parse a time: ISO 8601 (UTC if it has no offset), or seconds, milliseconds, microseconds or
    nanoseconds since 1970; None and "" are none. Raises InvalidArguments, naming the field."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            at = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            at = datetime.fromtimestamp(_seconds(value), UTC)
        else:
            raise TypeError
    except (TypeError, ValueError, OverflowError, OSError):
        raise InvalidArguments(f"{name}: {str(value)[:40]!r} is not a date and time") from None
    if at.timestamp() <= 0:
        raise InvalidArguments(f"{name}: {str(value)[:40]!r} is not after 1970")
    return at


def _seconds(value: float) -> float:
    """Seconds of a number in any of the usual units: today has 10 digits in seconds."""
    if not math.isfinite(value):
        raise ValueError
    for unit in (1e9, 1e6, 1e3):
        if abs(value) >= 1e8 * unit:
            return value / unit
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceId:
    """Origin of a record: the same program and id lead to the same entry at each import."""

    program: str
    id: str


def fact_record(
    name: str,
    source: SourceId,
    target: ImportTarget,
    content: str,
    *,
    category: Category = Category.FACT,
    context: str | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, object] | None = None,
    created_at: datetime | None = None,
    updated_at: datetime | None = None,
    expires_at: datetime | None = None,
    is_about_agent: bool = False,
) -> ImportedRecord:
    """Record of a memory of another program.

    Tagged with the program. `is_about_agent`: about the agent itself, not the person.
    """
    subject = None if is_about_agent else target.subject
    all_tags = dict.fromkeys((source.program, *tags))
    bounded = (tag for tag in all_tags if 0 < len(tag) <= validation.MAX_TAG_CHARS)

    def read() -> Mapping[str, object]:
        draft = MemoryDraft(
            content=content,
            category=category,
            context=context,
            subject=subject,
            tags=tuple(islice(bounded, validation.MAX_TAGS)),
            metadata={
                "imported_from": source.program,
                "source_id": source.id,
                **_bounded_metadata(metadata or {}),
            },
        )
        return entry_fields(
            draft,
            owner=target.owner or "",
            key=f"{source.program}\0{source.id}\0{normalize_subject(subject)}",
            created_at=created_at or updated_at or target.file_time,
            updated_at=updated_at,
            expires_at=expires_at,
        )

    return read_record(name, read)


def message_record(
    name: str,
    source: SourceId,
    target: ImportTarget,
    *,
    id: str,
    role: object,
    content: object,
    at: object,
) -> ImportedRecord:
    """Record of a message of the conversation `source`; messages of tools and systems are
    omitted."""
    if role not in ("user", "assistant"):
        kind = "tool message" if role == "tool" else "system message"
        return ImportedRecord(name=name, omitted=kind)
    if not isinstance(content, str):
        return ImportedRecord(name=name, fault="content: it is not a text")
    if not content.strip():
        return ImportedRecord(name=name, omitted="empty message")

    def read() -> Mapping[str, object]:
        return message_fields(
            ObservedMessage(
                id=id,
                role=str(role),
                content=content,
                at=parse_time("date", at) or target.file_time,
            ),
            owner=target.owner or "",
            conversation=f"{source.program}:{source.id}",
            subject=target.subject,
        )

    return read_record(name, read)


def fault_record(name: str, error: ValidationError | InvalidArguments) -> ImportedRecord:
    """Record that could not be read: the first invalid field, and the reason."""
    if isinstance(error, InvalidArguments):
        return ImportedRecord(name=name, fault=str(error))
    return ImportedRecord(name=name, fault=validation_problems(error, whole="it", most=1))


def content_digest(*parts: str) -> str:
    """Id for a record that has none in its program, from its content."""
    text = "\0".join(parts)
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def _bounded_metadata(metadata: Mapping[str, object]) -> Mapping[str, object]:
    """The values that are JSON, up to MAX_METADATA_BYTES together."""
    kept: dict[str, object] = {}
    size = 0
    for key, value in metadata.items():
        try:
            size += len(json.dumps({key: value}, ensure_ascii=False, allow_nan=False).encode())
        except (TypeError, ValueError, RecursionError):
            continue
        if value in (None, "", [], {}) or size > MAX_METADATA_BYTES:
            continue
        kept[key] = value
    return kept
