"""Requests to forget in words (`forget that I live in Madrid`), and to undo that for a minute."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.assistant.turn.recall import find_related
from spade_llm.core.limits import LruDict
from spade_llm.memory.contract import (
    MemoryChange,
    MemoryDraft,
    MemoryEntry,
    ObservedMessage,
    OwnedMemory,
)
from spade_llm.memory.learning.episodes import EPISODE_DATES
from spade_llm.providers.model import ChatModel, ContextMessage, ToolCallEntry, language_model
from spade_llm.search.language import language_of, split_sentences
from spade_llm.search.memory_query import FACT_TYPES, MemoryFilter, MemoryType, Origin
from spade_llm.understanding.clause_kinds import is_question
from spade_llm.understanding.forgetting import (
    ForgetRequest,
    are_about_different_things,
    are_same,
    closest,
    implied_requests,
    matching,
    means_one,
    mentioning,
    mentions,
    names_more,
    read_forget_request,
    repeating,
    replaced_by,
    several_topics,
    spared,
    without_part,
)
from spade_llm.understanding.reminders import change_of_list
from spade_llm.understanding.statements import statements_of
from spade_llm.understanding.vocabulary import values_of_part
from spade_llm.understanding.wording import in_second_person

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.commands.command_registry import CommandRegistry
    from spade_llm.assistant.history.conversation_cache import Conversation, ConversationCache
    from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour

UNDO_S = 60.0
"""Time in seconds for which /undo brings back what was forgotten."""
CHOICE_S = 300.0
"""Time in seconds for which an answer to "which one?" is waited for."""
MAX_PEOPLE = 1000
"""Maximum number of people whose last request is kept in RAM (LRU)."""
MAX_FOUND = 50
"""Entries, and messages, that are compared with a request."""
MAX_MESSAGES_BACK = 3
"""Messages in which `delete that` looks for what was told last."""
MAX_CHOICE_CHARS = 100
"""Maximum length of an answer to "which one?" in characters; a longer one is something else."""
FORGOTTEN_TEXT = "[…]"
"""Text that takes the place of a forgotten message in the conversation in RAM."""


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
_UNDO = re.compile(
    r"(?:(?:no|wait|oops|sorry|please|espera|perd[oó]n|ay),? )*(?:undo(?: (?:that|it))?"
    r"|bring (?:it|that) back|deshacer|deshaz(?:lo| eso)?|recup[eé]ral[oa]|vuelve a ponerl[oa])"
    r"(?:,? (?:please|por favor))?",
    re.IGNORECASE,
)
"""`/undo` in words, while something can be undone."""
_ALL_WORDS = frozenset(
    {"all", "both", "all of them", "both of them", "everything", "todos", "todas"}
)
_ALL_WORDS |= {"ambos", "ambas", "los dos", "las dos", "todo"}
_ORDINALS = {
    "first": 1, "one": 1, "second": 2, "third": 3, "two": 2, "three": 3, "primero": 1, "primera": 1,
    "segundo": 2, "segunda": 2, "tercero": 3, "tercera": 3, "uno": 1, "dos": 2, "tres": 3,
}  # fmt: skip
_AROUND_NUMBER = frozenset({
    "the", "number", "one", "please", "option", "el", "la", "lo", "número", "numero", "por",
    "favor", "opción", "opcion",
})  # fmt: skip
"""Words of an answer beside its number or ordinal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PendingForget:
    """Memories of which the person has yet to say which are meant; or that were just forgotten."""

    entries: tuple[MemoryEntry, ...]
    until_s: float
    """Time until which it can be answered or undone, on the clock of ForgetRequests."""
    language: str
    """Language of the request: `/undo` has none."""
    kept: tuple[str, ...] = ()
    """Ids of what is left of entries of which a part was forgotten."""


