"""The summary of a history's older part, in bounded room. Pure: the same notes, the same summary.

Open questions come first, then what people said, then the rest. Whatever was noted is told, at
the length that there is room for; only when its items alone are more than the room, the oldest are
left out, and it says how many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.context.points import LINE_TOKENS, tokens_in

if TYPE_CHECKING:
    from collections.abc import Collection

    from spade_llm.context.notes import Notes, OpenQuestion

OPEN = "Open questions:"
FRAME_TOKENS = 60
"""First line, tags, headings and notes."""
OPEN_SHARE = 0.5
"""For open questions, and what the rest does not need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    lines: tuple[str, ...]
    left_out: int = 0
    """Points for which there was no room."""


def wanted_tokens(notes: Notes) -> int:
    """What a summary of everything takes that tells all of it at length."""
    told = sum(one.whole_tokens(0, one.before(len(notes.blocks))) for one in notes.told)
    written = tokens_in(notes.written.text) if notes.written else 0
    return told + written + sum(map(_cost, notes.open)) + FRAME_TOKENS


def summarise(notes: Notes, stop: int, tokens: int, *, shown: Collection[int]) -> Summary:
    """Of the blocks before `stop`, without those that are `shown` anyway."""
    left = tokens - FRAME_TOKENS
    others = sum(one.bare_tokens(0, one.before(stop)) for one in notes.told)
    for_open = int(max(left * OPEN_SHARE, left - others))
    open_lines, open_left_out, spent = _open(notes, stop, for_open, shown)
    left -= spent
    written = notes.written
    start = 0
    lines: list[str] = []
    if written is not None and (cost := tokens_in(written.text)) <= left:
        # It may tell of some blocks that are shown, too.
        start, left, lines = min(written.blocks, stop), left - cost, written.text.splitlines()
    told, left_out = _told(notes, start, stop, left, shown)
    return Summary(lines=(*open_lines, *lines, *told), left_out=left_out + open_left_out)


def _open(
    notes: Notes, stop: int, tokens: int, shown: Collection[int]
) -> tuple[list[str], int, int]:
    """Lines of the newest that fit, how many do not, and what they take."""
    older = [one for one in notes.open if one.block < stop and one.block not in shown]
    lines: list[str] = []
    spent = 0
    for one in reversed(older):
        if spent + _cost(one) > tokens:
            break
        spent += _cost(one)
        lines.append(f"- {one.speaker}: {one.text}")
    left_out = len(older) - len(lines)
    return ([OPEN, *reversed(lines), ""] if lines else []), left_out, spent


def _told(
    notes: Notes, start: int, stop: int, tokens: int, shown: Collection[int]
) -> tuple[list[str], int]:
    """What people said has the first claim, but not on the room of others' bare items."""
    people, others = notes.told
    spans = [(one, one.before(start), one.before(stop)) for one in (people, others)]
    needs = [one.bare_tokens(first, last) for one, first, last in spans]
    for_people = tokens - min(needs[1], max(tokens - needs[0], 0))
    lines: list[tuple[int, str]] = []
    left_out = 0
    for (one, first, last), room in zip(spans, (for_people, tokens), strict=True):
        lengths = one.lengths(first, last, min(room, tokens))
        tokens -= lengths.tokens
        left_out += lengths.bare - first
        lines += [(block, line) for block, line in one.lines(lengths) if block not in shown]
    lines.sort(key=lambda line: line[0])
    return [line for _, line in lines], left_out


def _cost(question: OpenQuestion) -> int:
    return LINE_TOKENS + tokens_in(question.text)
