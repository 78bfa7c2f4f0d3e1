"""Row mapping: memories, messages, ids, times and enumerations as SQLite values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from typing import TYPE_CHECKING, Generic, TypeVar
from uuid import UUID, uuid4, uuid5

from spade_llm.memory.contract import MemoryAccess, MemoryDraft, MemoryEntry, ObservedMessage
from spade_llm.memory.validation import normalize_subject
from spade_llm.search.memory_query import Category, ContentType, MemoryType, Origin, Tier
from spade_llm.search.terms import content_hash, encode_terms

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import SqlRow, SqlValue

T = TypeVar("T")

HALF_LIFE_DAYS = 30.0
"""Half-life of the recency of an unused memory, in days."""

HALF_IMPORTANCE_USES = 5.0
"""Number of accesses that give half of the maximum frequency score."""

KEY_NAMESPACE = UUID("5c2a1c1e-6f0b-5d7a-9f5e-0d6a5f8a3b11")
"""UUID namespace (version 5) of keyed writes: the same owner and key always give the same id."""

MESSAGE_NAMESPACE = UUID("0f1de2a6-52c3-5f0e-8a1b-6a3c1f0e9d42")
"""UUID namespace of messages; their own ids come from other programs."""

ID_BYTES = 16

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
DAY_US = 86_400_000_000

ENTRY_COLUMNS = (
    "entry.seq, entry.id, jid, content, type, category, context, confidence, subject, session,"
    " tier, content_type, tags, metadata, importance, importance_reason, surprise, origin, sources,"
    " created_at, updated_at, access_count, last_accessed_at, expires_at, valid_at, invalid_at"
)
"""Columns for `entry_from_row`, of entry JOIN owner."""

MESSAGE_COLUMNS = "message.id, role, content, at, speaker, recalled"
"""Columns for `message_from_row`."""

FOUND_MESSAGE_COLUMNS = "message.id, role, content, at, speaker, NULL"
"""Columns of a found message, without the ids of the memories it was written with: there are
dozens, and neither search results nor the division into episodes need them."""


class EnumCodes(Generic[T]):
    """Numbers of enumeration values: the position of each, from 1."""

    def __init__(self, values: Sequence[T]) -> None:
        self._values = tuple(values)
        self._numbers = {value: number for number, value in enumerate(values, start=1)}

    def number(self, value: T) -> int:
        return self._numbers[value]

    def number_or_none(self, value: T | None) -> int | None:
        return None if value is None else self._numbers[value]

    def value(self, number: int) -> T:
        return self._values[number - 1]

    def value_or_none(self, number: int | None) -> T | None:
        return None if number is None else self._values[number - 1]


# The numbers are in the files: new values can only be appended.
TYPE_CODES = EnumCodes(
    (MemoryType.SEMANTIC, MemoryType.EPISODIC, MemoryType.PROFILE, MemoryType.PROCEDURAL)
)
CATEGORY_CODES = EnumCodes(
    (Category.FACT, Category.PATTERN, Category.PREFERENCE, Category.CAPABILITY)
)
TIER_CODES = EnumCodes((Tier.SHORT_TERM, Tier.LONG_TERM, Tier.WORKING))
CONTENT_TYPE_CODES = EnumCodes(
    (ContentType.TEXT, ContentType.IMAGE, ContentType.CODE, ContentType.JSON, ContentType.YAML)
)
ORIGIN_CODES = EnumCodes(
    (
        *(Origin.TOLD, Origin.EXTRACTED, Origin.EPISODE, Origin.CONSOLIDATED, Origin.PATTERN),
        Origin.REFLECTION,
    )
)
ROLE_CODES = EnumCodes(("user", "assistant"))
ACCESS_CODES = EnumCodes((MemoryAccess.READ, MemoryAccess.WRITE))


def importance_from_use(access_count: int, idle_days: float) -> float:
    """0…1 in thousandths, the mean of how recently and how often it was used; 0.5 if it is new.

    `idle_days` counts from the last use, or from the beginning if there was none.
    """
    recency: float = 2.0 ** (-max(idle_days, 0.0) / HALF_LIFE_DAYS)
    use = access_count / (access_count + HALF_IMPORTANCE_USES)
    return round((recency + use) / 2, 3)


def new_id(owner: str, key: str | None) -> bytes:
    """Id of an entry: random, or derived from owner and key."""
    return (uuid4() if key is None else uuid5(KEY_NAMESPACE, f"{owner}\0{key}")).bytes


def message_id(owner: str, conversation: str, id: str) -> str:
    """Id of a message in search results: a UUID derived from owner, conversation and message id."""
    name = f"{owner}\0{conversation}\0{id}".encode()
    # Version 5 is defined with SHA-1 (RFC 9562, section 5.5); nothing secret depends on it.
    digest = sha1(MESSAGE_NAMESPACE.bytes + name, usedforsecurity=False).digest()
    # Formatted like `str(uuid5(…))`, in a third of its time: a turn has 16 of them.
    digits, variant = digest[:ID_BYTES].hex(), "89ab"[digest[8] >> 4 & 3]
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def entry_key(seq: int) -> int:
    return seq * 2


def message_key(seq: int) -> int:
    return seq * 2 + 1


def split_keys(keys: Iterable[int]) -> tuple[list[int], list[int]]:
    """Numbers of entries, and numbers of messages."""
    entries: list[int] = []
    messages: list[int] = []
    for key in keys:
        (messages if key & 1 else entries).append(key >> 1)
    return entries, messages


def to_microseconds(at: datetime) -> int:
    # Integers throughout: a float of seconds does not hold every microsecond.
    return (at - EPOCH) // MICROSECOND


def microseconds_or_none(at: datetime | None) -> int | None:
    return None if at is None else to_microseconds(at)


def from_microseconds(microseconds: int) -> datetime:
    return EPOCH + microseconds * MICROSECOND


def entry_row(
    draft: MemoryDraft, *, owner: str, key: str | None, now: int, short_term_ttl_s: float
) -> Mapping[str, SqlValue]:
    """Parameters of an insert, without the owner's number."""
    return {
        "id": new_id(owner, key),
        "is_keyed": key is not None,
        "type": TYPE_CODES.number(draft.effective_type),
        "category": CATEGORY_CODES.number_or_none(draft.category),
        "tier": TIER_CODES.number(draft.tier),
        "content_type": CONTENT_TYPE_CODES.number(draft.content_type),
        "origin": ORIGIN_CODES.number(draft.origin),
        "context": draft.context,
        "confidence": float(draft.confidence),
        "subject": normalize_subject(draft.subject),
        "session": draft.session,
        "metadata": encode_metadata(draft.metadata),
        "sources": pack_ids(draft.sources),
        "importance": draft.importance,
        "surprise": draft.surprise,
        "valid_at": microseconds_or_none(draft.valid_at),
        "expires_at": expiry_time(
            draft.tier, draft.ttl_s, now=now, short_term_ttl_s=short_term_ttl_s
        ),
        "now": now,
        **text_columns(draft.content, draft.context, draft.tags),
    }


