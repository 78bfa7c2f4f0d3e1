"""Counts with the form of their noun: `1 memory`, `2 memories`."""

from __future__ import annotations


def counted(count: int, one: str, many: str = "") -> str:
    """`many` is by default `one` with an s, in English and Spanish."""
    return f"{count} {one if count == 1 else many or one + 's'}"
