"""EntryTool: one memory tool, its subject scope, and its JSON answers, truncated to fit."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from spade_llm.core.errors import (
    Busy,
    InvalidArguments,
    ModelError,
    NotFound,
    RequestError,
    ServiceError,
    StorageFailed,
    Unauthorised,
)
from spade_llm.memory.validation import normalize_subject
from spade_llm.providers.model import ToolSpec

if TYPE_CHECKING:
    from spade_llm.memory.contract import MemoryEntry, MemoryStore, ScoredMemory, SearchResult
    from spade_llm.memory.tools.arguments import ToolArguments

logger = logging.getLogger(__name__)

VALIDATION_ERROR, NOT_FOUND_ERROR = "ValidationError", "NotFoundError"

_TYPE_OF_CODE = {
    InvalidArguments.code: VALIDATION_ERROR,
    NotFound.code: NOT_FOUND_ERROR,
    Busy.code: "BusyError",
    StorageFailed.code: "StorageError",
    Unauthorised.code: "PermissionError",
}
UNAVAILABLE_ERROR = "UnavailableError"
MODEL_ERROR = "ModelError"

_MESSAGE_OF_TYPE = {
    "BusyError": "the memory has too much to do now; try again in a moment",
    "StorageError": "the memory could not read or write its storage",
    "PermissionError": "the memory does not allow this",
    UNAVAILABLE_ERROR: "the memory is not available now",
    MODEL_ERROR: "no summary came from the model; summary_strategy 'extractive' needs none",
}

MAX_CHARS = 60_000
"""Maximum length of a tool result in a turn, in characters."""
ELLIPSIS = "…"

ToolAnswer = Mapping[str, object]


def error_object(error: ServiceError | RequestError | ModelError) -> dict[str, object]:
    code = error.wire_code if isinstance(error, RequestError) else error.code
    detail = error.detail if isinstance(error, RequestError) else str(error)
    kind = MODEL_ERROR if isinstance(error, ModelError) else error_type(code)
    return {"error": True, "error_type": kind, "message": error_message(kind, detail)}


def error_type(code: str) -> str:
    """Error type of a wire code; an unknown code means that the memory is unavailable."""
    return _TYPE_OF_CODE.get(code, UNAVAILABLE_ERROR)


def error_message(kind: str, detail: str) -> str:
    """Error text: the store's own for wrong arguments, else a fixed one."""
    return _MESSAGE_OF_TYPE.get(kind, detail)


def memory_not_found(id: str) -> str:
    """Error text for an unknown id; the same for an entry of another owner."""
    return f"there is no memory {id}"


def format_date(moment: datetime) -> str:
    """Format a time as ISO 8601 in UTC, to the second."""
    in_utc = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{in_utc.isoformat(timespec='seconds')}Z"


def format_optional_date(moment: datetime | None) -> str | None:
    return None if moment is None else format_date(moment)


def format_score(number: float) -> float:
    return round(number, 4)


def stored_object(entry: MemoryEntry) -> dict[str, object]:
    return {
        "id": entry.id,
        "content": entry.content,
        "memory_tier": entry.tier.value,
        "created_at": format_date(entry.created_at),
    }


def listed_object(entry: MemoryEntry) -> dict[str, object]:
    return {
        "id": entry.id,
        "content": entry.content,
        "content_type": entry.content_type.value,
        "memory_tier": entry.tier.value,
        "tags": list(entry.tags),
        "created_at": format_date(entry.created_at),
    }


def entry_object(entry: MemoryEntry) -> dict[str, object]:
    return {
        "id": entry.id,
        "content": entry.content,
        "content_type": entry.content_type.value,
        "memory_tier": entry.tier.value,
        "tags": list(entry.tags),
        "metadata": dict(entry.metadata),
        "created_at": format_date(entry.created_at),
        "updated_at": format_date(entry.updated_at),
        "expires_at": format_optional_date(entry.expires_at),
    }


def result_object(hit: ScoredMemory) -> dict[str, object]:
    return {
        "id": hit.entry.id,
        "content": hit.entry.content,
        "similarity": format_score(hit.score),
        "memory_tier": hit.entry.tier.value,
        "tags": list(hit.entry.tags),
        "created_at": format_date(hit.entry.created_at),
    }


def search_answer(results: SearchResult) -> dict[str, object]:
    return {"results": [result_object(hit) for hit in results.hits], "total": len(results.hits)}


