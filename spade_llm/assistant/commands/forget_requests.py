"""Requests to forget in words (`forget that I live in Madrid`), and /undo for a minute."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.core.limits import LruDict
from spade_llm.memory.contract import MemoryDraft
from spade_llm.providers.offline.language import language_of
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, MemoryType, Origin, SearchMode
from spade_llm.understanding.features import related_words
from spade_llm.understanding.forgetting import (
    are_about_different_beings,
    are_same,
    matching,
    mentions,
    read_forget_request,
)
from spade_llm.understanding.statements import statements_of
from spade_llm.understanding.wording import in_second_person

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.commands.registry import CommandRegistry
    from spade_llm.assistant.history.conversations import Conversation, ConversationCache
    from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
    from spade_llm.memory.contract import MemoryEntry, OwnedMemory
    from spade_llm.providers.model import ContextMessage, ToolCallEntry

UNDO_S = 60.0
"""Time in seconds for which /undo brings back what was forgotten."""
CHOICE_S = 300.0
"""Time in seconds for which an answer to "which one?" is waited for."""
MAX_PEOPLE = 1000
"""Maximum number of people whose last request is kept in RAM (LRU)."""
MAX_FOUND = 50
"""Entries, and messages, that are compared with a request."""
FORGOTTEN_TEXT = "[…]"
"""What stands in the conversation in RAM in the place of a forgotten message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    forgotten: str
    which: str
    restored: str
    nothing_to_undo: str


_TEXTS = {
    "en": _Texts(
        forgotten="I have forgotten it: {}. (/undo brings it back for a minute.)",
        which="Which one do you mean? Answer with its number, or “all”:",
        restored="It is back: {}.",
        nothing_to_undo="There is nothing to undo: /undo works for a minute after a deletion.",
    ),
    "es": _Texts(
        forgotten="Lo he olvidado: {}. (Con /undo vuelve durante un minuto.)",
        which="¿Cuál quieres decir? Responde con su número o «todos»:",
        restored="Ha vuelto: {}.",
        nothing_to_undo="No hay nada que deshacer: /undo sirve durante un minuto tras un borrado.",
    ),
}
_ALL_WORDS = frozenset(
    {"all", "both", "all of them", "both of them", "everything", "todos", "todas"}
)
_ALL_WORDS |= {"ambos", "ambas", "los dos", "las dos", "todo"}
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "one": 1, "two": 2, "three": 3, "primero": 1, "primera": 1,
    "segundo": 2, "segunda": 2, "tercero": 3, "tercera": 3, "uno": 1, "dos": 2, "tres": 3,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _PendingForget:
    """Memories of which the person has yet to say which are meant; or that were just forgotten."""

    entries: tuple[MemoryEntry, ...]
    until: float


