"""Validation of memory fields: size limits, ids, times; normalized subjects."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.core.errors import InvalidArguments

if TYPE_CHECKING:
    from spade_llm.memory.contract import DecayPolicy, MemoryChange, MemoryDraft, ObservedMessage
    from spade_llm.search.memory_query import MemoryFilter, MemoryQuery

MAX_CONTENT_CHARS = 32 * 1024
MAX_CONTEXT_CHARS = 4 * 1024
MAX_NAME_CHARS = 3 * 1024
"""Maximum length of subjects, sessions, conversations, keys and message ids; a JID has at most 3071
bytes."""
MAX_TAGS = 32
MAX_TAG_CHARS = 128
MAX_METADATA_CHARS = 16 * 1024
"""Maximum length of metadata as JSON, in characters."""
MAX_ENTRY_BYTES = 100 * 1024
"""Maximum size of an entry as JSON, in bytes, so that every stored entry fits into one response."""
MAX_MESSAGE_CHARS = 128 * 1024
"""Maximum length of a message in characters: fits into one request, and keeps long messages whole.
"""
MAX_SOURCES = 64
"""Maximum number of sources of an entry, and of memories that a message was written with."""
MAX_ROWS = 1000
"""Maximum number of rows in one answer, and of items in one request."""
MAX_OFFSET = 2**53
MAX_TTL_S = 100 * 366 * 86_400.0
MAX_REASON_CHARS = 1024
MAX_QUERY_CHARS = 32 * 1024
MAX_RELATION_CHARS = 128

ROOM_SEPARATOR = " in "
"""Separator between a person's JID and the room's JID in a subject."""
JID_PATTERN = re.compile(r"([^@/\s]+@[^@/\s]+)(/.*)?", re.DOTALL)


def check_draft(draft: MemoryDraft) -> None:
    """Check a draft. Raises InvalidArguments, naming the field."""
    check_content(draft.content)
    check_optional("context", draft.context, MAX_CONTEXT_CHARS)
    check_optional("subject", draft.subject, MAX_NAME_CHARS)
    check_optional("session", draft.session, MAX_NAME_CHARS)
    check_fraction("confidence", draft.confidence)
    check_fraction("importance", draft.importance)
    check_fraction("surprise", draft.surprise)
    check_seconds("ttl_s", draft.ttl_s)
    check_time("valid_at", draft.valid_at)
    check_sources("sources", draft.sources)
    _check_tags(draft.tags)
    check_metadata(draft.metadata)
    names = (draft.subject or "", draft.session or "")
    check_entry_size(draft.content, draft.context, draft.tags, draft.metadata, names)


def check_change(change: MemoryChange) -> None:
    """Check a change. Raises InvalidArguments, naming the field."""
    parse_id(change.id)
    if change.content is not None:
        check_content(change.content)
    check_optional("context", change.context, MAX_CONTEXT_CHARS)
    check_fraction("confidence", change.confidence)
    check_time("invalid_at", change.invalid_at)
    _check_tags(change.tags or ())
    check_metadata(change.metadata or {})


def check_filter(which: MemoryFilter) -> None:
    """Check a filter. Raises InvalidArguments, naming the field."""
    check_optional("of", which.of, MAX_NAME_CHARS)
    check_optional("subject", which.subject, MAX_NAME_CHARS)
    check_optional("session", which.session, MAX_NAME_CHARS)
    _check_tags(which.tags)
    check_time("created_after", which.created_after)
    check_time("created_before", which.created_before)
    check_time("as_of", which.as_of)


def check_query(query: MemoryQuery) -> None:
    """Check a query. Raises InvalidArguments, naming the field."""
    check_filter(query.which)
    check_number("limit", query.limit, 1, MAX_ROWS)
    check_text("text", query.text, MAX_QUERY_CHARS)
    check_fraction("min_score", query.min_score)
    check_fraction("keyword_weight", query.keyword_weight)
    check_fraction("importance_weight", query.importance_weight)
    check_fraction("recency_weight", query.recency_weight)


def check_policy(policy: DecayPolicy) -> None:
    """Check a decay policy. Raises InvalidArguments, naming the field."""
    check_seconds("older_than_s", policy.older_than_s)
    check_fraction("below_importance", policy.below_importance)


def check_messages(messages: Sequence[ObservedMessage]) -> None:
    """Check messages. Raises InvalidArguments, naming the field."""
    check_number("messages", len(messages), 0, MAX_ROWS)
    for message in messages:
        check_name("id", message.id)
        check_text("content", message.content, MAX_MESSAGE_CHARS)
        check_optional("speaker", message.speaker, MAX_NAME_CHARS)
        check_sources("recalled", message.recalled)
        check_time("at", message.at)
        if message.role not in ("user", "assistant"):
            raise InvalidArguments(f"role must be 'user' or 'assistant', not {message.role!r}")


def check_content(content: str) -> None:
    """Check that there is content, and not too much. Raises InvalidArguments."""
    check_text("content", content, MAX_CONTENT_CHARS)
    if not content.strip():
        raise InvalidArguments("content must not be empty")


def check_text(field: str, text: str, max_chars: int) -> None:
    """Check length and valid Unicode (no lone surrogate). Raises InvalidArguments."""
    if len(text) > max_chars:
        raise InvalidArguments(f"{field} must have at most {max_chars} characters")
    try:
        # SQLite's binding refuses lone surrogates: here it is one bad request, there a failed
        # write.
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArguments(f"{field} must be valid Unicode text") from None


def check_optional(field: str, text: str | None, max_chars: int) -> None:
    """Check a text like check_text; None is valid."""
    if text is not None:
        check_text(field, text, max_chars)


def check_name(field: str, text: str) -> None:
    """Check that a name is neither empty nor too long. Raises InvalidArguments."""
    check_text(field, text, MAX_NAME_CHARS)
    if not text:
        raise InvalidArguments(f"{field} must not be empty")


def check_number(field: str, number: int, lowest: int, highest: int) -> None:
    """Check a range. Raises InvalidArguments."""
    if not lowest <= number <= highest:
        raise InvalidArguments(f"{field} must be {lowest} to {highest}, not {number}")


def check_fraction(field: str, number: float | None) -> None:
    """Check that a number is 0…1; None is valid. Raises InvalidArguments."""
    if number is not None and not 0 <= number <= 1:
        raise InvalidArguments(f"{field} must be 0.0 to 1.0, not {number!r}")


def check_seconds(field: str, seconds: float | None) -> None:
    """Check a non-negative duration; None is valid. Raises InvalidArguments."""
    if seconds is not None and not (math.isfinite(seconds) and 0 <= seconds <= MAX_TTL_S):
        raise InvalidArguments(f"{field} must be 0 to {MAX_TTL_S:.0f} seconds, not {seconds!r}")


def check_time(field: str, at: datetime | None) -> None:
    """Check a time: UTC offset, year 1 to 9999 in UTC; None is valid. Raises InvalidArguments."""
    if at is None:
        return
    if at.utcoffset() is None:
        raise InvalidArguments(f"{field} must have a time zone (an offset from UTC)")
    try:
        # At the ends of the calendar the offset leads beyond what datetime can hold.
        at.astimezone(UTC)
    except OverflowError:
        raise InvalidArguments(f"{field} must be within the years 1 to 9999 of UTC") from None


def check_sources(field: str, ids: Sequence[str]) -> None:
    """Check the number and form (UUID) of source ids. Raises InvalidArguments."""
    if len(ids) > MAX_SOURCES:
        raise InvalidArguments(f"{field} must be at most {MAX_SOURCES} ids")
    for id in ids:
        parse_id(id, field)


def check_metadata(metadata: Mapping[str, object]) -> None:
    """Check that metadata is JSON, and not too large. Raises InvalidArguments."""
    try:
        # NaN and Infinity are no JSON (RFC 8259, section 6), although Python writes them.
        text = json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidArguments("metadata must be a JSON object") from None
    check_text("metadata", text, MAX_METADATA_CHARS)


def check_entry_size(
    content: str,
    context: str | None,
    tags: Sequence[str],
    metadata: Mapping[str, object],
    names: Sequence[str] = (),
) -> None:
    """Check that all texts of an entry fit into one message together. Raises InvalidArguments."""
    parts = [content, context or "", list(tags), dict(metadata), *names]
    if len(json.dumps(parts, ensure_ascii=False).encode()) > MAX_ENTRY_BYTES:
        raise InvalidArguments(
            f"content, context, tags and metadata have over {MAX_ENTRY_BYTES} bytes together:"
            " shorten them"
        )


def check_relation(relation: str) -> None:
    """Check that a relation is neither empty nor too long. Raises InvalidArguments."""
    check_text("relation", relation, MAX_RELATION_CHARS)
    if not relation.strip():
        raise InvalidArguments("relation must not be empty")


def check_grantee(to: str, *, owner: str) -> None:
    """Check that a grantee is a bare JID or domain, not the owner. Raises InvalidArguments."""
    check_name("to", to)
    name, at, domain = to.rpartition("@")
    # Nothing that looks like a pattern: a grant is to exactly one bare JID or domain.
    if not domain or (at and not name) or any(char in "/*% \t\n" for char in to):
        raise InvalidArguments(f"to must be a bare JID or a domain, not {to[:64]!r}")
    if to.lower() == owner.lower():
        raise InvalidArguments("to must not be the owner, which needs no grant")


def parse_ids(ids: Sequence[str]) -> list[bytes]:
    """Parse ids into the form in which they are stored.

    Raises:
        InvalidArguments: too many, or one is not a UUID.
    """
    check_number("ids", len(ids), 0, MAX_ROWS)
    return [parse_id(id, "ids") for id in ids]


def parse_id(id: str, field: str = "id") -> bytes:
    """Parse an id into the form in which it is stored. Raises InvalidArguments."""
    try:
        return UUID(id).bytes
    except ValueError:
        raise InvalidArguments(f"{field}: {id[:64]!r} is not a UUID") from None


def normalize_subject(subject: str | None) -> str | None:
    """Bare JID in lower case (`Ada@Home/phone` is `ada@home`); other texts stay as they are."""
    found = JID_PATTERN.fullmatch(subject or "")
    return found[1].lower() if found else subject


def room_subject_range(subject: str) -> tuple[str, str]:
    """Range of a person's subjects in all rooms (start, exclusive end). They are separate from the
    person's private subject, so that a room never finds private memories."""
    # The separator ends with a space, and "!" is the character after it.
    return subject + ROOM_SEPARATOR, subject + ROOM_SEPARATOR[:-1] + "!"


def _check_tags(tags: Sequence[str]) -> None:
    check_number("tags", len(tags), 0, MAX_TAGS)
    for tag in tags:
        check_text("tags", tag, MAX_TAG_CHARS)