def text_columns(content: str, context: str | None, tags: Sequence[str]) -> Mapping[str, SqlValue]:
    """Columns of an entry's text and of its search terms."""
    return {
        "content": content,
        "content_hash": content_hash(content),
        "tags": json.dumps(tags, ensure_ascii=False) if tags else None,
        "terms": encode_terms(content, context, tags),
    }


def expiry_time(
    tier: Tier, ttl_s: float | None, *, now: int, short_term_ttl_s: float
) -> int | None:
    """Expiry time of a memory created now; None: never."""
    if ttl_s is None and tier is Tier.SHORT_TERM:
        ttl_s = short_term_ttl_s
    return None if ttl_s is None else now + round(ttl_s * 1_000_000)


def encode_metadata(metadata: Mapping[str, object]) -> str | None:
    return json.dumps(dict(metadata), ensure_ascii=False) if metadata else None


def pack_ids(ids: Sequence[str]) -> bytes | None:
    return b"".join(UUID(id).bytes for id in ids) or None


def unpack_ids(packed: bytes | None) -> tuple[str, ...]:
    digits = (packed or b"").hex()
    return tuple(
        _format_uuid(digits[at : at + 2 * ID_BYTES]) for at in range(0, len(digits), 2 * ID_BYTES)
    )


def entry_from_row(row: SqlRow, *, now: int) -> MemoryEntry:
    """Entry from ENTRY_COLUMNS."""
    _, id, owner, content, type, category, context, confidence, subject, session = row[:10]
    tier, content_type, tags, metadata, importance, reason, surprise, origin, sources = row[10:19]
    created_at, updated_at, access_count, accessed_at, expires_at, valid_at, invalid_at = row[19:]
    return MemoryEntry(
        id=_format_uuid(id.hex()),
        owner=owner,
        content=content,
        category=CATEGORY_CODES.value_or_none(category),
        type=TYPE_CODES.value(type),
        context=context,
        confidence=float(confidence),
        subject=subject,
        session=session,
        tier=TIER_CODES.value(tier),
        content_type=CONTENT_TYPE_CODES.value(content_type),
        tags=tuple(json.loads(tags)) if tags else (),
        metadata=json.loads(metadata) if metadata else {},
        importance=effective_importance(
            importance, access_count, accessed_at or created_at, now=now
        ),
        is_importance_set=importance is not None,
        importance_reason=reason,
        surprise=surprise,
        origin=ORIGIN_CODES.value(origin),
        sources=unpack_ids(sources),
        created_at=from_microseconds(created_at),
        updated_at=from_microseconds(updated_at),
        access_count=access_count,
        last_accessed_at=_time_or_none(accessed_at),
        expires_at=_time_or_none(expires_at),
        valid_at=_time_or_none(valid_at),
        invalid_at=_time_or_none(invalid_at),
    )