class ForgetRequests:
    """Finds what a person wants forgotten, asks if several memories fit, and removes every trace.

    The entries can be brought back for a minute; messages and episodes that said the same are gone.
    """

    def __init__(
        self,
        memory: MemoryBehaviour,
        conversations: ConversationCache,
        *,
        has_model: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`has_model`: a request that may be meant for the model or its tools (`delete my last
        email`) is left to it."""
        self._has_model = has_model
        self._memory = memory
        self._conversations = conversations
        self._clock = clock
        self._choices: LruDict[str, _PendingForget] = LruDict(MAX_PEOPLE)
        self._undoable: LruDict[str, _PendingForget] = LruDict(MAX_PEOPLE)

    def add_to(self, commands: CommandRegistry) -> None:
        commands.add("undo", self._undo, "/undo – bring back what was forgotten in the last minute")

    async def answer(self, turn_input: ChatTurnInput) -> str | None:
        """Carry out the request that a message makes. None: it makes none, or nothing that it
        could mean is known, so that it is answered like any other message.

        Raises RequestError, ServiceError.
        """
        memory = self._memory.memory
        if memory is None or turn_input.message.said.room or turn_input.message.said.is_passing:
            return None
        if (chosen := self._chosen(turn_input)) is not None:
            return await self._forget(memory, turn_input, chosen)
        request = read_forget_request(turn_input.text)
        if request is None or (self._has_model and not request.is_explicit):
            return None
        await self._memory.hand_over(turn_input.peer)
        conversation = self._conversations.get(
            turn_input.conversation, peer=turn_input.message.owner
        )
        topic = request.topic or _last_statement(conversation.messages)
        if not topic:
            return None
        entries = await _entries_about(memory, topic, turn_input.peer)
        found = [entries[number] for number in matching(topic, [one.content for one in entries])]
        if not found:
            return None
        texts = _distinct(found)
        is_unclear = not request.is_all or (
            not request.is_everything and are_about_different_beings(texts)
        )
        if len(texts) > 1 and is_unclear:
            return self._ask(turn_input, found)
        return await self._forget(memory, turn_input, found)

    def _ask(self, turn_input: ChatTurnInput, found: Sequence[MemoryEntry]) -> str:
        until = self._clock() + CHOICE_S
        self._choices[turn_input.peer] = _PendingForget(entries=tuple(found), until=until)
        language = language_of(turn_input.text)
        lines = [
            f"{number}. {in_second_person(one, language)}"
            for number, one in enumerate(_distinct(found), 1)
        ]
        return "\n".join([_TEXTS[language].which, *lines])

    def _chosen(self, turn_input: ChatTurnInput) -> list[MemoryEntry] | None:
        """The entries that the message chooses among those that were asked about."""
        pending = self._choices.pop(turn_input.peer, None)
        if pending is None or pending.until < self._clock():
            return None
        answer = turn_input.text.casefold().strip(" .!#()")
        texts = _distinct(pending.entries)
        if answer in _ALL_WORDS:
            return list(pending.entries)
        numbers = [int(word) for word in answer.split() if word.isdecimal()]
        numbers += [_ORDINALS[word] for word in answer.split() if word in _ORDINALS]
        if len(numbers) == 1 and 1 <= numbers[0] <= len(texts):
            places = [numbers[0] - 1]
        else:
            places = matching(turn_input.text, texts)
        if len(places) != 1:
            return None
        return [one for one in pending.entries if are_same(one.content, texts[places[0]])]

    async def _forget(
        self, memory: OwnedMemory, turn_input: ChatTurnInput, entries: Sequence[MemoryEntry]
    ) -> str:
        texts = _distinct(entries)
        await self._forget_repetitions(memory, turn_input, texts)
        await memory.forget([one.id for one in entries], subject=turn_input.peer)
        conversation = self._conversations.get(
            turn_input.conversation, peer=turn_input.message.owner
        )
        _redact(conversation, texts)
        until = self._clock() + UNDO_S
        self._undoable[turn_input.peer] = _PendingForget(entries=tuple(entries), until=until)
        language = language_of(turn_input.text)
        told = "; ".join(in_second_person(one, language) for one in texts)
        return _TEXTS[language].forgotten.format(told)

    async def _forget_repetitions(
        self, memory: OwnedMemory, turn_input: ChatTurnInput, texts: Sequence[str]
    ) -> None:
        """Remove all else that says what these memories say: messages, episodes, learned facts."""
        for text in texts:
            query = MemoryQuery(
                text=f"{text} {related_words(text)}",
                mode=SearchMode.KEYWORD,
                limit=MAX_FOUND,
                which=MemoryFilter(subject=turn_input.peer, with_invalid=True),
                with_messages=True,
            )
            found = [hit.entry for hit in (await memory.search(query)).hits]
            said = [one for one in found if mentions(text, one.content)]
            entries = [
                one.id
                for one in said
                if one.type is MemoryType.EPISODIC or are_same(text, one.content)
            ]
            if entries:
                await memory.forget(entries, subject=turn_input.peer)
            for one in said:
                if one.origin is Origin.MESSAGE and one.session:
                    await memory.retract(one.session, [str(one.metadata["message_id"])])

    async def _undo(self, _argument: str, turn_input: ChatTurnInput) -> str:
        texts = _TEXTS[language_of(turn_input.text)]
        memory = self._memory.memory
        pending = self._undoable.pop(turn_input.peer, None)
        if memory is None or pending is None or pending.until < self._clock():
            return texts.nothing_to_undo
        for entry in pending.entries:
            await memory.add(_draft_of(entry))
        return texts.restored.format("; ".join(_distinct(pending.entries)))


def _draft_of(entry: MemoryEntry) -> MemoryDraft:
    return MemoryDraft(
        content=entry.content,
        category=entry.category,
        type=entry.type,
        context=entry.context,
        confidence=entry.confidence,
        subject=entry.subject,
        session=entry.session,
        tags=entry.tags,
        metadata=entry.metadata,
        valid_at=entry.valid_at,
        origin=entry.origin,
    )


def _distinct(entries: Sequence[MemoryEntry]) -> list[str]:
    """Their texts; of a told and a learned form of the same fact the first only."""
    texts: list[str] = []
    for one in entries:
        text = one.content.strip(" .")
        if not any(are_same(text, other) for other in texts):
            texts.append(text)
    return texts


def _last_statement(messages: Sequence[ContextMessage]) -> str:
    said = [one["content"] or "" for one in messages if one["role"] == "user"]
    told = statements_of(said[-1:])
    return told[-1] if told else ""


async def _entries_about(memory: OwnedMemory, topic: str, subject: str) -> list[MemoryEntry]:
    query = MemoryQuery(
        text=f"{topic} {related_words(topic)}",
        mode=SearchMode.KEYWORD,
        limit=MAX_FOUND,
        which=MemoryFilter(subject=subject, with_invalid=True),
    )
    hits = (await memory.search(query)).hits
    return [hit.entry for hit in hits if hit.entry.type is not MemoryType.EPISODIC]


def _redact(conversation: Conversation, texts: Sequence[str]) -> None:
    """Replace messages in RAM that say what was forgotten. Their places stay: servers refuse a
    tool call without its result."""
    kept: list[ContextMessage] = []
    for message in conversation.messages:
        said = str(message.get("content") or "") + str(message.get("tool_calls") or "")
        if any(mentions(text, said) for text in texts):
            kept.append(_redacted(message))
        else:
            kept.append(message)
    conversation.messages.clear()
    conversation.messages.extend(kept)


def _redacted(message: ContextMessage) -> ContextMessage:
    if message["role"] == "user":
        return {**message, "content": FORGOTTEN_TEXT}
    if message["role"] == "tool":
        return {**message, "content": FORGOTTEN_TEXT}
    if message["role"] != "assistant":
        return message
    if not message.get("tool_calls"):
        return {**message, "content": FORGOTTEN_TEXT}
    calls: list[ToolCallEntry] = [
        {
            "id": call["id"],
            "type": call["type"],
            "function": {"name": call["function"]["name"], "arguments": "{}"},
        }
        for call in message["tool_calls"]
    ]
    return {**message, "content": None, "tool_calls": calls}
