"""Cuts text at separators, and joins neighbouring pieces up to a size. Pure; a span is two offsets.

A chunk is always a slice of the text: its place in it is known, and nothing is written twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Span = tuple[int, int]
Keep = bool | Literal["start", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    size: int
    overlap: int
    length: Callable[[str], int] = len


def pieces(
    text: str, span: Span, separators: Sequence[str], keep: Keep, sizes: Sizes
) -> list[Span]:
    """Cut at the first separator (a pattern) that is there; what is too long yet, at the next."""
    present = [one for one in separators if _is_in(text, span, one)]
    if not present:
        return [span]
    done: list[Span] = []
    for piece in _cut(text, span, present[0], keep):
        if len(present) > 1 and sizes.length(text[slice(*piece)]) > sizes.size:
            done += pieces(text, piece, present[1:], keep, sizes)
        else:
            done.append(piece)
    return done


def joined(text: str, found: Sequence[Span], sizes: Sizes) -> Iterator[Span]:
    """Each chunk has what fits, and repeats up to `overlap` of the one before."""
    first = 0
    while first < len(found):
        last = _reach(text, found, first, sizes)
        yield found[first][0], found[last][1]
        if last + 1 == len(found):
            return
        first = _restart(text, found, first, last, sizes)


def _reach(text: str, found: Sequence[Span], first: int, sizes: Sizes) -> int:
    last = first
    while last + 1 < len(found) and _fits(text, found[first][0], found[last + 1][1], sizes):
        last += 1
    return last


def _restart(text: str, found: Sequence[Span], first: int, last: int, sizes: Sizes) -> int:
    """As far back as the overlap allows, if the next piece then still fits."""
    start, end = last + 1, found[last][1]
    while start - 1 > first and sizes.length(text[found[start - 1][0] : end]) <= sizes.overlap:
        start -= 1
    while start <= last and not _fits(text, found[start][0], found[last + 1][1], sizes):
        start += 1
    return start


def _fits(text: str, start: int, end: int, sizes: Sizes) -> bool:
    return sizes.length(text[start:end]) <= sizes.size


def _is_in(text: str, span: Span, separator: str) -> bool:
    return not separator or re.compile(separator).search(text, *span) is not None


def _cut(text: str, span: Span, separator: str, keep: Keep) -> Iterator[Span]:
    """Pieces that are not empty; a separator goes with the piece behind it, before it, or none."""
    start, end = span
    if not separator:
        yield from ((at, at + 1) for at in range(start, end))
        return
    for match in re.compile(separator).finditer(text, start, end):
        cut = match.end() if keep == "end" else match.start()
        if cut > start:
            yield start, cut
        start = match.end() if keep is False or keep == "end" else match.start()
    if end > start:
        yield start, end
