"""Exports of memories for people (Markdown) and for Letta (agent file, `.af`).

Both contain what can be recalled: no deleted or expired memories, and no messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.database.rows import (
    CATEGORY_CODES,
    ORIGIN_CODES,
    from_microseconds,
    to_microseconds,
)
from spade_llm.memory.transfer.json_lines import read_tags
from spade_llm.memory.transfer.memory_file import PAGE_ROWS, MemoryPlace, opened_memory
from spade_llm.memory.validation import normalize_subject
from spade_llm.search.memory_query import Category, Origin

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import SqlValue, Transaction

SELECT_MEMORIES = """
    SELECT jid, subject, category, origin, content, tags, created_at, valid_at, invalid_at
    FROM entry JOIN owner ON owner.number = entry.owner
    WHERE deleted_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
        AND jid = coalesce(CAST(:owner AS TEXT), jid)
        AND (CAST(:about AS TEXT) IS NULL OR subject = CAST(:about AS TEXT))
    ORDER BY subject IS NULL, subject, CASE origin
            WHEN :episode THEN 8 WHEN :pattern THEN 7 ELSE coalesce(category, :fact)
        END, invalid_at IS NOT NULL, created_at DESC, seq DESC
"""

KIND_HEADINGS = {
    Category.FACT: "Facts",
    Category.PREFERENCE: "Preferences",
    Category.CAPABILITY: "Capabilities",
    Category.PATTERN: "Patterns",
}
EPISODES = "Conversations"
ORIGIN_HEADINGS = {Origin.EPISODE: EPISODES, Origin.PATTERN: "Patterns found in conversations"}
NO_PERSON = "About no particular person"

LETTA_AGENT_TYPE = "memgpt_v2_agent"
"""Type that all versions since 0.11 know."""
# Letta imports no agent without a model. A local one: the memories stay on the machine until
# another one is chosen there.
LETTA_MODEL = {
    "handle": "ollama/llama3.2",
    "model": "llama3.2",
    "model_endpoint_type": "ollama",
    "model_endpoint": "http://localhost:11434",
    "context_window": 8192,
}
LETTA_EMBEDDER = {
    "handle": "ollama/nomic-embed-text",
    "embedding_model": "nomic-embed-text",
    "embedding_endpoint_type": "ollama",
    "embedding_endpoint": "http://localhost:11434",
    "embedding_dim": 768,
    "embedding_chunk_size": 300,
}
LETTA_BLOCK_LIMIT = 20_000
"""Limit of a core memory block in characters: Letta's default, since each prompt contains it."""
LETTA_BLOCKS = {
    "human": "What is known about the person that the agent talks with.",
    "persona": "What the agent knows about itself and how it behaves.",
}

