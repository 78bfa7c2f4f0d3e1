"""Commands on a person's memories: list, forget, clear, learning; numbered lists and export."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from spade_llm.assistant.commands.command_registry import is_confirmed, means_all
from spade_llm.core.limits import LruDict
from spade_llm.core.text import pluralize, single_line
from spade_llm.memory.contract import MemoryChange
from spade_llm.memory.learning.episodes import EPISODE_DATES
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, Origin

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.commands.command_registry import CommandRegistry
    from spade_llm.assistant.history.conversation_cache import ConversationCache
    from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
    from spade_llm.memory.contract import MemoryEntry

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
"""Maximum size of an export in bytes: an answer has at most 128 KB. Omitted entries are counted."""


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

    def __init__(self, memory: MemoryBehaviour, conversations: ConversationCache) -> None:
        self._memory = memory
        self._conversations = conversations
        self._shown = ListNumbers()

    def add_to(self, commands: CommandRegistry) -> None:
        commands.add(
            "new", self._begin_anew, "/new – begin a new conversation (what I remember stays)"
        )
        commands.add("memories", self._list, "/memories [words] – what I remember about you")
        commands.add(
            "correct", self._correct, "/correct NUMBER new text – say how one of them really is"
        )
        commands.add(
            "forget",
            self._forget,
            "/forget NUMBER – forget one of the memories that /memories listed",
            "/forget all – forget everything about you, and our conversations; I ask first",
        )
        commands.add(
            "export", self._export, "/export – all that I remember about you, as JSON, one per line"
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
            query = MemoryQuery(text=words, which=about, limit=LISTED_MEMORIES)
            hits = (await self._memory.memory.search(query)).hits
            # A search ranks by relevance; the list promises the newest first.
            found = (hit.entry for hit in hits)
            entries = sorted(found, key=attrgetter("created_at"), reverse=True)
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
        return "\n".join(["What I remember about you, newest first:", *lines, *left, COMMAND_USAGE])

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
                await self._forget_all(turn_input) if is_confirmed(argument) else CONFIRM_FORGET_ALL
            )
        if self._memory.memory is None or not argument:
            return "Write /forget NUMBER (from /memories), or /forget all."
        entry = await self._one(turn_input.peer, argument)
        if entry is None:
            return _ambiguous_number(argument)
        await self._memory.memory.forget([entry.id], subject=turn_input.peer)
        return "Forgotten."

    async def _forget_all(self, turn_input: ChatTurnInput) -> str:
        self._conversations.drop_peer(turn_input.peer)
        count = await self._memory.forget_peer(turn_input.peer)
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


COMMAND_USAGE = "/correct NUMBER new text corrects one, /forget NUMBER forgets one."
CONFIRM_FORGET_ALL = (
    "This removes everything that I remember about you, the files that you shared with me and our"
    " conversations, for good. Write /forget all yes if that is what you want."
)


def _about(peer: str) -> MemoryFilter:
    """Filter for memories about a person, also invalidated ones: they can be seen and forgotten."""
    return MemoryFilter(subject=peer, with_invalid=True)


def _ambiguous_number(number: str) -> str:
    shown = number if len(number) <= MAX_SHOWN_CHARS else f"{number[:MAX_SHOWN_CHARS]}…"
    return f"There is no single memory {shown!r}: /memories lists them."


MAX_SHOWN_CHARS = 2 * NUMBER_CHARS
