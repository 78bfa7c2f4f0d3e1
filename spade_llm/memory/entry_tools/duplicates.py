"""Which memories say the same: same text, or so similar and with the same facts. Pure grouping.

Two memories that differ in a name, a number, a date or a "not" are never the same, however similar
their vectors are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.memory.summary import facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from spade_llm.memory.store import MemoryEntry

NEGATIONS = """
no not never none nobody nothing without cannot n't nunca jamás nada nadie ninguno ninguna sin nicht
kein keine keinen nie niemals ohne ne pas jamais sans aucun não nunca non
"""
"""English, Spanish, German, French, Portuguese, Italian; and Chinese and Japanese by character."""
_NEGATIONS = frozenset(NEGATIONS.split())
_NEGATION_CHARS = frozenset("不没沒无無非ない")
_WORD = re.compile(r"n['’]t\b|[^\W\d_]+?(?=n['’]t\b)|[^\W\d_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Memories that say the same."""

    kept: MemoryEntry
    """The oldest."""
    others: tuple[MemoryEntry, ...]


def group(
    entries: Sequence[MemoryEntry], similar: Mapping[str, Sequence[MemoryEntry]]
) -> list[Group]:
    """Groups of two and more, each entry in one at most.

    `similar` has, by id, the entries that are similar enough. A group is one entry and what is
    the same as it: what is only like its like is not drawn in.
    """
    taken: set[str] = set()
    groups: list[Group] = []
    by_text = _by_text(entries)
    for entry in sorted(entries, key=_age):
        if entry.id in taken:
            continue
        others = [*by_text[_key(entry)], *(e for e in similar.get(entry.id, ()) if same(entry, e))]
        members = {one.id: one for one in (entry, *others) if one.id not in taken}
        if len(members) > 1:
            taken |= members.keys()
            kept, *rest = sorted(members.values(), key=_age)
            groups.append(Group(kept=kept, others=tuple(rest)))
    return groups


def same(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Whether two similar entries may stand for each other."""
    return (
        one.subject == other.subject
        and one.content_type == other.content_type
        and facts(one.content) == facts(other.content)
        and _negations(one.content) == _negations(other.content)
    )


def _by_text(entries: Iterable[MemoryEntry]) -> dict[object, list[MemoryEntry]]:
    found: dict[object, list[MemoryEntry]] = {}
    for entry in entries:
        found.setdefault(_key(entry), []).append(entry)
    return found


def _key(entry: MemoryEntry) -> object:
    """Case and space make no difference."""
    return entry.subject, entry.content_type, " ".join(entry.content.casefold().split())


def _age(entry: MemoryEntry) -> tuple[datetime, str]:
    return entry.created_at, entry.id


def _negations(text: str) -> int:
    words = sum(word.replace("’", "'") in _NEGATIONS for word in _WORD.findall(text.lower()))
    return words + sum(char in _NEGATION_CHARS for char in text)
