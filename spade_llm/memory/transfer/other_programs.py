"""Readers for stores of other programs: mem0, Letta, MCP memory server, llm-memory, llm."""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field, ValidationError

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.transfer.records import (
    ImportedRecord,
    SourceId,
    content_digest,
    fact_record,
    fault_record,
    message_record,
    parse_time,
)
from spade_llm.search.memory_query import Category

if TYPE_CHECKING:
    import sqlite3

    from spade_llm.memory.transfer.records import ImportTarget

MEM0, LETTA, MCP_MEMORY, LLM_MEMORY = "mem0", "letta", "mcp-memory", "llm-memory"
LLM = "llm"

# The last event of a memory has its current text; its created_at is that of the memory.
SELECT_MEM0_HISTORY = """
    SELECT memory_id, new_memory, event, created_at, updated_at, is_deleted FROM history
    WHERE rowid IN (SELECT max(rowid) FROM history GROUP BY memory_id) ORDER BY rowid
"""
SELECT_MEM0_MESSAGES = """
    SELECT id, session_scope, role, content, created_at FROM messages ORDER BY rowid
"""

# Since 0.36, llm logs turns. Their search index has the words of prompts without attached files.
SELECT_LLM_TURNS = """
    SELECT turns.id, thread_id AS conversation, prompt, response, datetime_utc FROM turns
    JOIN turn_search ON turn_search.turn_id = turns.id ORDER BY turns.id
"""
SELECT_LLM_RESPONSES = """
    SELECT id, conversation_id AS conversation, prompt, response, datetime_utc FROM responses
    ORDER BY id
"""

USER_ENTITIES = frozenset({"default_user", "user", "the_user", "me"})
"""Names of the entity that stands for the person, in lower case: the first one is that of the MCP
memory server's documentation."""
PERSONA = "persona"
"""Label of Letta's block about the agent itself."""
LETTA_USER_MESSAGE = "user_message"
LETTA_ANSWER_TOOL = "send_message"
"""Tool that Letta's agents up to v0.8 answer with."""
_UNFILLED = re.compile(r"(?:^|:\s*)(?:\?|\[(?:unknown|none yet)\])$", re.IGNORECASE)
"""Line of a template: `Last name: ?`."""
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")


class _Mem0Memory(BaseModel):
    id: str
    memory: str
    created_at: str | None = None
    updated_at: str | None = None
    expiration_date: str | None = None
    categories: list[str] | None = None
    metadata: dict[str, object] | None = None
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    app_id: str | None = None
    attributed_to: str | None = None


class _McpEntity(BaseModel):
    name: str
    entity_type: str = Field("", alias="entityType")
    observations: list[object]


class _McpRelation(BaseModel):
    source: str = Field(alias="from")
    target: str = Field(alias="to")
    relation: str = Field(alias="relationType")


class _LettaBlock(BaseModel):
    label: str
    value: str
    id: str = ""
    created_at: str | None = None
    updated_at: str | None = None


class _LettaMessage(BaseModel):
    id: str = ""
    role: str
    content: str | list[dict[str, object]] | None = None
    tool_calls: list[dict[str, object]] | None = None
    created_at: str | None = None


class _LettaAgent(BaseModel):
    id: str = ""
    name: str = ""
    messages: list[object] = []


class _LlmMemoryUser(BaseModel):
    uid: str
    conversation_history: list[object]
    timestamp: float | None = None


class _LlmMemoryMessage(BaseModel):
    role: str
    content: str


def is_mem0(item: Mapping[str, object]) -> bool:
    match item:
        case {"results": [] | [{"id": _, "memory": _}, *_]} | {"id": _, "memory": _}:
            return True
    return False


def read_mem0(name: str, item: object, target: ImportTarget) -> Iterator[ImportedRecord]:
    """Read a memory, or a page of them, of the platform's API or of `Memory.get_all()`."""
    match item:
        case {"results": list(page)}:
            for number, one in enumerate(page, start=1):
                yield _read_mem0_memory(f"{name}, result {number}", one, target)
        case _:
            yield _read_mem0_memory(name, item, target)


def read_mem0_database(
    database: sqlite3.Connection, target: ImportTarget
) -> Iterator[ImportedRecord]:
    """Read mem0's history database: current memories, and the latest messages."""
    for number, row in enumerate(database.execute(SELECT_MEM0_HISTORY), start=1):
        name = f"memory {number}"
        if row["is_deleted"] or row["event"] == "DELETE":
            yield ImportedRecord(name=name, omitted="deleted memory")
            continue
        memory = {key: row[key] for key in ("created_at", "updated_at")}
        yield _read_mem0_memory(
            name, {**memory, "id": row["memory_id"], "memory": row["new_memory"]}, target
        )
    for number, row in enumerate(database.execute(SELECT_MEM0_MESSAGES), start=1):
        scope = str(row["session_scope"])
        message = message_record(
            f"message {number}",
            SourceId(program=MEM0, id=scope),
            target,
            id=str(row["id"]),
            role=row["role"],
            content=row["content"],
            at=row["created_at"],
        )
        (person,) = urllib.parse.parse_qs(scope).get("user_id", [""])[:1]
        yield replace(message, person=person)


