"""Enumerations as the small numbers that a file holds. Knows no table; numbers are never reused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from spade_llm.memory.store import (
    Access,
    Category,
    ContentType,
    MemoryType,
    Origin,
    Tier,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Codes(Generic[T]):
    """Each value's number is its place, from 1."""

    def __init__(self, values: Sequence[T]) -> None:
        self._values = tuple(values)
        self._numbers = {value: number for number, value in enumerate(values, start=1)}

    def number(self, value: T) -> int:
        return self._numbers[value]

    def number_or_none(self, value: T | None) -> int | None:
        return None if value is None else self._numbers[value]

    def value(self, number: int) -> T:
        return self._values[number - 1]

    def value_or_none(self, number: int | None) -> T | None:
        return None if number is None else self._values[number - 1]


TYPES = Codes((MemoryType.SEMANTIC, MemoryType.EPISODIC, MemoryType.PROFILE, MemoryType.PROCEDURAL))
CATEGORIES = Codes((Category.FACT, Category.PATTERN, Category.PREFERENCE, Category.CAPABILITY))
TIERS = Codes((Tier.SHORT_TERM, Tier.LONG_TERM, Tier.WORKING))
CONTENT_TYPES = Codes(
    (ContentType.TEXT, ContentType.IMAGE, ContentType.CODE, ContentType.JSON, ContentType.YAML)
)
ORIGINS = Codes(
    (Origin.TOLD, Origin.EXTRACTED, Origin.EPISODE, Origin.CONSOLIDATED, Origin.PATTERN)
)
ROLES = Codes(("user", "assistant"))
ACCESSES = Codes((Access.READ, Access.WRITE))
