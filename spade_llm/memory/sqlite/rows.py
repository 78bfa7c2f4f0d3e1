"""A memory as a row, and back. Knows no statement and no connection."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from typing import TYPE_CHECKING
from uuid import UUID, uuid4, uuid5

from spade_llm.memory.sqlite.codes import CATEGORIES, CONTENT_TYPES, ORIGINS, ROLES, TIERS, TYPES
from spade_llm.memory.sqlite.importance import importance_of_use
from spade_llm.memory.store import (
    MemoryEntry,
    MemoryType,
    ObservedMessage,
    Origin,
    Tier,
)
from spade_llm.memory.subject import known_as
from spade_llm.text.terms import content_hash, encode_terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.sqlite.transaction import Row, Value
    from spade_llm.memory.store import MemoryDraft

KEY_NAMESPACE = UUID("5c2a1c1e-6f0b-5d7a-9f5e-0d6a5f8a3b11")
"""Ids of keyed writes are uuid5 of it: the same owner and key give the same id for ever."""

MESSAGE_NAMESPACE = UUID("0f1de2a6-52c3-5f0e-8a1b-6a3c1f0e9d42")
"""Of messages, which have ids of others."""

ID_BYTES = 16

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
DAY = 86_400_000_000

ENTRY_COLUMNS = (
    "entry.seq, entry.id, jid, content, type, category, context, confidence, subject, session,"
    " tier, content_type, tags, metadata, importance, importance_reason, surprise, origin, sources,"
    " created_at, updated_at, access_count, last_accessed_at, expires_at, valid_at, invalid_at"
)
"""What `entry_from_row` reads, of entry JOIN owner."""

MESSAGE_COLUMNS = "message.id, role, content, at, speaker, recalled"
"""What `message_from_row` reads."""

FOUND_MESSAGE_COLUMNS = "message.id, role, content, at, speaker, NULL"
"""The same of one that was found: what it was written with, dozens of ids, nobody asks for."""


def new_id(owner: str, key: str | None) -> bytes:
    """The entry's id: random, or decided by owner and key."""
    return (uuid4() if key is None else uuid5(KEY_NAMESPACE, f"{owner}\0{key}")).bytes


def message_id(owner: str, conversation: str, id: str) -> str:
    """What a message is called where it is found among memories."""
    name = f"{owner}\0{conversation}\0{id}".encode()
    return _version_5(sha1(MESSAGE_NAMESPACE.bytes + name, usedforsecurity=False).digest())


def _version_5(digest: bytes) -> str:
    """As `str(uuid5(…))`, a third of its time: 16 for each turn."""
    digits = digest[:ID_BYTES].hex()
    variant = "89ab"[digest[8] >> 4 & 3]
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def entry_key(seq: int) -> int:
    return seq * 2


def message_key(seq: int) -> int:
    return seq * 2 + 1


