"""Commands on a person's memories: list, forget, clear, learning; numbered lists and export."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from spade_llm.assistant.commands.command_registry import CommandRegistry, is_confirmed, means_all
from spade_llm.assistant.turn.recall import find_related
from spade_llm.core.limits import LruDict
from spade_llm.core.text import load_texts, pluralize, single_line
from spade_llm.memory.contract import MemoryChange, ReflectionKind
from spade_llm.memory.learning.episodes import EPISODE_DATES
from spade_llm.providers.model import ChatModel, language_model
from spade_llm.search.language import language_of
from spade_llm.search.memory_query import (
    Category,
    MemoryFilter,
    MemoryQuery,
    Origin,
    SearchMode,
)
from spade_llm.understanding.forgetting import asks_to_forget_all

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.history.conversation_cache import ConversationCache
    from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
    from spade_llm.memory.contract import LearnedChange, MemoryEntry, OwnedMemory


MAX_LINE_CHARS = 300
MAX_ITEM_CHARS = 160
NUMBER_CHARS = 8
MIN_NUMBER_CHARS = 4
"""Shorter numbers are places in the list that was shown last."""
MAX_REMEMBERED_LISTS = 1000
"""Maximum number of people for which the last list is stored (LRU)."""

_MARKUP = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+|```.*$)|`+|~~"
    r"|(?<![\w*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?![\w*])",
    re.MULTILINE,
)
_LINK = re.compile(r"!?\[([^\][]*)\]\([^()\s]*\)")
_EPISODE = re.compile(EPISODE_DATES.pattern + r"(?:[^:\n]{1,60}: )?")
"""Its head and first speaker, as memory/learning/episodes.py writes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTexts:
    """`{}` is a date."""

    conversation: str
    ended: str


ENGLISH_ITEMS = ItemTexts(conversation="Conversation of {}:", ended="no longer true since {}")
SPANISH_ITEMS = ItemTexts(conversation="Conversación del {}:", ended="ya no es cierto desde {}")


def plain_item(
    entry: MemoryEntry, *, say: ItemTexts = ENGLISH_ITEMS, max_chars: int = MAX_ITEM_CHARS
) -> str:
    """Format a memory as one line without markup, so that it cannot pass for another memory. A
    conversation is shown by its date and beginning; invalidated memories are marked."""
    # Cut before the regular expressions, with room for the markup and links that they remove.
    text, head = entry.content[: 8 * max_chars], ""
    if entry.origin is Origin.EPISODE and (found := _EPISODE.match(text)):
        head = f"{say.conversation.format(found[1])} "
        text = text[found.end() :].partition("\n")[0]
    line = head + single_line(_LINK.sub(r"\1", _MARKUP.sub("", text)), max_chars)
    if entry.invalid_at is None:
        return line
    return f"{line} ({say.ended.format(entry.invalid_at.date().isoformat())})"


def numbered_line(entry: MemoryEntry) -> str:
    """Line with the beginning of the memory's id, which is valid without a list."""
    return f"{entry.id[:NUMBER_CHARS]} {plain_item(entry, max_chars=MAX_LINE_CHARS)}"


def find_by_number(entries: Iterable[MemoryEntry], number: str) -> MemoryEntry | None:
    """Find the only memory with this id prefix; None if there is none or more than one."""
    if len(number) < MIN_NUMBER_CHARS:
        return None
    found = [one for one in entries if one.id.startswith(number.lower())]
    return found[0] if len(found) == 1 else None


class ListNumbers:
    """Ids of the list shown last, by person. In RAM: after a restart the person lists again."""

    def __init__(self) -> None:
        self._ids: LruDict[str, Sequence[str]] = LruDict(MAX_REMEMBERED_LISTS)

    def show(self, peer: str, entries: Sequence[MemoryEntry]) -> None:
        self._ids[peer] = [one.id for one in entries]

    def full_number(self, peer: str, number: str) -> str:
        """The id at this place of the list; any other number as it is."""
        place, ids = number.strip("#.()"), self._ids.get(peer, ())
        # Not isdigit(): int() refuses "²".
        if len(place) < MIN_NUMBER_CHARS and place.isdecimal() and 1 <= int(place) <= len(ids):
            return ids[int(place) - 1]
        return number