_INLINE_SYNTAX = re.compile(r"([\\`*_<\[])")
_BLOCK_SYNTAX = re.compile(r"^(\s*)([#>+-]|\d+[.)])(?=\s)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LettaExport:
    """An agent file."""

    content: str
    """JSON."""
    memories: int
    left_out: int
    """Older memories that did not fit into their block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    owner: str
    subject: str | None
    heading: str
    content: str
    tags: tuple[str, ...]
    valid_from: datetime
    valid_until: datetime | None

    @property
    def is_about_agent(self) -> bool:
        return self.subject is None and self.heading == KIND_HEADINGS[Category.CAPABILITY]


def markdown_lines(
    place: MemoryPlace, *, owner: str | None = None, about: str | None = None
) -> Iterator[str]:
    """Lines of a page with the memories of an agent (None: of all) about a person (None: all),
    grouped by person and kind, newest first; outdated memories with the end of their validity.

    Raises StorageFailed.
    """
    now = datetime.now(UTC)
    yield "# Memories"
    yield ""
    yield f"Exported on {now.date().isoformat()}. Messages of conversations are not included."
    with opened_memory(place, is_read_only=True) as transaction:
        memories = _select_memories(transaction, owner=owner, about=about, now=now)
        for subject, of_person in groupby(memories, key=attrgetter("subject")):
            yield from ("", f"## {_escape(subject or NO_PERSON)}")
            for heading, of_kind in groupby(of_person, key=attrgetter("heading")):
                yield from ("", f"### {heading}", "")
                yield from map(_bullet, of_kind)


def letta_agent_file(place: MemoryPlace, *, owner: str, about: str) -> LettaExport:
    """Agent file with the valid memories of one agent about one person in its block `human`, and
    those about the agent itself in `persona`.

    Raises:
        InvalidArguments: there are no such memories.
        StorageFailed: the memory cannot be read.
    """
    now = datetime.now(UTC)
    with opened_memory(place, is_read_only=True) as transaction:
        known = [
            memory
            for memory in _select_memories(transaction, owner=owner, about=about, now=now)
            if memory.heading != EPISODES and _is_valid(memory, now)
        ]
        own = [
            memory
            for memory in _select_memories(transaction, owner=owner, about=None, now=now)
            if memory.is_about_agent and _is_valid(memory, now)
        ]
    if not known:
        raise InvalidArguments(f"{owner} has no valid memories about {about}")
    values = {"human": _block_lines(known), "persona": _block_lines(own)}
    count = sum(map(len, values.values()))
    return LettaExport(
        content=json.dumps(_agent_file(owner, values, now), ensure_ascii=False, indent=1) + "\n",
        memories=count,
        left_out=len(known) + len(own) - count,
    )


def owners_about(place: MemoryPlace, about: str) -> list[str]:
    """Agents that have memories about a person. Raises StorageFailed."""
    now = datetime.now(UTC)
    with opened_memory(place, is_read_only=True) as transaction:
        found = _select_memories(transaction, owner=None, about=about, now=now)
        return sorted({memory.owner for memory in found})


def _select_memories(
    transaction: Transaction, *, owner: str | None, about: str | None, now: datetime
) -> Iterator[_Memory]:
    wanted: dict[str, SqlValue] = {
        "owner": normalize_subject(owner),
        "about": normalize_subject(about),
        "now": to_microseconds(now),
        "episode": ORIGIN_CODES.number(Origin.EPISODE),
        "pattern": ORIGIN_CODES.number(Origin.PATTERN),
        "fact": CATEGORY_CODES.number(Category.FACT),
    }
    pages = transaction.pages(SELECT_MEMORIES, wanted, size=PAGE_ROWS)
    rows = (row for page in pages for row in page)
    for jid, subject, category, origin, content, tags, created_at, valid_at, invalid_at in rows:
        yield _Memory(
            owner=jid,
            subject=subject,
            heading=ORIGIN_HEADINGS.get(ORIGIN_CODES.value(origin))
            or KIND_HEADINGS[CATEGORY_CODES.value_or_none(category) or Category.FACT],
            content=content,
            tags=tuple(read_tags(tags)),
            valid_from=from_microseconds(valid_at or created_at),
            valid_until=None if invalid_at is None else from_microseconds(invalid_at),
        )


def _bullet(memory: _Memory) -> str:
    since = memory.valid_from.date().isoformat()
    ended = memory.valid_until
    validity = since if ended is None else f"{since} to {ended.date().isoformat()}, outdated"
    notes = ", ".join([validity, *map(_escape, (memory.owner, *memory.tags))])
    first, *others = _escape(memory.content).splitlines() or [""]
    # Lines that are indented below a bullet belong to it.
    return "\n".join([f"- {first}", *(f"  {line}" for line in others)]) + f" *({notes})*"


def _escape(text: str) -> str:
    """Text without a meaning in Markdown."""
    # Block syntax last: its characters are no inline syntax, but the added backslash is.
    lines = (_INLINE_SYNTAX.sub(r"\\\1", line) for line in text.splitlines())
    return "\n".join(_BLOCK_SYNTAX.sub(r"\1\\\2", line) for line in lines)


def _is_valid(memory: _Memory, now: datetime) -> bool:
    return memory.valid_from <= now and (memory.valid_until is None or memory.valid_until > now)


def _block_lines(memories: Sequence[_Memory]) -> list[str]:
    """A line for each memory, newest first, up to the limit of a block."""
    kept: list[str] = []
    size = 0
    for memory in sorted(memories, key=attrgetter("valid_from"), reverse=True):
        line = " ".join(memory.content.split())
        size += len(line) + 1
        if size > LETTA_BLOCK_LIMIT:
            break
        kept.append(line)
    return kept


def _agent_file(
    owner: str, values: Mapping[str, Sequence[str]], now: datetime
) -> Mapping[str, object]:
    """Agent file of Letta: ids are a prefix and a number."""
    blocks = [
        {
            "id": f"block-{number}",
            "label": label,
            "description": LETTA_BLOCKS[label],
            "value": "\n".join(lines),
            "limit": LETTA_BLOCK_LIMIT,
        }
        for number, (label, lines) in enumerate(values.items())
    ]
    agent = {
        "id": "agent-0",
        "name": owner.partition("@")[0],
        "agent_type": LETTA_AGENT_TYPE,
        "llm_config": LETTA_MODEL,
        "embedding_config": LETTA_EMBEDDER,
        "block_ids": [block["id"] for block in blocks],
        "messages": [],
        "in_context_message_ids": [],
    }
    nothing: Mapping[str, object] = {
        part: [] for part in ("groups", "files", "sources", "tools", "mcp_servers")
    }
    return {"agents": [agent], "blocks": blocks, **nothing, "created_at": now.isoformat()}
