"""The numbers by which people name memories in a chat, and the lines that show them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.one_line import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spade_llm.memory.store import MemoryEntry

MAX_LINE_CHARS = 300
NUMBER_CHARS = 8
MIN_NUMBER_CHARS = 4
"""Whoever writes `1` means the first of a list, not the memory whose number happens to begin so."""


def numbered_line(entry: MemoryEntry) -> str:
    """One line, whatever was remembered: it cannot pass for another memory."""
    kind = entry.category or entry.type
    return f"{entry.id[:NUMBER_CHARS]} [{kind}] {one_line(entry.content, MAX_LINE_CHARS)}"


def with_number(entries: Iterable[MemoryEntry], number: str) -> MemoryEntry | None:
    """The one memory whose number begins so; None if there is not exactly one."""
    if len(number) < MIN_NUMBER_CHARS:
        return None
    found = [one for one in entries if one.id.startswith(number.lower())]
    return found[0] if len(found) == 1 else None
