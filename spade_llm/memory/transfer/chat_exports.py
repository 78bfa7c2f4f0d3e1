"""Readers for exported chats: ChatGPT, Claude and Open WebUI, with the memories of these programs.

Each stores a conversation as a tree: an edited question or a repeated answer is another branch. The
branch that the program shows is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel, ValidationError

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.transfer.records import (
    ImportedRecord,
    ImportTarget,
    SourceId,
    content_digest,
    fact_record,
    fault_record,
    message_record,
    parse_time,
)
from spade_llm.search.memory_query import Category

CHATGPT, CLAUDE, OPEN_WEBUI = "chatgpt", "claude", "open-webui"

OTHER_BRANCH = "other-branch message"
HIDDEN = "hidden message"
NOT_TO_REMEMBER = "do-not-remember conversation"
"""Conversation that the person has excluded from ChatGPT's memory."""
TOOL_MESSAGE = "tool message"
REASONING = "reasoning message"
CHATGPT_MEMORY_TOOL = "bio"
"""Recipient of the texts that ChatGPT saves as memories."""
CHATGPT_REASONING = frozenset({"thoughts", "reasoning_recap"})
CHATGPT_INSTRUCTIONS = "user_editable_context"
_CITATION = re.compile("\ue200[^\ue201]*\ue201")
"""Placeholder of a source in ChatGPT's answers, between characters of a private use area."""
_FENCED = re.compile(r"```(.*)```", re.DOTALL)
_FORGET = re.compile(r"\s*(?:forget|delete|remove|olvida)\b", re.IGNORECASE)
_DETAILS = re.compile(r"<details\b[^>]*\btype=\"[^\"]*\"[^>]*>.*?</details>\s*", re.DOTALL)
"""Reasoning and tool calls in Open WebUI's answers."""
_HEADING = re.compile(r"(?:#+\s+(.+)|\*\*([^*]+)\*\*:?)")


class _ChatGPTNode(BaseModel):
    message: object = None
    parent: str | None = None


class _ChatGPTConversation(BaseModel):
    id: str = ""
    conversation_id: str | None = None
    title: str | None = None
    create_time: object = None
    mapping: dict[str, _ChatGPTNode]
    current_node: str | None = None
    is_do_not_remember: bool | None = None


class _ChatGPTAuthor(BaseModel):
    role: str


class _ChatGPTMessage(BaseModel):
    id: str
    author: _ChatGPTAuthor
    content: dict[str, object]
    create_time: object = None
    recipient: str | None = None
    metadata: dict[str, object] | None = None


class _ClaudeConversation(BaseModel):
    uuid: str
    name: str | None = None
    created_at: str | None = None
    chat_messages: list[object]


class _ClaudeMessage(BaseModel):
    uuid: str
    sender: str
    text: str | None = None
    content: list[dict[str, object]] | None = None
    created_at: str | None = None
    parent_message_uuid: str | None = None


class _ClaudeMemories(BaseModel):
    conversations_memory: str | None = None
    project_memories: dict[str, object] | None = None


class _ClaudeProject(BaseModel):
    uuid: str
    name: str
    description: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    prompt_template: str | None = None
    docs: list[object] | None = None


class _WebUIChat(BaseModel):
    id: str
    title: str | None = None
    created_at: object = None
    chat: dict[str, object]


class _WebUIMessage(BaseModel):
    role: str
    content: str | list[dict[str, object]] | None = None
    timestamp: object = None


class _WebUIMemory(BaseModel):
    id: str
    content: str
    created_at: object = None
    updated_at: object = None


def is_chatgpt(item: Mapping[str, object]) -> bool:
    match item:
        case {"mapping": dict()} | {"conversations": [{"mapping": dict()}, *_]}:
            return True
    return False


def read_chatgpt(name: str, item: object, target: ImportTarget) -> Iterator[ImportedRecord]:
    """Read a conversation: its messages, saved memories and the person's custom instructions."""
    match item:
        case {"conversations": list(conversations)}:
            for number, one in enumerate(conversations, start=1):
                yield from _read_chatgpt_chat(f"{name}, conversation {number}", one, target)
        case _:
            yield from _read_chatgpt_chat(name, item, target)


