"""How much a memory takes. A field beyond its bound is refused by name, before anything is done."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.errors import InvalidArguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.store import MemoryDraft, ObservedMessage

MAX_CONTENT_CHARS = 32 * 1024
MAX_CONTEXT_CHARS = 4 * 1024
MAX_NAME_CHARS = 3 * 1024
"""Subjects, sessions, conversations, keys and message ids; a JID has at most 3071 bytes."""
MAX_TAGS = 32
MAX_TAG_CHARS = 128
MAX_METADATA_CHARS = 16 * 1024
"""As JSON."""
MAX_MESSAGE_CHARS = 128 * 1024
"""What fits into one request; a long message of a person is kept whole."""
MAX_ROWS = 1000
"""Rows of one answer, ids or messages of one request."""
MAX_OFFSET = 2**53


def check_draft(draft: MemoryDraft) -> None:
    """Raises InvalidArguments, naming the field."""
    check_text("content", draft.content, MAX_CONTENT_CHARS)
    if not draft.content.strip():
        raise InvalidArguments("content must not be empty")
    check_optional("context", draft.context, MAX_CONTEXT_CHARS)
    check_optional("subject", draft.subject, MAX_NAME_CHARS)
    check_optional("session", draft.session, MAX_NAME_CHARS)
    _check_confidence(draft.confidence)
    _check_tags(draft.tags)
    _check_metadata(draft.metadata)


def check_messages(messages: Sequence[ObservedMessage]) -> None:
    """Raises InvalidArguments, naming the field."""
    check_number("messages", len(messages), 0, MAX_ROWS)
    for message in messages:
        check_name("id", message.id)
        check_text("content", message.content, MAX_MESSAGE_CHARS)
        if message.role not in ("user", "assistant"):
            raise InvalidArguments(f"role must be 'user' or 'assistant', not {message.role!r}")
        if message.at.tzinfo is None:
            raise InvalidArguments("at must have a time zone")


def check_text(field: str, text: str, max_chars: int) -> None:
    """Raises InvalidArguments if it is too long, or no Unicode text (a lone surrogate)."""
    if len(text) > max_chars:
        raise InvalidArguments(f"{field} must have at most {max_chars} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArguments(f"{field} must be valid Unicode text") from None


def check_optional(field: str, text: str | None, max_chars: int) -> None:
    """Raises InvalidArguments as check_text; None is fine."""
    if text is not None:
        check_text(field, text, max_chars)


def check_name(field: str, text: str) -> None:
    """Raises InvalidArguments if it is empty or too long."""
    check_text(field, text, MAX_NAME_CHARS)
    if not text:
        raise InvalidArguments(f"{field} must not be empty")


def check_number(field: str, number: int, lowest: int, highest: int) -> None:
    """Raises InvalidArguments if it is out of range."""
    if not lowest <= number <= highest:
        raise InvalidArguments(f"{field} must be {lowest} to {highest}, not {number}")


def parsed_ids(ids: Sequence[str]) -> list[bytes]:
    """The ids as they are stored.

    Raises:
        InvalidArguments: too many, or one is not a UUID.
    """
    check_number("ids", len(ids), 0, MAX_ROWS)
    return [_parsed_id(id) for id in ids]


def _parsed_id(id: str) -> bytes:
    try:
        return UUID(id).bytes
    except ValueError:
        raise InvalidArguments(f"ids: {id[:64]!r} is not a UUID") from None


def _check_confidence(confidence: float) -> None:
    if not 0 <= confidence <= 1:
        raise InvalidArguments(f"confidence must be 0.0 to 1.0, not {confidence!r}")


def _check_tags(tags: Sequence[str]) -> None:
    check_number("tags", len(tags), 0, MAX_TAGS)
    for tag in tags:
        check_text("tags", tag, MAX_TAG_CHARS)


def _check_metadata(metadata: Mapping[str, object]) -> None:
    try:
        text = json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise InvalidArguments("metadata must be a JSON object") from None
    check_text("metadata", text, MAX_METADATA_CHARS)