def read_llm_database(
    database: sqlite3.Connection, target: ImportTarget
) -> Iterator[ImportedRecord]:
    """Read the log of the command `llm`: prompts and answers."""
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    selects = [SELECT_LLM_RESPONSES]
    if {"turns", "turn_search"} <= tables:
        selects.append(SELECT_LLM_TURNS)
    for select in selects:
        for row in database.execute(select):
            # A prompt outside of a conversation has none.
            source = SourceId(program=LLM, id=str(row["conversation"] or row["id"]))
            for role, text in (("user", row["prompt"]), ("assistant", row["response"])):
                id = f"{row['id']}-{role}"
                yield message_record(
                    f"turn {row['id']!r}, {role}",
                    source,
                    target,
                    id=id,
                    role=role,
                    content=text or "",
                    at=row["datetime_utc"],
                )


def is_mcp_memory(item: Mapping[str, object]) -> bool:
    match item:
        case {"type": "entity", "name": _, "observations": _}:
            return True
        case {"type": "relation", "from": _, "to": _}:
            return True
    return False


def read_mcp_memory(name: str, item: object, target: ImportTarget) -> Iterator[ImportedRecord]:
    """Read an entity (one fact for each observation) or a relation (one fact)."""
    try:
        if isinstance(item, dict) and item.get("type") == "relation":
            link = _McpRelation.model_validate(item)
            source = SourceId(
                program=MCP_MEMORY, id=content_digest(link.source, link.relation, link.target)
            )
            relation = link.relation.replace("_", " ")
            sentence = f"{_entity_name(link.source)} {relation} {_entity_name(link.target)}"
            yield fact_record(
                name, source, target, sentence[:1].upper() + sentence[1:], tags=["relation"]
            )
            return
        entity = _McpEntity.model_validate(item)
    except ValidationError as error:
        yield fault_record(name, error)
        return
    is_user = entity.name.lower() in USER_ENTITIES
    for number, observation in enumerate(entity.observations, start=1):
        where = f"{name} ({entity.name[:40]!r}), observation {number}"
        if not isinstance(observation, str):
            yield ImportedRecord(name=where, fault="it is not a text")
            continue
        yield fact_record(
            where,
            SourceId(program=MCP_MEMORY, id=content_digest(entity.name, observation)),
            target,
            observation if is_user else f"{_entity_name(entity.name)}: {observation}",
            tags=[entity.entity_type],
            metadata={"entity": entity.name},
        )


def is_letta(item: Mapping[str, object]) -> bool:
    return ("agents" in item and "blocks" in item) or (
        "core_memory" in item and "agent_type" in item
    )


def read_letta(name: str, item: object, target: ImportTarget) -> Iterator[ImportedRecord]:
    """Read an agent file (`.af`): core memory blocks, one fact a line, and messages."""
    match item:
        case {"agents": list(agents), "blocks": list(blocks)}:
            pass
        case {"core_memory": list(blocks)}:
            # Version 1 of the format: the file is one agent.
            agents = [item]
        case _:
            yield ImportedRecord(
                name=name, fault="it has neither agents and blocks nor core_memory"
            )
            return
    for number, block in enumerate(blocks, start=1):
        yield from _read_block(f"block {number}", block, target)
    for number, agent in enumerate(agents, start=1):
        yield from _read_letta_agent(f"agent {number}", agent, target)


def is_llm_memory(item: Mapping[str, object]) -> bool:
    table = item.get("_default")
    return isinstance(table, dict) and all(
        isinstance(row, dict) and "conversation_history" in row for row in table.values()
    )


def read_llm_memory(name: str, item: object, target: ImportTarget) -> Iterator[ImportedRecord]:
    """Read the TinyDB file of the package llm-memory: one conversation for each of its users."""
    table = item.get("_default") if isinstance(item, dict) else None
    if not isinstance(table, dict):
        yield ImportedRecord(name=name, fault="_default: it is not a table of users")
        return
    for key, row in table.items():
        where = f"user {key[:40]!r}"
        try:
            user = _LlmMemoryUser.model_validate(row)
            at = parse_time("timestamp", user.timestamp) or target.file_time
        except (ValidationError, InvalidArguments) as error:
            yield fault_record(where, error)
            continue
        seen: dict[str, int] = {}
        for number, one in enumerate(user.conversation_history, start=1):
            try:
                message = _LlmMemoryMessage.model_validate(one)
            except ValidationError as error:
                yield fault_record(f"{where}, message {number}", error)
                continue
            # Messages have no id, and their positions change when the program drops some.
            digest = content_digest(message.role, message.content)
            seen[digest] = seen.get(digest, 0) + 1
            record = message_record(
                f"{where}, message {number}",
                SourceId(program=LLM_MEMORY, id=user.uid),
                target,
                id=f"{digest}-{seen[digest]}",
                role=message.role,
                content=message.content,
                at=at.isoformat(),
            )
            yield replace(record, person=user.uid)