def to_microseconds(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND


def microseconds_or_none(at: datetime | None) -> int | None:
    return None if at is None else to_microseconds(at)


def from_microseconds(microseconds: int) -> datetime:
    return EPOCH + microseconds * MICROSECOND


def entry_row(
    draft: MemoryDraft, *, owner: str, key: str | None, now: int, short_term_ttl_s: float
) -> Mapping[str, Value]:
    """The parameters of an insert, without the owner's number."""
    return {
        "id": new_id(owner, key),
        "is_keyed": key is not None,
        "type": TYPES.number(draft.effective_type),
        "category": CATEGORIES.number_or_none(draft.category),
        "tier": TIERS.number(draft.tier),
        "content_type": CONTENT_TYPES.number(draft.content_type),
        "origin": ORIGINS.number(draft.origin),
        "context": draft.context,
        "confidence": float(draft.confidence),
        "subject": known_as(draft.subject),
        "session": draft.session,
        "metadata": json_or_none(draft.metadata),
        "sources": packed_ids(draft.sources),
        "importance": draft.importance,
        "surprise": draft.surprise,
        "valid_at": microseconds_or_none(draft.valid_at),
        "expires_at": expiry(draft.tier, draft.ttl_s, now=now, short_term_ttl_s=short_term_ttl_s),
        "now": now,
        **text_columns(draft.content, draft.context, draft.tags),
    }


def text_columns(content: str, context: str | None, tags: Sequence[str]) -> Mapping[str, Value]:
    """The text of an entry, and what it is found by."""
    return {
        "content": content,
        "content_hash": content_hash(content),
        "tags": json.dumps(tags, ensure_ascii=False) if tags else None,
        "terms": encode_terms(content, context, tags),
    }


def expiry(tier: Tier, ttl_s: float | None, *, now: int, short_term_ttl_s: float) -> int | None:
    """When a memory that begins now expires."""
    if ttl_s is None and tier is Tier.SHORT_TERM:
        ttl_s = short_term_ttl_s
    return None if ttl_s is None else now + round(ttl_s * 1_000_000)


def json_or_none(metadata: Mapping[str, object]) -> str | None:
    return json.dumps(dict(metadata), ensure_ascii=False) if metadata else None


def packed_ids(ids: Sequence[str]) -> bytes | None:
    return b"".join(UUID(id).bytes for id in ids) or None


def unpacked_ids(packed: bytes | None) -> tuple[str, ...]:
    digits = (packed or b"").hex()
    return tuple(
        _id_of(digits[at : at + 2 * ID_BYTES]) for at in range(0, len(digits), 2 * ID_BYTES)
    )


def _id_of(digits: str) -> str:
    """As `str(UUID(hex=…))`, ten times as fast: each message that is found may have dozens."""
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def entry_from_row(row: Row, *, now: int) -> MemoryEntry:
    """The entry in ENTRY_COLUMNS."""
    _, id, owner, content, type, category, context, confidence, subject, session = row[:10]
    tier, content_type, tags, metadata, importance, reason, surprise, origin, sources = row[10:19]
    created_at, updated_at, access_count, accessed_at, expires_at, valid_at, invalid_at = row[19:]
    return MemoryEntry(
        id=_id_of(id.hex()),
        owner=owner,
        content=content,
        category=CATEGORIES.value_or_none(category),
        type=TYPES.value(type),
        context=context,
        confidence=float(confidence),
        subject=subject,
        session=session,
        tier=TIERS.value(tier),
        content_type=CONTENT_TYPES.value(content_type),
        tags=tuple(json.loads(tags)) if tags else (),
        metadata=json.loads(metadata) if metadata else {},
        importance=effective_importance(
            importance, access_count, accessed_at or created_at, now=now
        ),
        is_importance_set=importance is not None,
        importance_reason=reason,
        surprise=surprise,
        origin=ORIGINS.value(origin),
        sources=unpacked_ids(sources),
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
    """As it was set, else from its use."""
    if importance is not None:
        return float(importance)
    return importance_of_use(access_count, (now - last_used) / DAY)


def message_from_row(row: Row) -> ObservedMessage:
    """The message in MESSAGE_COLUMNS."""
    id, role, content, at, speaker, recalled = row
    return ObservedMessage(
        id=id,
        role=ROLES.value(role),
        content=content,
        at=from_microseconds(at),
        speaker=speaker,
        recalled=unpacked_ids(recalled),
    )


def message_row(message: ObservedMessage) -> Mapping[str, Value]:
    """The message's part of the parameters of an insert."""
    return {
        "id": message.id,
        "role": ROLES.number(message.role),
        "speaker": message.speaker,
        "content": message.content,
        "content_hash": content_hash(message.content),
        "terms": encode_terms(message.content, message.speaker),
        "at": to_microseconds(message.at),
        "recalled": packed_ids(message.recalled),
    }


def message_as_entry(
    message: ObservedMessage, *, owner: str, conversation: str, subject: str | None
) -> MemoryEntry:
    """A message that was found among memories."""
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


def _time_or_none(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_microseconds(microseconds)
