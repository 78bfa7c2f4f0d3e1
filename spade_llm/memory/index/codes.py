"""Strings as small numbers, for columns that are compared. Knows no column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NONE = 0
UNKNOWN = -1


class Codes:
    """None is 0; others are numbered as they come. A string once seen is kept."""

    def __init__(self) -> None:
        self._numbers = _Numbers({None: NONE})

    @property
    def texts(self) -> list[str]:
        """Numbered from 1."""
        return [text for text in self._numbers if text is not None]

    def of(self, texts: Sequence[str | None]) -> NDArray[np.int32]:
        return np.fromiter(map(self._numbers.__getitem__, texts), np.int32, len(texts))

    def find(self, text: str) -> int:
        return self._numbers.get(text, UNKNOWN)


class _Numbers(dict[str | None, int]):
    def __missing__(self, text: str | None) -> int:
        self[text] = number = len(self)
        return number


class TagCodes:
    """Sets of tags as numbers; the empty set is 0."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, ...], int] = {(): NONE}
        self._sets_with: dict[str, set[int]] = {}

    def of(self, tags: Sequence[tuple[str, ...]]) -> NDArray[np.int32]:
        return np.fromiter(map(self._number, tags), np.int32, len(tags))

    def with_all(self, tags: Sequence[str]) -> NDArray[np.bool_]:
        """For each number: does its set have all of these."""
        numbers = set.intersection(*(self._sets_with.get(tag, set()) for tag in tags))
        has = np.zeros(len(self._numbers), np.bool_)
        has[list(numbers)] = True
        return has

    def _number(self, tags: tuple[str, ...]) -> int:
        number = self._numbers.get(tags)
        if number is None:
            self._numbers[tags] = number = len(self._numbers)
            for tag in tags:
                self._sets_with.setdefault(tag, set()).add(number)
        return number
