"""A memory as a row, and back. Knows no statement and no connection."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4, uuid5

from spade_llm.memory.store import TYPE_OF_CATEGORY, Category, MemoryEntry, ObservedMessage, Tier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.memory.store import MemoryDraft

Value = str | int | float | bytes | None
Row = tuple[Any, ...]
"""SQLite's values; the columns' types are promised by the STRICT tables."""

KEY_NAMESPACE = UUID("5c2a1c1e-6f0b-5d7a-9f5e-0d6a5f8a3b11")
"""Ids of keyed writes are uuid5 of it: the same owner and key give the same id for ever."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def new_id(owner: str, key: str | None) -> bytes:
    """The entry's id: random, or decided by owner and key."""
    return (uuid4() if key is None else uuid5(KEY_NAMESPACE, f"{owner}\0{key}")).bytes


def digest(*parts: str | None) -> bytes:
    """128 bits that tell these parts from any others."""
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).digest()


def to_microseconds(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND


def from_microseconds(microseconds: int) -> datetime:
    return EPOCH + microseconds * MICROSECOND


def entry_row(draft: MemoryDraft, *, id: bytes, owner: str, now: datetime) -> Mapping[str, Value]:
    """The parameters of ADD."""
    return {
        "id": id,
        "owner": owner,
        "subject": draft.subject,
        "session": draft.session,
        "type": TYPE_OF_CATEGORY[draft.category].value,
        "category": draft.category.value,
        "tier": draft.tier.value,
        "content": draft.content,
        "content_hash": digest(draft.content),
        "merge_key": digest(owner, draft.subject, draft.category.value, draft.content),
        "context": draft.context,
        "tags": json.dumps(draft.tags, ensure_ascii=False),
        "metadata": json.dumps(dict(draft.metadata), ensure_ascii=False),
        "confidence": float(draft.confidence),
        "now": to_microseconds(now),
    }


def entry_from_row(row: Row) -> MemoryEntry:
    """The entry in ENTRY_COLUMNS."""
    id, owner, content, category, context, confidence, subject, session, tier, tags = row[:10]
    metadata, created_at, updated_at, access_count, last_accessed_at = row[10:]
    return MemoryEntry(
        id=str(UUID(bytes=id)),
        owner=owner,
        content=content,
        category=Category(category),
        context=context,
        confidence=float(confidence),
        subject=subject,
        session=session,
        tier=Tier(tier),
        tags=tuple(json.loads(tags)),
        metadata=json.loads(metadata),
        created_at=from_microseconds(created_at),
        updated_at=from_microseconds(updated_at),
        access_count=access_count,
        last_accessed_at=None if last_accessed_at is None else from_microseconds(last_accessed_at),
    )


def message_from_row(row: Row) -> ObservedMessage:
    """The message in the columns of HISTORY."""
    id, role, content, at = row
    return ObservedMessage(id=id, role=role, content=content, at=from_microseconds(at))


def message_row(message: ObservedMessage) -> Mapping[str, Value]:
    """The message's part of the parameters of OBSERVE."""
    return {
        "id": message.id,
        "role": message.role,
        "content": message.content,
        "at": to_microseconds(message.at),
    }