def effective_importance(
    importance: float | None, access_count: int, last_used: int, *, now: int
) -> float:
    """Importance as set, else computed from the accesses."""
    if importance is not None:
        return float(importance)
    return importance_from_use(access_count, (now - last_used) / DAY_US)


def message_from_row(row: SqlRow) -> ObservedMessage:
    """Message from MESSAGE_COLUMNS."""
    id, role, content, at, speaker, recalled = row
    return ObservedMessage(
        id=id,
        role=ROLE_CODES.value(role),
        content=content,
        at=from_microseconds(at),
        speaker=speaker,
        recalled=unpack_ids(recalled),
    )


def message_row(message: ObservedMessage) -> Mapping[str, SqlValue]:
    """Parameters of an insert that come from the message."""
    return {
        "id": message.id,
        "role": ROLE_CODES.number(message.role),
        "speaker": message.speaker,
        "content": message.content,
        "content_hash": content_hash(message.content),
        "terms": encode_terms(message.content, message.speaker),
        "at": to_microseconds(message.at),
        "recalled": pack_ids(message.recalled),
    }


def message_as_entry(
    message: ObservedMessage, *, owner: str, conversation: str, subject: str | None
) -> MemoryEntry:
    """Message in the form of an entry, for search results."""
    return MemoryEntry(
        id=message_id(owner, conversation, message.id),
        owner=owner,
        content=message.content,
        type=MemoryType.EPISODIC,
        tier=Tier.WORKING,
        subject=subject,
        session=conversation,
        metadata={
            "message_id": message.id,
            "role": message.role,
            "speaker": message.speaker,
        },
        origin=Origin.MESSAGE,
        created_at=message.at,
        updated_at=message.at,
    )


def _format_uuid(digits: str) -> str:
    """Format digits like `str(UUID(hex=…))`, ten times faster; a found message may have dozens."""
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _time_or_none(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_microseconds(microseconds)
