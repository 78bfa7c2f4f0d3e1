"""Retrieval as text: search results with details and relative times, as Markdown."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from spade_llm.core.errors import NotFound, RequestRefused
from spade_llm.core.text import single_line
from spade_llm.memory.learning.episodes import EPISODE_DATES
from spade_llm.memory.learning.novelty import KEY_MOMENT_SCORE
from spade_llm.memory.validation import check_number
from spade_llm.search.memory_query import ANY_MEMORY, MemoryFilter, MemoryQuery, Origin, SearchMode

if TYPE_CHECKING:
    from spade_llm.memory.contract import MemoryEntry, ObservedMessage, ScoredMemory, SearchResult

MINUTE, HOUR, DAY = 60, 3600, 86_400
WEEK, MONTH, YEAR = 7 * DAY, 30 * DAY, 365 * DAY

_UNITS = (
    # (from so many seconds on, seconds in one, its name, what one of them is called)
    (YEAR, YEAR, "year", "last year"),
    (MONTH, MONTH, "month", "last month"),
    (WEEK, WEEK, "week", "last week"),
    (DAY, DAY, "day", "yesterday"),
    (HOUR, HOUR, "hour", "1 hour ago"),
    (MINUTE, MINUTE, "minute", "1 minute ago"),
)

DEFAULT_LIMIT = 5
MAX_LIMIT = 50
DETAILED_RANKS = 2
"""Number of best ranks that get details if they are key moments; used without `detail_limit`."""

MAX_SUMMARY_CHARS = 1500
MAX_DETAILS = 40
"""Maximum number of messages shown of one memory."""
MAX_DETAIL_CHARS = 600
"""Maximum length of one message in characters."""
MAX_SPEAKER_CHARS = 60
MAX_DETAILS_CHARS = 8000
"""Maximum length of all messages of one memory together, in characters."""

NO_MEMORIES = "No memories found."

_UNSAFE_IN_NAME = re.compile(r'[:"*\[\]#]')


def relative_time(at: datetime, now: datetime) -> str:
    """`just now`, `5 minutes ago`, `yesterday`, `2 days ago`, `last week`, … `3 years ago`.

    A time ahead is `in 5 minutes`; less than a minute ahead is a clock that goes wrong: `just now`.
    """
    seconds = int((now - at).total_seconds())
    for from_s, unit_s, name, single in _UNITS:
        if abs(seconds) >= from_s:
            count = abs(seconds) // unit_s
            if seconds < 0:
                return f"in {count} {name}{'' if count == 1 else 's'}"
            return single if count == 1 else f"{count} {name}s ago"
    return "just now"


class RetrievableMemory(Protocol):
    """Subset of an owner's memory, local or remote, that `retrieve_memory` needs."""

    async def search(self, query: MemoryQuery) -> SearchResult: ...

    async def episode_messages(self, id: str) -> Sequence[ObservedMessage]: ...


async def retrieve_memory(
    memory: RetrievableMemory,
    query: str,
    *,
    limit: int = DEFAULT_LIMIT,
    detail_limit: int | None = None,
    which: MemoryFilter = ANY_MEMORY,
    with_messages: bool = False,
    now: datetime | None = None,
) -> str:
    """Search and return the Markdown of retrieve_memory; `No memories found.` if there is none.

    `detail_limit`: None gives details to ranks 1 and 2 if they are key moments; a number below
    `limit` to the best-ranked key moments, at most so many; from `limit` on to all.
    `with_messages`: also messages that no memory covers (yet); they have no details. Sentences of
    messages and summaries that no longer hold are left out (`memory/validity.py`).

    Raises InvalidArguments, naming the field.
    """
    check_number("limit", limit, 1, MAX_LIMIT)
    check_number("detail_limit", detail_limit or 0, 0, 10**9)
    wanted = MemoryQuery(
        text=query,
        mode=SearchMode.RECALL,
        limit=limit,
        which=which,
        with_messages=with_messages,
    )
    at = now or datetime.now(UTC)
    hits = current_hits(await memory.search(wanted), query, at)[:limit]
    if detail_limit is None:
        detailed = [hit.entry.id for hit in hits[:DETAILED_RANKS] if is_key_moment(hit)]
    elif detail_limit >= limit:
        detailed = [hit.entry.id for hit in hits]
    else:
        detailed = [hit.entry.id for hit in hits if is_key_moment(hit)][:detail_limit]
    details = await asyncio.gather(
        *(_details(memory, hit.entry, hit.entry.id in detailed) for hit in hits)
    )
    parts = [
        _result_lines(rank, hit, messages, at)
        for rank, (hit, messages) in enumerate(zip(hits, details, strict=True), start=1)
    ]
    return "\n\n".join(parts) or NO_MEMORIES


def current_hits(found: SearchResult, query: str, now: datetime) -> tuple[ScoredMemory, ...]:
    """Hits without what no longer holds, unless the query is about the past."""
    # Here, so that a start does not load the rules.
    from spade_llm.memory.validity import apply_validity
    from spade_llm.understanding.questions import asks_about_past

    return apply_validity(
        found.hits, former=found.former, now=now, keeps_former=asks_about_past(query)
    )


def is_key_moment(hit: ScoredMemory) -> bool:
    return (hit.entry.surprise or 0.0) >= KEY_MOMENT_SCORE


async def _details(
    memory: RetrievableMemory, entry: MemoryEntry, is_wanted: bool
) -> Sequence[ObservedMessage]:
    if not is_wanted or entry.origin is Origin.MESSAGE:
        return ()
    try:
        return await memory.episode_messages(entry.id)
    except NotFound:
        # Forgotten since the search.
        return ()
    except RequestRefused as error:
        if error.wire_code != NotFound.code:
            raise
        return ()


def _result_lines(
    rank: int, hit: ScoredMemory, messages: Sequence[ObservedMessage], now: datetime
) -> str:
    entry = hit.entry
    mark = ", key moment" if is_key_moment(hit) else ""
    score = min(max(hit.score, 0.0), 1.0)
    lines = [
        f"## Memory {rank} [rank: {rank}, score: {score:.2f}{mark}]",
        f"**When:** {relative_time(entry.holds_since, now)}{_end(entry, now)}",
        f"**Summary:** {single_line(_summary(entry), MAX_SUMMARY_CHARS)}",
        *_details_lines(messages),
    ]
    return "\n".join(lines)


def _summary(entry: MemoryEntry) -> str:
    """The text of a memory; of an episode without its dates, which `When` tells in words."""
    dates = EPISODE_DATES.match(entry.content) if entry.origin is Origin.EPISODE else None
    return entry.content[dates.end() :] if dates else entry.content


def _end(entry: MemoryEntry, now: datetime) -> str:
    ended = entry.invalid_at
    return f", until {relative_time(ended, now)} (no longer true)" if ended else ""


def _details_lines(messages: Sequence[ObservedMessage]) -> list[str]:
    """Quoted messages, as many as fit; the first one always fits."""
    lines: list[str] = []
    used = 0
    for message in messages[:MAX_DETAILS]:
        name = single_line(_UNSAFE_IN_NAME.sub(" ", message.speaker or ""), MAX_SPEAKER_CHARS)
        line = f'- {name or message.role}: "{single_line(message.content, MAX_DETAIL_CHARS)}"'
        used += len(line)
        if used > MAX_DETAILS_CHARS:
            break
        lines.append(line)
    if not lines:
        return []
    cut = f" ({len(lines)} of {len(messages)} messages)" if len(lines) < len(messages) else ""
    return ["", f"**Details:**{cut}", *lines]