def is_claude(item: Mapping[str, object]) -> bool:
    return (
        isinstance(item.get("chat_messages"), list)
        or "conversations_memory" in item
        or {"uuid", "name", "docs"} <= item.keys()
    )


def read_claude(name: str, item: object, target: ImportTarget) -> Iterator[ImportedRecord]:
    """Read a conversation, the memories (one for each paragraph) or a project's description."""
    try:
        match item:
            case {"conversations_memory": _}:
                memories = _ClaudeMemories.model_validate(item)
                yield from _read_claude_memories(name, memories, target)
            case {"docs": _}:
                yield from _read_claude_project(name, _ClaudeProject.model_validate(item), target)
            case _:
                yield from _read_claude_chat(name, _ClaudeConversation.model_validate(item), target)
    except (ValidationError, InvalidArguments) as error:
        yield fault_record(name, error)


def is_open_webui(item: Mapping[str, object]) -> bool:
    chat = item.get("chat")
    is_memory = {"id", "user_id", "content", "created_at", "updated_at"} <= item.keys()
    return is_memory or (isinstance(chat, dict) and ("history" in chat or "messages" in chat))


def read_open_webui(name: str, item: object, target: ImportTarget) -> Iterator[ImportedRecord]:
    """Read a chat of "Export chats", or a memory of `GET /api/v1/memories/`. An administrator's
    export has the chats of everybody."""
    person = str(item.get("user_id") or "") if isinstance(item, dict) else ""
    for record in _read_webui_item(name, item, target):
        yield replace(record, person=person)


def _read_webui_item(name: str, item: object, target: ImportTarget) -> Iterator[ImportedRecord]:
    try:
        if isinstance(item, dict) and "chat" not in item:
            memory = _WebUIMemory.model_validate(item)
            yield fact_record(
                name,
                SourceId(program=OPEN_WEBUI, id=memory.id),
                target,
                memory.content,
                created_at=parse_time("created_at", memory.created_at),
                updated_at=parse_time("updated_at", memory.updated_at),
            )
            return
        chat = _WebUIChat.model_validate(item)
    except (ValidationError, InvalidArguments) as error:
        yield fault_record(name, error)
        return
    source = SourceId(program=OPEN_WEBUI, id=chat.id)
    messages, leaf = _webui_messages(chat.chat)
    parents = {
        key: parent if isinstance(parent := message.get("parentId"), str) else None
        for key, message in messages.items()
    }
    branch = _branch(parents, leaf)
    at, where = chat.created_at, _place(name, chat.title)
    for key in branch:
        place = f"{where}, message {key[:40]!r}"
        try:
            message = _WebUIMessage.model_validate(messages[key])
        except ValidationError as error:
            yield fault_record(place, error)
            continue
        at = message.timestamp or at
        text = _DETAILS.sub("", _text_of_parts(message.content))
        yield message_record(place, source, target, id=key, role=message.role, content=text, at=at)
    yield from _other_branches(where, list(messages), branch)


def _read_chatgpt_chat(name: str, item: object, target: ImportTarget) -> Iterator[ImportedRecord]:
    try:
        old = _ChatGPTConversation.model_validate(item)
        started_at = parse_time("create_time", old.create_time)
    except (ValidationError, InvalidArguments) as error:
        yield fault_record(name, error)
        return
    if old.is_do_not_remember:
        yield ImportedRecord(name=name, omitted=NOT_TO_REMEMBER)
        return
    source = SourceId(program=CHATGPT, id=old.conversation_id or old.id)
    parents = {key: node.parent for key, node in old.mapping.items()}
    branch = _branch(parents, old.current_node)
    at: object = started_at.timestamp() if started_at else None
    where = _place(name, old.title)
    for key in branch:
        if old.mapping[key].message is None:
            continue
        place = f"{where}, message {key[:40]!r}"
        try:
            message = _ChatGPTMessage.model_validate(old.mapping[key].message)
        except ValidationError as error:
            yield fault_record(place, error)
            continue
        at = message.create_time or at
        yield from _read_chatgpt_message(place, source, message, at, target)
    yield from _other_branches(where, [key for key in parents if old.mapping[key].message], branch)