class ForgetRequests:
    """Requests to forget in words: finds what is meant, asks if several memories fit, and removes
    every trace.

    Only the person's own chats and memories: not in rooms, where what one says is not only theirs
    to delete. The entries can be brought back for a minute; messages that said the same are
    gone, also from the episodes that quoted them.
    """

    def __init__(
        self,
        memory: MemoryBehaviour,
        conversations: ConversationCache,
        *,
        model: ChatModel,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`model`: if it is a language model, a request that may be meant for it or its tools
        (`delete my last email`) is left to it. `clock`: monotonic, in seconds."""
        self._model = model
        self._memory = memory
        self._conversations = conversations
        self._clock = clock
        self._choices: LruDict[str, _PendingForget] = LruDict(MAX_PEOPLE)
        self._undoable: LruDict[str, _PendingForget] = LruDict(MAX_PEOPLE)

    def add_to(self, commands: CommandRegistry) -> None:
        commands.add("undo", self._undo, "/undo – bring back what I forgot in the last minute")

    async def answer(self, turn_input: ChatTurnInput) -> str | None:
        """Carry out the request that a message makes. None: it makes none, or nothing that it
        could mean is known, so that it is answered like any other message.

        Raises RequestError, ServiceError, TimeoutError: memory is unavailable. The memories are
        still there then, also as choices, so that the same request finds them again.
        """
        memory = self._memory.memory
        # A program that requires an answer by a schema could not read ours.
        if memory is None or turn_input.message.said.room or turn_input.answer_schema:
            return None
        self._drop_expired()
        if turn_input.peer in self._undoable and _UNDO.fullmatch(turn_input.text.strip(" .!¡")):
            return await self._undo("", turn_input)
        if (answer := await self._answer_to_choice(memory, turn_input)) is not None:
            return answer
        request = read_forget_request(turn_input.text)
        if request is None or (language_model(self._model) and not request.is_explicit):
            return None
        await self._memory.hand_over(turn_input.peer)
        conversation = self._conversations.get(
            turn_input.conversation, peer=turn_input.message.owner
        )
        said = [one["content"] or "" for one in conversation.messages if one["role"] == "user"]
        meant = await _find_first(
            memory, turn_input, _readings(request, turn_input.text, _told_last(said))
        )
        if meant is None:
            return None
        request, by_topic = meant
        found = [*{one.id: one for group in by_topic for one in group}.values()]
        if any(_is_unclear(request, group) for group in by_topic):
            return self._ask(turn_input, found)
        return await self._forget(
            memory, turn_input, found, language_of(turn_input.text), topic=request.topic
        )

    async def _answer_to_choice(self, memory: OwnedMemory, turn_input: ChatTurnInput) -> str | None:
        """Forget what the message chooses; None: nothing was asked, or it chooses nothing."""
        if (pending := self._choices.get(turn_input.peer)) is None:
            return None
        chosen = _chosen(turn_input.text, pending.entries)
        # A number has no language: the answer is in that of the request.
        answer = (
            await self._forget(memory, turn_input, chosen, pending.language) if chosen else None
        )
        # Whatever else is said instead of a choice is answered as usual, and ends the question.
        self._choices.pop(turn_input.peer, None)
        return answer

    def _ask(self, turn_input: ChatTurnInput, found: Sequence[MemoryEntry]) -> str:
        language = language_of(turn_input.text)
        self._choices[turn_input.peer] = _PendingForget(
            entries=tuple(found), until_s=self._clock() + CHOICE_S, language=language
        )
        lines = [
            f"{number}. {in_second_person(one, language)}"
            for number, one in enumerate(_distinct(found), 1)
        ]
        return "\n".join([_TEXTS[language].which, *lines])

    async def _forget(
        self,
        memory: OwnedMemory,
        turn_input: ChatTurnInput,
        entries: Sequence[MemoryEntry],
        language: str,
        *,
        topic: str = "",
    ) -> str:
        """Forget entries. Of one that tells more than the topic (`the landlord's number`), the rest
        is kept."""
        texts = _distinct(entries)
        ids = [one.id for one in entries]
        rests = [(one, *without_part(topic, one.content)) for one in entries]
        # The entries last: if memory fails before, the same request finds them again.
        await self._forget_repetitions(memory, turn_input, texts, but=ids)
        await memory.forget(ids, subject=turn_input.peer)
        kept = [
            await memory.add(replace(_draft_of(one), content=rest))
            for one, rest, _ in rests
            if rest and one.invalid_at is None
        ]
        self._undoable[turn_input.peer] = _PendingForget(
            entries=tuple(entries),
            until_s=self._clock() + UNDO_S,
            language=language,
            kept=tuple(one.id for one in kept),
        )
        for conversation in self._conversations.of_peer(turn_input.message.owner):
            await _redact(conversation, texts, self._conversations)
        parts = {one.content.strip(" ."): part for one, _, part in rests if part}
        told = "; ".join(in_second_person(parts.get(one, one), language) for one in texts)
        return _TEXTS[language].forgotten.format(told)

    async def _forget_repetitions(
        self,
        memory: OwnedMemory,
        turn_input: ChatTurnInput,
        texts: Sequence[str],
        *,
        but: Sequence[str],
    ) -> None:
        """Remove all else that says what these memories say: messages, what episodes quote of
        them, learned facts. `but`: ids of the memories themselves."""
        which = MemoryFilter(subject=turn_input.peer, with_invalid=True)
        for text in texts:
            found = await find_related(
                memory, text, which=which, limit=MAX_FOUND, with_messages=True
            )
            messages = {
                (one.session, str(one.metadata["message_id"])): _message_of(one)
                for one in found
                if one.origin is Origin.MESSAGE and one.session
            }
            erased: list[str] = []
            for one in found:
                if one.origin is Origin.MESSAGE or one.id in but or not _is_repetition(text, one):
                    continue
                is_episode = one.origin is Origin.EPISODE
                # An episode is written anew without those of its messages that are retracted.
                quoted = await memory.episode_messages(one.id) if is_episode else ()
                messages |= {(one.session or "", message.id): message for message in quoted}
                rest = "" if quoted else _rest_of_episode(text, one)
                if rest:
                    await memory.update(MemoryChange(id=one.id, content=rest))
                elif not quoted:
                    erased.append(one.id)
            if erased:
                await memory.forget(erased, subject=turn_input.peer)
            # A message with the words of an entry is stored as that entry.
            former = [one.content for one in found if one.id in {*erased, *but}]
            for conversation, ids in _repeated(text, messages, former=former).items():
                await memory.retract(conversation, ids)

    def _drop_expired(self) -> None:
        """Remove expired entries, oldest first: forgotten texts do not stay in RAM."""
        now_s = self._clock()
        for waiting in (self._choices, self._undoable):
            while waiting and next(iter(waiting.values())).until_s < now_s:
                waiting.popitem(last=False)

    async def _undo(self, _argument: str, turn_input: ChatTurnInput) -> str:
        """Bring back the entries of the latest deletion. If memory fails, /undo can be repeated:
        what is back already is merged, not stored twice."""
        self._drop_expired()
        memory = self._memory.memory
        pending = self._undoable.get(turn_input.peer)
        if memory is None or pending is None:
            return _TEXTS[language_of(turn_input.text)].nothing_to_undo
        for entry in pending.entries:
            await _restore(memory, entry)
        if pending.kept:
            await memory.forget(pending.kept, subject=turn_input.peer)
        if self._undoable.get(turn_input.peer) is pending:
            del self._undoable[turn_input.peer]
        told = [in_second_person(one, pending.language) for one in _distinct(pending.entries)]
        return _TEXTS[pending.language].restored.format("; ".join(told))


def _readings(request: ForgetRequest, text: str, told_last: str) -> Iterator[ForgetRequest]:
    """The ways to understand a request, of which the first that means something known is right."""
    yield replace(request, topic=request.topic or told_last)
    loose = implied_requests(text)
    yield from (one for one in loose if one != request)
    if request.by_pronoun or any(one.by_pronoun for one in loose):
        yield replace(request, topic=told_last, is_loose=False)


def _told_last(said: Sequence[str]) -> str:
    """The last statement of the latest messages; empty if they only ask."""
    told = (statements_of([one]) for one in reversed(said[-MAX_MESSAGES_BACK:]))
    return next((one[-1] for one in told if one), "")


def _chosen(text: str, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """The entries that an answer to "which one?" chooses: all, by number, or by words that only one
    of them has. Empty: it is no such answer, for instance a question about one of them."""
    answer = text.casefold().strip(" .!#()")
    if len(answer) > MAX_CHOICE_CHARS or is_question(text):
        return []
    if answer in _ALL_WORDS:
        return list(entries)
    texts = _distinct(entries)
    words = [word for word in answer.split() if word not in _AROUND_NUMBER] or ["one"]
    numbers = [int(word) if word.isdecimal() else _ORDINALS.get(word, 0) for word in words]
    if len(numbers) == 1 and 1 <= numbers[0] <= len(texts):
        places = [numbers[0] - 1]
    else:
        # "The red one", "el de Jaén".
        places = matching(text, texts) or closest(text, texts)
    if len(places) != 1:
        return []
    return [one for one in entries if are_same(one.content, texts[places[0]])]


async def _find_first(
    memory: OwnedMemory, turn_input: ChatTurnInput, readings: Iterable[ForgetRequest]
) -> tuple[ForgetRequest, list[list[MemoryEntry]]] | None:
    """The first of several readings of a request that means something known, and what it means;
    None if none does."""
    for one in readings:
        if found := await _find_meant(memory, turn_input, one):
            return one, found
    return None


async def _find_meant(
    memory: OwnedMemory, turn_input: ChatTurnInput, request: ForgetRequest
) -> list[list[MemoryEntry]]:
    """The memories that a request means, for each thing that it names; none if it names nothing,
    changes a list of the person, or nothing that it could mean is known."""
    topic = request.topic
    if not topic:
        return []
    which = MemoryFilter(subject=turn_input.peer, types=FACT_TYPES, with_invalid=True)
    entries = await find_related(memory, topic, which=which, limit=MAX_FOUND)
    # "Take the milk off the list": the list stays, without the milk.
    if change_of_list(turn_input.text.strip(" .!"), [one.content for one in entries]):
        return []
    if found := _by_topic(request, topic, entries):
        return found
    # "My tablets" has no word of "I take citalopram".
    latest = await memory.list(which, limit=MAX_FOUND)
    return _by_topic(request, topic, latest.entries)


def _by_topic(
    request: ForgetRequest, topic: str, entries: Sequence[MemoryEntry]
) -> list[list[MemoryEntry]]:
    """The memories that a request means, for each thing that it names; if one of these is not
    known, for the whole."""
    texts = [one.content for one in entries]
    if request.is_statement:
        same = [entries[at] for at in mentioning([topic], texts)]
        return [same] if same else []
    kept = spared(request, texts)
    if request.is_loose:
        meant = [entries[at] for at in closest(topic, texts) if at not in kept]
        return [_meant(topic, meant, entries)] if meant else []
    # Behind a comma the same may be named again: `my skin illness, the psoriasis`.
    again = topic.rpartition(",")[2].strip()
    for topics in (several_topics(topic), [topic], [again]):
        found = [
            [
                entries[at]
                for at in matching(one, texts, with_mentions=request.is_everything)
                # Of one that tells both, a part is forgotten.
                if at not in kept or without_part(one, texts[at])[0]
            ]
            for one in topics
        ]
        if all(found):
            return [_meant(one, group, entries) for one, group in zip(topics, found, strict=True)]
    # "Who needs to know how old I am? Delete it": what stands before the request says more.
    places = [at for at in closest(topic, texts) if at not in kept] if request.is_all else []
    return [_meant(topic, [entries[places[0]]], entries)] if len(places) == 1 else []


def _is_unclear(request: ForgetRequest, found: Sequence[MemoryEntry]) -> bool:
    """Check whether the person has to choose."""
    texts = _distinct(found)
    is_of_one = not are_about_different_things(texts) and not names_more(request.topic, texts)
    is_of_one = is_of_one and not means_one(request.topic, texts)
    return len(texts) > 1 and not (request.is_everything or (request.is_all and is_of_one))


def _meant(
    topic: str, found: list[MemoryEntry], entries: Sequence[MemoryEntry]
) -> list[MemoryEntry]:
    """The memories that hold, of those that have the words of a request; what they replaced goes
    along with them (_forget_repetitions). `entries`: all that are related."""
    current = [one for one in found if one.invalid_at is None]
    if not current and not values_of_part(topic):
        # "Forget who my dentist is" means the present one, although only what was said of the
        # former one has these words.
        current = [
            one
            for one in entries
            if one.invalid_at is None
            and any(replaced_by(one.content, former.content) for former in found)
        ]
    return current or found


async def _restore(memory: OwnedMemory, entry: MemoryEntry) -> None:
    """Add a forgotten entry again, with a new id; a former fact stays a former one."""
    is_valid = entry.invalid_at is None
    # If the person has meanwhile told it again, a valid one is merged; a former one stays apart.
    restored = await memory.add(_draft_of(entry), merge=is_valid)
    if not is_valid:
        await memory.update(MemoryChange(id=restored.id, invalid_at=entry.invalid_at))


def _draft_of(entry: MemoryEntry) -> MemoryDraft:
    """The entry as it was, apart from its sources: they are gone."""
    expires_in = entry.expires_at - datetime.now(UTC) if entry.expires_at else None
    return MemoryDraft(
        tier=entry.tier,
        content_type=entry.content_type,
        ttl_s=max(0.0, expires_in.total_seconds()) if expires_in else None,
        importance=entry.importance if entry.is_importance_set else None,
        content=entry.content,
        category=entry.category,
        type=entry.type,
        context=entry.context,
        confidence=entry.confidence,
        subject=entry.subject,
        session=entry.session,
        tags=entry.tags,
        metadata=entry.metadata,
        # Not the time of the restoration: what was said since then is newer.
        valid_at=entry.holds_since,
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


async def _redact(
    conversation: Conversation, texts: Sequence[str], conversations: ConversationCache
) -> None:
    """Replace messages in RAM that say what was forgotten. Their places stay: servers refuse a
    tool call without its result."""
    messages = list(conversation.messages)
    said = [f"{one.get('content') or ''} {one.get('tool_calls') or ''}" for one in messages]
    asked = [number for number, one in enumerate(messages) if one["role"] == "user"]
    # In threads: a long conversation takes seconds.
    found = set(await asyncio.to_thread(mentioning, texts, said))
    repeated = await asyncio.to_thread(repeating, texts, [said[number] for number in asked])
    for number in (asked[place] for place in repeated):
        found.add(number)
        # The answer to it, and the tool calls between them, tell it again.
        for later in range(number + 1, len(messages)):
            if messages[later]["role"] == "user":
                break
            found.add(later)
    # By identity, since another message may have come meanwhile.
    meant = {id(messages[number]) for number in found}
    # Summaries and selections of these messages say it, too.
    conversations.will_change(conversation)
    kept = [_redacted(one) if id(one) in meant else one for one in conversation.messages]
    conversation.messages.clear()
    conversation.messages.extend(kept)


def _message_of(entry: MemoryEntry) -> ObservedMessage:
    """The message that a search has found as an entry."""
    return ObservedMessage(
        id=str(entry.metadata["message_id"]),
        role=str(entry.metadata["role"]),
        content=entry.content,
        at=entry.holds_since,
    )


def _rest_of_episode(text: str, entry: MemoryEntry) -> str:
    """The text of an episode without the sentences that repeat a statement, to be used if its
    messages are no longer stored. Empty: nothing is left, or the entry is no episode."""
    dates = EPISODE_DATES.match(entry.content)
    if entry.origin is not Origin.EPISODE or dates is None:
        return ""
    lines: list[str] = []
    for line in entry.content[dates.end() :].splitlines():
        name, _, said = line.partition(": ")
        sentences = split_sentences(said)
        meant = set(repeating([text], sentences))
        if left := [one for number, one in enumerate(sentences) if number not in meant]:
            lines.append(f"{name}: {' '.join(left)}")
    return dates[0] + "\n".join(lines) if lines else ""


def _repeated(
    text: str, messages: Mapping[tuple[str, str], ObservedMessage], *, former: Sequence[str]
) -> dict[str, list[str]]:
    """Ids, by conversation, of the messages that repeat a statement. `messages`: by conversation
    and id. `former`: statements that they may correct."""
    # In the order in which they were said: one may change what another one told.
    in_order = sorted(messages, key=lambda key: messages[key].at)
    found: dict[str, list[str]] = {}
    for is_own in (True, False):
        keys = [key for key in in_order if (messages[key].role == "user") == is_own]
        contents = [messages[key].content for key in keys]
        for number in repeating([text], contents, former=former if is_own else ()):
            conversation, id = keys[number]
            found.setdefault(conversation, []).append(id)
    return found


def _is_repetition(text: str, entry: MemoryEntry) -> bool:
    """True for episodes that tell it, learned forms of it, and its former values."""
    if entry.type is MemoryType.EPISODIC:
        return mentions(text, entry.content)
    is_former = entry.invalid_at is not None and replaced_by(text, entry.content)
    return is_former or are_same(text, entry.content)


def _redacted(message: ContextMessage) -> ContextMessage:
    # One branch for each role: a dictionary of one type cannot be made of two.
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
