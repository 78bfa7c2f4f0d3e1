"""What the entry tools answer: objects of entries, dates and errors. Pure.

An error says what to change, or that the memory is away, and nothing of what is behind it.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from spade_llm.errors import (
    Busy,
    InvalidArguments,
    ModelError,
    NotFound,
    RequestError,
    ServiceError,
    StorageFailed,
    Unauthorised,
)

if TYPE_CHECKING:
    from datetime import datetime

    from spade_llm.memory.store import Found, MemoryEntry, ScoredMemory

VALIDATION, NOT_FOUND = "ValidationError", "NotFoundError"

_TYPE_OF_CODE = {
    InvalidArguments.code: VALIDATION,
    NotFound.code: NOT_FOUND,
    Busy.code: "BusyError",
    StorageFailed.code: "StorageError",
    Unauthorised.code: "PermissionError",
}
UNAVAILABLE = "UnavailableError"
MODEL = "ModelError"

_MESSAGE_OF_TYPE = {
    "BusyError": "the memory has too much to do now; try again in a moment",
    "StorageError": "the memory could not read or write its storage",
    "PermissionError": "the memory does not allow this",
    UNAVAILABLE: "the memory is not available now",
    MODEL: "no summary came from the model; summary_strategy 'extractive' needs none",
}


def error_object(error: ServiceError | RequestError | ModelError) -> dict[str, object]:
    code = error.wire_code if isinstance(error, RequestError) else error.code
    detail = error.detail if isinstance(error, RequestError) else str(error)
    kind = MODEL if isinstance(error, ModelError) else error_type(code)
    return {"error": True, "error_type": kind, "message": message_of(kind, detail)}


def error_type(code: str) -> str:
    """Of a wire code; one that we don't know means that the memory can't be asked now."""
    return _TYPE_OF_CODE.get(code, UNAVAILABLE)


def message_of(kind: str, detail: str) -> str:
    """The memory's own words where they are about the arguments; else ours."""
    return _MESSAGE_OF_TYPE.get(kind, detail)


def no_memory(id: str) -> str:
    """The same for an id that never was and for one that is somebody else's."""
    return f"there is no memory {id}"


def date(moment: datetime) -> str:
    """ISO 8601 in UTC, to the second."""
    in_utc = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{in_utc.isoformat(timespec='seconds')}Z"


def optional_date(moment: datetime | None) -> str | None:
    return None if moment is None else date(moment)


def score(number: float) -> float:
    return round(number, 4)


def stored(entry: MemoryEntry) -> dict[str, object]:
    return {
        "id": entry.id,
        "content": entry.content,
        "memory_tier": entry.tier.value,
        "created_at": date(entry.created_at),
    }


def listed(entry: MemoryEntry) -> dict[str, object]:
    return {
        "id": entry.id,
        "content": entry.content,
        "content_type": entry.content_type.value,
        "memory_tier": entry.tier.value,
        "tags": list(entry.tags),
        "created_at": date(entry.created_at),
    }


def whole(entry: MemoryEntry) -> dict[str, object]:
    return {
        "id": entry.id,
        "content": entry.content,
        "content_type": entry.content_type.value,
        "memory_tier": entry.tier.value,
        "tags": list(entry.tags),
        "metadata": dict(entry.metadata),
        "created_at": date(entry.created_at),
        "updated_at": date(entry.updated_at),
        "expires_at": optional_date(entry.expires_at),
    }


def found(hit: ScoredMemory) -> dict[str, object]:
    return {
        "id": hit.entry.id,
        "content": hit.entry.content,
        "similarity": score(hit.score),
        "memory_tier": hit.entry.tier.value,
        "tags": list(hit.entry.tags),
        "created_at": date(hit.entry.created_at),
    }


def found_answer(results: Found) -> dict[str, object]:
    return {"results": [found(hit) for hit in results.hits], "total": len(results.hits)}