def _read_chatgpt_message(
    place: str, source: SourceId, message: _ChatGPTMessage, at: object, target: ImportTarget
) -> Iterator[ImportedRecord]:
    kind = str(message.content.get("content_type"))
    metadata = message.metadata or {}
    is_tool_call = message.author.role == "assistant" and (
        message.recipient not in (None, "", "all") or kind not in ("text", "multimodal_text")
    )
    if kind == CHATGPT_INSTRUCTIONS:
        yield from _read_instructions(place, message, at, target)
    elif message.author.role == "assistant" and message.recipient == CHATGPT_MEMORY_TOOL:
        yield _read_saved_memory(place, message, at, target)
    elif kind in CHATGPT_REASONING:
        yield ImportedRecord(name=place, omitted=REASONING)
    elif is_tool_call:
        yield ImportedRecord(name=place, omitted=TOOL_MESSAGE)
    elif metadata.get("is_visually_hidden_from_conversation") and message.author.role != "system":
        yield ImportedRecord(name=place, omitted=HIDDEN)
    else:
        yield message_record(
            place,
            source,
            target,
            id=message.id,
            role=message.author.role,
            content=_chatgpt_text(message),
            at=at,
        )


def _read_instructions(
    place: str, message: _ChatGPTMessage, at: object, target: ImportTarget
) -> Iterator[ImportedRecord]:
    """Custom instructions, which each conversation repeats: their ids come from their text."""
    given = (message.metadata or {}).get("user_context_message_data")
    own = given if isinstance(given, dict) else {}
    for field, raw, category in (
        ("user_profile", own.get("about_user_message"), Category.FACT),
        ("user_instructions", own.get("about_model_message"), Category.PREFERENCE),
    ):
        text = raw or message.content.get(field)
        if not isinstance(text, str) or not text.strip():
            continue
        # Without the sentences that ChatGPT puts around it.
        fenced = None if raw else _FENCED.search(text)
        yield _chatgpt_fact(place, (fenced[1] if fenced else text).strip(), at, target, category)


def _read_saved_memory(
    place: str, message: _ChatGPTMessage, at: object, target: ImportTarget
) -> ImportedRecord:
    text = _chatgpt_text(message).strip()
    if not text or _FORGET.match(text):
        return ImportedRecord(name=place, omitted=TOOL_MESSAGE)
    return _chatgpt_fact(place, text, at, target, Category.FACT)


def _chatgpt_fact(
    place: str, text: str, at: object, target: ImportTarget, category: Category
) -> ImportedRecord:
    try:
        created_at = parse_time("create_time", at)
    except InvalidArguments as error:
        return fault_record(place, error)
    source = SourceId(program=CHATGPT, id=content_digest(text))
    return fact_record(place, source, target, text, category=category, created_at=created_at)


def _chatgpt_text(message: _ChatGPTMessage) -> str:
    parts = message.content.get("parts")
    if not isinstance(parts, list):
        parts = [message.content.get("text")]
    # What was dictated is a part with a text; pictures have none.
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return _CITATION.sub("", "\n".join(text for text in texts if isinstance(text, str)))


def _read_claude_chat(
    name: str, old: _ClaudeConversation, target: ImportTarget
) -> Iterator[ImportedRecord]:
    source = SourceId(program=CLAUDE, id=old.uuid)
    where = _place(name, old.name)
    messages: dict[str, _ClaudeMessage] = {}
    for number, one in enumerate(old.chat_messages, start=1):
        try:
            message = _ClaudeMessage.model_validate(one)
        except ValidationError as error:
            yield fault_record(f"{where}, message {number}", error)
            continue
        messages[message.uuid] = message
    ordered = list(messages)
    parents = {key: message.parent_message_uuid for key, message in messages.items()}
    # Older exports have no parents, but are in order.
    has_tree = all(parents.values())
    branch = _branch(parents, ordered[-1] if ordered else None) if has_tree else ordered
    at: object = old.created_at
    for key in branch:
        message = messages[key]
        at = message.created_at or at
        yield message_record(
            f"{where}, message {key[:40]!r}",
            source,
            target,
            id=key,
            role="user" if message.sender == "human" else message.sender,
            content=_text_of_parts(message.content) or message.text or "",
            at=at,
        )
    yield from _other_branches(where, ordered, branch)