def answer_as_text(answer: Mapping[str, object], max_chars: int = MAX_CHARS) -> str:
    """Format the answer as JSON of at most `max_chars`, by leaving out items or shortening the
    content of a single memory."""
    text = _to_json(answer)
    if len(text) <= max_chars:
        return text
    name = max(answer, key=lambda one: _json_length(answer[one]))
    items = answer[name]
    if not isinstance(items, list):
        return _to_json(_truncate_item(answer, max_chars))
    room = max_chars - len(text) + _json_length(items)
    shown = _first_items(items, room)
    # `offset` + `limit` is where the next page begins.
    page = {"limit": len(shown)} if "limit" in answer else {}
    return _to_json({**answer, name: shown, **page})


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryTool:
    """A MemoryTool that also gives its answer as an object."""

    name: str
    description: str
    arguments: type[ToolArguments]
    run: Callable[[Any], Awaitable[ToolAnswer]]
    """Takes what `arguments` has read."""

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters=self.arguments.parameters(),
        )

    async def execute(self, /, **arguments: object) -> str:
        """Run the tool and return JSON for a model; a long list is cut after the first items."""
        return answer_as_text(await self.answer(arguments))

    async def answer(self, arguments: object) -> ToolAnswer:
        """Answer any JSON arguments; error: `{"error": true, "error_type": …, "message": …}`."""
        try:
            return await self.run(self.arguments.read(arguments))
        except (ServiceError, RequestError, ModelError) as error:
            return error_object(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectScope:
    """Entries that the tools of one conversation may reach."""

    store: MemoryStore
    owner: str
    """Bare JID of the owner of the memory."""
    subject: str | None = None
    """Person that the memories are about; None: any person or none."""
    session: str | None = None
    """The conversation that new ones belong to; what is found may be of any."""
    said_at: datetime | None = None
    """Time of the message in which new ones are said, from which they hold: a model may store them
    long after the next message has come. None: the time of storage."""

    def check_agent(self, agent_id: str | None) -> None:
        """Check that `agent_id` is the owner or None; the owner is given by the server, never by an
        argument. Raises InvalidArguments."""
        if agent_id is not None and agent_id != self.owner:
            logger.warning(
                "%s: rejected a memory for another agent_id %.128r", self.owner, agent_id
            )
            raise InvalidArguments(f"agent_id must be {self.owner!r} or null")

    async def there(self, ids: Sequence[str]) -> list[MemoryEntry]:
        """Return the entries among these ids that are in scope, in order; counts as no access."""
        found = await self.store.peek(ids)
        ours = [entry for entry in found if self._is_in_scope(entry)]
        if len(ours) < len(found):
            which = ", ".join(entry.id for entry in found if not self._is_in_scope(entry))
            logger.warning(
                "%s, for %s: rejected memories about another person: %s",
                self.owner,
                self.subject,
                which,
            )
        return ours

    async def all_of(self, ids: Sequence[str]) -> list[MemoryEntry]:
        """Return these entries. Raises NotFound, naming the first that is missing."""
        found = await self.there(ids)
        seen = {entry.id for entry in found}
        for id in ids:
            if id not in seen:
                raise NotFound(memory_not_found(id))
        return found

    async def check(self, *ids: str) -> None:
        """Check that these entries are in scope. Raises NotFound. Without a subject the store
        checks."""
        if self.subject is not None:
            await self.all_of(ids)

    def _is_in_scope(self, entry: MemoryEntry) -> bool:
        return self.subject is None or entry.subject == normalize_subject(self.subject)


def _first_items(items: Sequence[object], room: int) -> list[object]:
    """First items that fit; at least one, shortened, so that the next page advances."""
    kept: list[object] = []
    used = 2
    for item in items:
        used += _json_length(item) + 2
        if used > room:
            break
        kept.append(item)
    return kept or [_truncate_item(item, room - 4) for item in items[:1]]


def _truncate_item(item: object, room: int) -> object:
    """Halve the content of an item until its JSON fits; escapes make some texts longer."""
    while (
        isinstance(item, dict) and _json_length(item) > room and len(item.get("content") or "") > 1
    ):
        content = item["content"].removesuffix(ELLIPSIS)
        item = {**item, "content": content[: len(content) // 2] + ELLIPSIS}
    return item


def _json_length(value: object) -> int:
    return len(_to_json(value))


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