MAX_EXPORT_BYTES = 100_000
"""Maximum size of an export in bytes: an answer has at most 128 KB. The number of omitted entries
is stated."""


def export_json_lines(entries: Sequence[MemoryEntry]) -> tuple[list[str], int]:
    """The lines, from the first on, and how many entries do not fit."""
    lines: list[str] = []
    room = MAX_EXPORT_BYTES
    for entry in entries:
        line = _json(entry)
        room -= len(line.encode()) + 1
        if room < 0:
            break
        lines.append(line)
    return lines, len(entries) - len(lines)


def _json(entry: MemoryEntry) -> str:
    return json.dumps(
        {
            "id": entry.id,
            "owner": entry.owner,
            "content": entry.content,
            "context": entry.context,
            "category": entry.category,
            "type": entry.type,
            "confidence": entry.confidence,
            "tags": entry.tags,
            "metadata": dict(entry.metadata),
            "created_at": entry.created_at.isoformat(),
            "updated_at": entry.updated_at.isoformat(),
            "invalid_at": entry.invalid_at.isoformat() if entry.invalid_at else None,
        },
        ensure_ascii=False,
    )


LISTED_MEMORIES = 20
FORGETTABLE = 1000
"""Maximum number of a person's memories, newest first, that a NUMBER can refer to."""
NO_MEMORY = "I have no memory agent."