def _read_claude_memories(
    name: str, old: _ClaudeMemories, target: ImportTarget
) -> Iterator[ImportedRecord]:
    texts = [("", old.conversations_memory or "")]
    texts += [
        (project, text)
        for project, text in (old.project_memories or {}).items()
        if isinstance(text, str)
    ]
    for project, text in texts:
        for number, (heading, paragraph) in enumerate(_paragraphs(text), start=1):
            yield fact_record(
                f"{name}, {f'project {project[:40]!r}' if project else 'memory'},"
                f" paragraph {number}",
                SourceId(program=CLAUDE, id=content_digest(paragraph)),
                target,
                paragraph,
                context=heading or None,
                metadata={"project": project},
            )


def _read_claude_project(
    name: str, old: _ClaudeProject, target: ImportTarget
) -> Iterator[ImportedRecord]:
    where = _place(name, old.name)
    if old.description:
        yield fact_record(
            where,
            SourceId(program=CLAUDE, id=old.uuid),
            target,
            f"Project {old.name}: {old.description}",
            tags=["project"],
            created_at=parse_time("created_at", old.created_at),
            updated_at=parse_time("updated_at", old.updated_at),
        )
    if old.prompt_template:
        yield ImportedRecord(name=where, omitted="project instruction")
    for _ in old.docs or ():
        yield ImportedRecord(name=where, omitted="project document")


def _webui_messages(
    chat: Mapping[str, object],
) -> tuple[Mapping[str, Mapping[str, object]], str | None]:
    """Messages by id, and the id of the last one that is shown."""
    match chat.get("history"):
        case {"messages": dict(found), "currentId": leaf}:
            messages = {key: one for key, one in found.items() if isinstance(one, dict)}
            return messages, leaf if isinstance(leaf, str) else None
    listed = chat.get("messages")
    ordered = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    # Oldest exports: a list. Each message answers the one before it.
    keys = [str(one.get("id") or number) for number, one in enumerate(ordered, start=1)]
    parents = [None, *keys]
    messages = {
        key: {**one, "parentId": parent}
        for key, one, parent in zip(keys, ordered, parents, strict=False)
    }
    return messages, keys[-1] if keys else None


def _branch(parents: dict[str, str | None], leaf: str | None) -> Sequence[str]:
    """Ids from the root to a leaf; to the last one in the file if `leaf` is unknown."""
    if leaf not in parents:
        leaf = next(reversed(parents), None)
    found: dict[str, None] = {}
    while leaf is not None and leaf in parents and leaf not in found:
        found[leaf] = None
        leaf = parents[leaf]
    return list(reversed(found))


def _other_branches(
    where: str, keys: Sequence[str], branch: Sequence[str]
) -> Iterator[ImportedRecord]:
    for _ in set(keys) - set(branch):
        yield ImportedRecord(name=where, omitted=OTHER_BRANCH)


def _paragraphs(text: str) -> Iterator[tuple[str, str]]:
    heading = ""
    for block in re.split(r"\n\s*\n", text):
        first, _, rest = block.strip().partition("\n")
        if found := _HEADING.fullmatch(first.strip()):
            heading = (found[1] or found[2]).strip()
            first = ""
        if paragraph := f"{first}\n{rest}".strip():
            yield heading, paragraph


def _text_of_parts(content: str | list[dict[str, object]] | None) -> str:
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in content or () if part.get("type") == "text"]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)


def _place(name: str, title: str | None) -> str:
    return f"{name} ({title[:40]!r})" if title else name
