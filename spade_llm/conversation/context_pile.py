"""Pile: entries of one kind that are kept while there is room for them. Pure; knows no kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")

SHORTEST_CHARS = 20
"""Of a text that was cut: less of it says nothing."""
SHORTEST_BESIDE_OTHERS = 200
"""The same, if there are whole entries already."""


class Pile(Generic[T]):
    """What must go first is at the end."""

    def __init__(
        self,
        entries: Sequence[T],
        *,
        write: Callable[[T], str],
        shorten: Callable[[T, int], T],
        headings: Mapping[str, str],
        section_of: Callable[[T], str],
        count: Callable[[str], int],
        passes_over: bool = False,
    ) -> None:
        """`write`: an entry's line. `shorten`: it with so many characters of its text.
        `passes_over`: those behind one that does not fit may still be kept."""
        self.kept: list[T] = []
        self._lines: dict[int, tuple[T, str]] = {}
        self._waiting = list(reversed(entries))
        self._write = write
        self._shorten = shorten
        self._headings = headings
        self._section_of = section_of
        self._count = count
        self._passes_over = passes_over
        self._sections: set[str] = set()

    def take(self, room: int, *, is_part_taken: bool = False) -> int:
        """Keep entries while there is room; returns what they cost.

        `is_part_taken`: of the very first, if it does not fit, the beginning.
        """
        left = room
        passed: list[T] = []
        if is_part_taken and not self.kept:
            left -= self.take_part(left)
        while self._waiting:
            if (cost := self._cost(self._waiting[-1])) <= left:
                left -= self._keep(self._waiting.pop(), cost)
            elif self._passes_over:
                passed.append(self._waiting.pop())
            else:
                break
        self._waiting += reversed(passed)
        return room - left

    def take_part(self, room: int) -> int:
        """Keep as much of the next entry as fits, if it does not fit whole; returns its cost."""
        if not self._waiting or self._cost(entry := self._waiting[-1]) <= room:
            return 0
        shortest = SHORTEST_BESIDE_OTHERS if self.kept else SHORTEST_CHARS
        chars = len(self.line(entry))
        while chars >= shortest:
            shorter = self._shorten(entry, chars)
            if (cost := self._cost(shorter)) <= room:
                self._waiting.pop()
                return self._keep(shorter, cost)
            chars = min(chars - 1, chars * room // cost)
        return 0

    @property
    def is_starved(self) -> bool:
        """Whether there are entries and none of them has been kept."""
        return bool(self._waiting) and not self.kept

    def line(self, entry: T) -> str:
        """Written once, however often it is asked for; entries need not be hashable."""
        known = self._lines.get(id(entry))
        if known is None:
            known = self._lines[id(entry)] = (entry, self._write(entry))
        return known[1]

    def drop_last(self) -> None:
        self.kept.pop()

    def keep_only(self, is_wanted: Callable[[T], bool]) -> None:
        self.kept = list(filter(is_wanted, self.kept))

    def _keep(self, entry: T, cost: int) -> int:
        self.kept.append(entry)
        self._sections.add(self._section_of(entry))
        return cost

    def _cost(self, entry: T) -> int:
        """With its line's end, and the heading that it needs."""
        section = self._section_of(entry)
        heading = "" if section in self._sections else f"\n\n{self._headings[section]}\n\n"
        return self._count(f"{self.line(entry)}\n") + (self._count(heading) if heading else 0)