def _read_mem0_memory(name: str, item: object, target: ImportTarget) -> ImportedRecord:
    try:
        old = _Mem0Memory.model_validate(item)
        expires_at = parse_time("expiration_date", old.expiration_date)
        created_at = parse_time("created_at", old.created_at)
        updated_at = parse_time("updated_at", old.updated_at)
    except (ValidationError, InvalidArguments) as error:
        return fault_record(name, error)
    if expires_at is not None and expires_at <= datetime.now(UTC):
        return ImportedRecord(name=name, omitted="expired memory")
    scope = old.model_dump(include={"user_id", "agent_id", "run_id", "app_id", "attributed_to"})
    categories = old.categories or []
    is_preference = any("preference" in one.lower() for one in categories)
    record = fact_record(
        name,
        SourceId(program=MEM0, id=old.id),
        target,
        old.memory,
        category=Category.PREFERENCE if is_preference else Category.FACT,
        tags=categories,
        metadata={**scope, **(old.metadata or {})},
        created_at=created_at,
        updated_at=updated_at,
        expires_at=expires_at,
    )
    return replace(record, person=old.user_id or "")


def _read_block(name: str, block: object, target: ImportTarget) -> Iterator[ImportedRecord]:
    try:
        old = _LettaBlock.model_validate(block)
        created_at = parse_time("created_at", old.created_at)
        updated_at = parse_time("updated_at", old.updated_at)
    except (ValidationError, InvalidArguments) as error:
        yield fault_record(name, error)
        return
    is_persona = old.label == PERSONA
    for number, line in enumerate(old.value.splitlines(), start=1):
        if not (text := _BULLET.sub("", line.strip())):
            continue
        if _UNFILLED.search(text):
            yield ImportedRecord(name=name, omitted="unfilled line")
            continue
        yield fact_record(
            f"{name} ({old.label[:40]!r}), line {number}",
            SourceId(program=LETTA, id=content_digest(old.label, text)),
            target,
            text,
            category=Category.CAPABILITY if is_persona else Category.FACT,
            tags=[old.label],
            metadata={"block": old.label},
            created_at=created_at,
            updated_at=updated_at,
            is_about_agent=is_persona,
        )


def _read_letta_agent(name: str, agent: object, target: ImportTarget) -> Iterator[ImportedRecord]:
    try:
        old = _LettaAgent.model_validate(agent)
    except ValidationError as error:
        yield fault_record(name, error)
        return
    # Ids in the file count from 0 in every file: only the name tells agents apart.
    source = SourceId(program=LETTA, id=old.name or old.id)
    for number, one in enumerate(old.messages, start=1):
        where = f"{name}, message {number}"
        try:
            message = _LettaMessage.model_validate(one)
        except ValidationError as error:
            yield fault_record(where, error)
            continue
        content, kind = _letta_content(message)
        if kind:
            yield ImportedRecord(name=where, omitted=kind)
            continue
        yield message_record(
            where,
            source,
            target,
            id=content_digest(message.role, message.created_at or "", content),
            role=message.role,
            content=content,
            at=message.created_at,
        )


def _letta_content(message: _LettaMessage) -> tuple[str, str]:
    """The words of a message, or the kind of message that has none."""
    text = message.content or ""
    if not isinstance(text, str):
        parts = [part.get("text") for part in text if part.get("type") == "text"]
        text = "\n".join(part for part in parts if isinstance(part, str))
    if message.role == "assistant" and message.tool_calls:
        # The text beside tool calls is the model's reasoning.
        answers = [_letta_answer(call) for call in message.tool_calls]
        said = "\n".join(answer for answer in answers if answer)
        return said, "" if said else "tool message"
    if message.role == "user" and text.startswith("{"):
        match _parsed(text):
            case {"type": str(kind), "message": str(said)}:
                return said, "" if kind == LETTA_USER_MESSAGE else "system message"
            case {"type": str()}:
                return "", "system message"
    return text, ""


def _letta_answer(call: Mapping[str, object]) -> str:
    match call.get("function"):
        case {"name": str(name), "arguments": str(arguments)} if name == LETTA_ANSWER_TOOL:
            match _parsed(arguments):
                case {"message": str(said)}:
                    return said
    return ""


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _entity_name(name: str) -> str:
    if name.lower() in USER_ENTITIES:
        return "the user"
    return name.replace("_", " ")
