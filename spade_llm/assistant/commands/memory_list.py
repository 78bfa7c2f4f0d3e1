"""Memory lists for people: numbered one-line items, and JSON Lines export."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.core.limits import LruDict
from spade_llm.core.text import single_line
from spade_llm.search.memory_query import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
_EPISODE = re.compile(
    r"(\d{4}-\d\d-\d\d), \d\d:\d\d(?:–\d\d:\d\d| – \d{4}-\d\d-\d\d, \d\d:\d\d)?: "
    r"(?:[^:\n]{1,60}: )?"
)
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
    """Ids of the list shown last, for each person. It is in RAM: after a restart the person lists
    again."""

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