class MemoryCommands:
    """Commands about memories and conversations."""

    def __init__(
        self,
        memory: MemoryBehaviour,
        conversations: ConversationCache,
        *,
        model: ChatModel | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`model`: if it is a language model, it may have tools that a request is meant for.
        `clock`: monotonic, in seconds."""
        self._model = model
        self._memory = memory
        self._conversations = conversations
        self._shown = ListNumbers()
        self._clock = clock
        self._unconfirmed: LruDict[str, float] = LruDict(MAX_REMEMBERED_LISTS)
        """Time until which a "yes" of each person means that everything is to be forgotten."""

    def add_to(self, commands: CommandRegistry) -> None:
        commands.add_request(self._forget_all_in_words)
        commands.add(
            "new", self._begin_anew, "/new – begin a new conversation (what I remember stays)"
        )
        commands.add("memories", self._list, "/memories [words] – what I remember about you")
        commands.add(
            "correct", self._correct, "/correct NUMBER new text – correct one of these memories"
        )
        commands.add(
            "forget",
            self._forget,
            "/forget NUMBER – forget one of these memories",
            "/forget all – forget everything about you, and our conversations; I ask first",
        )
        commands.add(
            "export",
            self._export,
            "/export – all that I remember about you, as JSON, one memory per line",
        )

    async def entries(self, peer: str, limit: int = FORGETTABLE) -> list[MemoryEntry]:
        """Newest first; none without a memory agent. Raises RequestError."""
        if self._memory.memory is None:
            return []
        page = await self._memory.memory.list(_about(peer), limit=limit)
        return list(page.entries)

    async def _begin_anew(self, _argument: str, turn_input: ChatTurnInput) -> str:
        # Memory first: where it is away this raises, and the conversation goes on in both places.
        await self._memory.close(turn_input.conversation)
        self._conversations.drop(turn_input.conversation)
        return "A new conversation. What I remember about you stays; /forget all removes it."

    async def _list(self, words: str, turn_input: ChatTurnInput) -> str:
        if self._memory.memory is None:
            return NO_MEMORY
        about = _about(turn_input.peer)
        if words:
            entries = await self._with_words(self._memory.memory, words, about)
            total = len(entries)
        else:
            page = await self._memory.memory.list(about, limit=LISTED_MEMORIES)
            entries, total = list(page.entries), page.total
        if not entries:
            return "I remember nothing about you" + (" with these words." if words else ".")
        self._shown.show(turn_input.peer, entries)
        lines = [f"{number}. {plain_item(one)}" for number, one in enumerate(entries, start=1)]
        more = [f"… and {total - len(entries)} more: /memories WORDS finds them."]
        left = more if total > len(entries) else []
        return "\n".join([LIST_HEAD, *lines, *left, "", COMMAND_USAGE])

    async def _with_words(
        self, memory: OwnedMemory, words: str, which: MemoryFilter
    ) -> list[MemoryEntry]:
        """Memories with one of these words, newest first; if there are none, those with a word of
        the same meaning. A search by vectors would find something for any words."""
        query = MemoryQuery(text=words, which=which, limit=LISTED_MEMORIES, mode=SearchMode.KEYWORD)
        found = [hit.entry for hit in (await memory.search(query)).hits]
        found = found or await find_related(memory, words, which=which, limit=LISTED_MEMORIES)
        return sorted(found, key=attrgetter("created_at"), reverse=True)

    async def _correct(self, argument: str, turn_input: ChatTurnInput) -> str:
        number, _, content = argument.partition(" ")
        if self._memory.memory is None or not content.strip():
            return "Write /correct NUMBER (from /memories) and the new text."
        entry = await self._one(turn_input.peer, number)
        if entry is None:
            return _ambiguous_number(number)
        change = MemoryChange(id=entry.id, content=content.strip())
        corrected = await self._memory.memory.update(change)
        return f"Corrected: {plain_item(corrected, max_chars=MAX_LINE_CHARS)}"

    async def _forget(self, argument: str, turn_input: ChatTurnInput) -> str:
        if means_all(argument):
            return (
                await self._forget_all(turn_input)
                if is_confirmed(argument)
                else self._ask_before_forgetting_all(turn_input)
            )
        if self._memory.memory is None or not argument:
            return "Write /forget NUMBER (from /memories), or /forget all."
        entry = await self._one(turn_input.peer, argument)
        if entry is None:
            return _ambiguous_number(argument)
        await self._memory.memory.forget([entry.id], subject=turn_input.peer)
        return "Forgotten."

    async def _forget_all_in_words(self, turn_input: ChatTurnInput) -> str | None:
        """Ask before a request to forget everything is carried out; do it if this message says yes
        to the question. None: it does neither. In a room only the command counts, and a program
        that requires an answer by a schema could not read ours."""
        if turn_input.message.said.room or turn_input.answer_schema:
            return None
        is_asked = self._unconfirmed.pop(turn_input.peer, 0.0) > self._clock()
        if is_asked and _YES.fullmatch(turn_input.text.strip(" .!¡")):
            return await self._forget_all(turn_input)
        has_tools = language_model(self._model) is not None
        if asks_to_forget_all(turn_input.text, has_tools=has_tools):
            return self._ask_before_forgetting_all(turn_input)
        return None

    def _ask_before_forgetting_all(self, turn_input: ChatTurnInput) -> str:
        if not turn_input.message.said.room:
            self._unconfirmed[turn_input.peer] = self._clock() + CONFIRMATION_S
        return CONFIRM_FORGET_ALL[_language(turn_input)]

    async def _forget_all(self, turn_input: ChatTurnInput) -> str:
        self._conversations.drop_peer(turn_input.peer)
        count = await self._memory.forget_peer(turn_input.peer)
        if _language(turn_input) == "es":
            return f"Olvidado: {pluralize(count, 'recuerdo')} y nuestras conversaciones."
        return f"Forgotten: {pluralize(count, 'memory', 'memories')} and our conversations."

    async def _one(self, peer: str, number: str) -> MemoryEntry | None:
        """Find a memory by its position in the list shown last, or by the beginning of its id."""
        return find_by_number(await self.entries(peer), self._shown.full_number(peer, number))

    async def _export(self, _argument: str, turn_input: ChatTurnInput) -> str:
        if self._memory.memory is None:
            return NO_MEMORY
        lines, left_out = export_json_lines(await self.entries(turn_input.peer))
        if not lines:
            return "I remember nothing about you."
        note = f"({left_out} older ones do not fit into one message.)"
        return "\n".join([*lines, *([note] if left_out else [])])


LIST_HEAD = "What I remember about you, newest first:"
COMMAND_USAGE = "/correct NUMBER new text corrects one, /forget NUMBER forgets one."
CONFIRM_FORGET_ALL = {
    "en": "This removes everything that I remember about you, the files that you shared with me"
    " and our conversations, for good. Answer “yes” if that is what you want (or write"
    " /forget all yes).",
    "es": "Esto borra todo lo que recuerdo de ti, los archivos que compartiste conmigo y nuestras"
    " conversaciones, para siempre. Responde «sí» si es lo que quieres (o escribe"
    " /forget all yes).",
}
CONFIRMATION_S = 300.0
"""Time in seconds for which a "yes" confirms that everything is to be forgotten."""
_YES = re.compile(
    r"(?:yes|yeah|yep|s[ií]|claro|confirm(?:ed|o|ado)?|do it|h[aá]zlo|adelante|go ahead)"
    r"(?:,? (?:please|por favor|i(?:['’]m| am) sure|do it|go ahead|b[oó]rralo|h[aá]zlo|delete"
    r"(?: it| everything)?|estoy segur[oa]))*",
    re.IGNORECASE,
)
"""Stricter than the answer to an approval (turn/approval.py): nothing is deleted for good by an
`ok`."""


def _language(turn_input: ChatTurnInput) -> str:
    """The language of a message, which may be a command or a "sí"."""
    is_spanish = _SPANISH_WORD.match(turn_input.text)
    return "es" if is_spanish else language_of(turn_input.text)


_SPANISH_WORD = re.compile(r"\W*(?:olvid|s[ií]\b)", re.IGNORECASE)


def _about(peer: str) -> MemoryFilter:
    """Filter for memories about a person, also invalidated ones: they can be seen and forgotten."""
    return MemoryFilter(subject=peer, with_invalid=True)


def _ambiguous_number(number: str) -> str:
    shown = number if len(number) <= MAX_SHOWN_CHARS else f"{number[:MAX_SHOWN_CHARS]}…"
    return f"No memory, or more than one, has the number {shown!r}. /memories lists them."


MAX_SHOWN_CHARS = 2 * NUMBER_CHARS


LISTED = 50
"""A person's newest patterns."""
SHOWN_CHARS = 200
"""Maximum length of the excerpt of a conversation in which a pattern was found, in characters."""
LEARN_USAGE = (
    "/learn on lets me remember what several of our conversations have in common; /learn off"
    " removes that and ends it; /learn NUMBER shows where one was seen;"
    " /learned what else I have changed."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedTexts:
    """Texts of `/learned` in one language. `closed`, `merged` and `summary` are given the date, the
    memory, and the other memory or the number of sources."""

    listed: str
    closed: str
    merged: str
    summary: str
    forgotten: str
    how: str
    nothing: str
    no_single: str
    undone: str


UNDO_WORDS = frozenset({"undo", "deshacer", "deshaz"})
_TEXTS = load_texts(LearnedTexts, __file__, "learning.toml")
LEARNED_TEXTS = {"learned": _TEXTS["en"], "aprendido": _TEXTS["es"]}


def _change_line(change: LearnedChange, say: LearnedTexts) -> str:
    date, text = f"{change.at:%Y-%m-%d}", single_line(change.content, MAX_ITEM_CHARS)
    if change.kind is ReflectionKind.SUMMARY:
        return say.summary.format(date, text, change.sources)
    form = say.closed if change.kind is ReflectionKind.CLOSED else say.merged
    because = single_line(change.because, MAX_ITEM_CHARS) or say.forgotten
    return form.format(date, text, because)


class LearningCommands:
    """Commands about what is learned of a person, and consent."""

    def __init__(self, memory: MemoryBehaviour) -> None:
        self._memory = memory
        self._changes: LruDict[str, Sequence[str]] = LruDict(MAX_REMEMBERED_LISTS)
        """Ids of the list of changes that each person was shown last."""

    def add_to(self, commands: CommandRegistry) -> None:
        commands.add(
            "learn",
            self._learn,
            "/learn on, /learn off – let me compare our conversations and remember what they share",
            "/learn – what I found that way; /learn NUMBER – the conversations it was found in",
        )
        commands.add(
            "learned",
            self._learned,
            "/learned – how I have tidied my memories; /learned undo NUMBER – undo one change",
        )

    async def _learned(self, argument: str, turn_input: ChatTurnInput) -> str:
        # In the language of the command that was written.
        word = turn_input.text.strip().lstrip("/").partition(" ")[0].lower()
        say = LEARNED_TEXTS.get(word, LEARNED_TEXTS["learned"])
        memory, peer = self._memory.memory, turn_input.peer
        if memory is None:
            return NO_MEMORY
        changes = await memory.learned(peer)
        word, _, number = argument.partition(" ")
        if word.lower() in UNDO_WORDS:
            return await self._undo(memory, changes, number.strip(), peer, say)
        if not changes:
            return say.nothing
        self._changes[peer] = [one.id for one in changes]
        lines = [f"{at}. {_change_line(one, say)}" for at, one in enumerate(changes, start=1)]
        return "\n".join([say.listed, *lines, say.how])

    async def _undo(
        self,
        memory: OwnedMemory,
        changes: Sequence[LearnedChange],
        number: str,
        peer: str,
        say: LearnedTexts,
    ) -> str:
        """Undo a change by its place in the list shown last, or in the current one."""
        ids = self._changes.get(peer) or [one.id for one in changes]
        place = number.strip("#.()")
        at = int(place) if place.isdecimal() and len(place) < MIN_NUMBER_CHARS else 0
        if not 1 <= at <= len(ids):
            return say.no_single
        found = next((one for one in changes if one.id == ids[at - 1]), None)
        if found is None or not await memory.undo_learned(peer, [found.id]):
            return say.no_single
        return f"{say.undone} {_change_line(found, say)}"

    async def _learn(self, argument: str, turn_input: ChatTurnInput) -> str:
        memory = self._memory.memory
        if memory is None:
            return NO_MEMORY
        match argument.lower():
            case "" | "status":
                return await _status(memory, turn_input.peer)
            case "on":
                await memory.set_consent(turn_input.peer, is_given=True)
                return (
                    "From now on I remember what several of our conversations have in common, those"
                    " that I still have among them. /learn shows it, /learn off removes it."
                )
            case "off":
                await memory.set_consent(turn_input.peer, is_given=False)
                return "I no longer do that, and what I had learned that way is removed."
            case number:
                return await _provenance(memory, turn_input.peer, number)


async def _status(memory: OwnedMemory, peer: str) -> str:
    consent = await memory.consent(peer)
    if consent.since is None:
        return f"I do not compare our conversations with each other. {LEARN_USAGE}"
    patterns = await _patterns(memory, peer)
    allowed = f"You have allowed it since {consent.since:%Y-%m-%d}."
    if not patterns:
        return f"{allowed} I have found nothing in common yet. {LEARN_USAGE}"
    return "\n".join([f"{allowed} What I have found:", *map(_line, patterns), LEARN_USAGE])


async def _provenance(memory: OwnedMemory, peer: str, number: str) -> str:
    pattern = find_by_number(await _patterns(memory, peer), number)
    if pattern is None:
        return f"There is nothing with the number {number[:NUMBER_CHARS]!r}. {LEARN_USAGE}"
    episodes = await memory.peek(pattern.sources)
    lines = [f"- {single_line(one.content, SHOWN_CHARS)}" for one in episodes]
    return "\n".join([_line(pattern), "It was seen in these conversations:", *lines])


async def _patterns(memory: OwnedMemory, peer: str) -> list[MemoryEntry]:
    which = MemoryFilter(subject=peer, category=Category.PATTERN)
    page = await memory.list(which, limit=LISTED)
    # A tool may store a memory of this category, too; only the learner's have sources.
    return [one for one in page.entries if one.origin is Origin.PATTERN]


def _line(pattern: MemoryEntry) -> str:
    """`of`, `first` and `last` are what the learner wrote (learning/pattern_rules.py)."""
    known = pattern.metadata
    seen = f"in {known.get('conversations')} of {known.get('of')} conversations"
    return f"{numbered_line(pattern)} ({seen}, {known.get('first')} to {known.get('last')})"
