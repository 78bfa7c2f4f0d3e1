"""Told: points of a history in a row, and how long each of their forms is in sum. Knows no summary.

Sums make it cheap to see which points can be told at length: no point is looked at that is not
told.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.context.points import Point

WHOLE, NEAR, BARE = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Points from `bare` to `near` are told by their items alone, to `whole` with the words around
    them, and from there on as they were said. What is before `bare` is left out."""

    bare: int
    near: int
    whole: int
    stop: int
    tokens: int


class Told:
    def __init__(self) -> None:
        self._blocks: list[int] = []
        self._points: list[Point] = []
        self._bare = [0]
        self._to_near = [0]
        self._to_whole = [0]

    def add(self, block: int, point: Point) -> None:
        whole, near, bare = map(point.cost, (WHOLE, NEAR, BARE))
        self._blocks.append(block)
        self._points.append(point)
        self._bare.append(self._bare[-1] + bare)
        self._to_near.append(self._to_near[-1] + near - bare)
        self._to_whole.append(self._to_whole[-1] + whole - near)

    def before(self, block: int) -> int:
        """How many points are of earlier blocks."""
        return bisect_left(self._blocks, block)

    def bare_tokens(self, start: int, stop: int) -> int:
        return self._bare[stop] - self._bare[start]

    def whole_tokens(self, start: int, stop: int) -> int:
        return sum(sums[stop] - sums[start] for sums in (self._bare, self._to_near, self._to_whole))

    def lengths(self, start: int, stop: int, tokens: int) -> Lengths:
        """As many of these points as possible, then as much of each, the newest first."""
        bare = _reach(self._bare, start, stop, tokens)
        left = tokens - self.bare_tokens(bare, stop)
        near = _reach(self._to_near, bare, stop, left)
        left -= self._to_near[stop] - self._to_near[near]
        whole = _reach(self._to_whole, near, stop, left)
        left -= self._to_whole[stop] - self._to_whole[whole]
        return Lengths(bare=bare, near=near, whole=whole, stop=stop, tokens=tokens - left)

    def lines(self, lengths: Lengths) -> Iterator[tuple[int, str]]:
        """Each with its block."""
        forms = (
            (BARE, lengths.bare, lengths.near),
            (NEAR, lengths.near, lengths.whole),
            (WHOLE, lengths.whole, lengths.stop),
        )
        for form, start, stop in forms:
            for index in range(start, stop):
                yield self._blocks[index], self._points[index].line(form)

    def points(self, start: int, stop: int) -> list[Point]:
        return self._points[start:stop]


def _reach(sums: list[int], start: int, stop: int, tokens: int) -> int:
    """From where on the sum is no more than `tokens`."""
    return bisect_left(sums, sums[stop] - max(tokens, 0), lo=start, hi=stop)
