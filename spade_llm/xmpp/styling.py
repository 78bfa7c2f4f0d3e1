"""Markdown, as models write it, to Message Styling (XEP-0393), as people's clients show it. Pure.

Reads line by line, in linear time: what is not closed in its line stays as it is. Code is left
untouched, and no word is lost. Knows no stanza.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.xmpp.styled_spans import plain, styled_spans
from spade_llm.xmpp.styled_tables import is_rule_of_table, styled_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FENCE = "```"

_QUOTES = re.compile(r" {0,3}>[> ]*")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(.*)")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_MAY_BE_FENCE = re.compile(r"(?: {0,3}>[> ]*)?[ \t]*(?:`+[^`]*|~{1,2}|~{3,}.*)")
"""A line that has only begun."""
_MAY_BE_RULE = re.compile(r"[ \t|:-]*")
_BULLET = re.compile(r"([ \t]*)[*+]([ \t]+.*)")


def styled(text: str) -> str:
    """The text for a chat client."""
    return "\n".join(_Lines(text).converted())


def settled(text: str) -> str:
    """The begin of a text that is still being written, up to where more of it cannot change how
    that looks: without half a line of code or of a table, and without a block that has only begun.
    """
    *whole, last = text.split("\n")
    lines = _Lines("\n".join(whole))
    deque(lines.converted(), maxlen=0)
    if (fence := lines.fence) is not None:
        has_code = len(whole) > fence.at + 1
        kept = whole if has_code else whole[: fence.at]
    elif (table := _open_table(whole, last)) is not None:
        kept = whole[:table]
    else:
        kept = whole if _MAY_BE_FENCE.fullmatch(last) or "|" in last else [*whole, last]
    return "\n".join(kept).rstrip()


def _open_table(whole: Sequence[str], last: str) -> int | None:
    """Up to which line what is written can be shown, if a table may be written at its end."""
    begin = len(whole)
    while begin and "|" in whole[begin - 1]:
        begin -= 1
    rules = (at for at in range(begin + 1, len(whole)) if is_rule_of_table(whole[at]))
    if (rule := next(rules, None)) is not None:
        has_rows = len(whole) > rule + 1
        return len(whole) if has_rows else rule - 1
    is_head = begin < len(whole) and _MAY_BE_RULE.fullmatch(last)
    return len(whole) - 1 if is_head else None


@dataclass(frozen=True, slots=True)
class _Open:
    """A fence that is not closed yet."""

    marker: str
    prefix: str
    """Of the quotation that it stands in."""
    at: int
    """Number of its line."""

    def is_closed_by(self, line: str) -> bool:
        found = _FENCE.fullmatch(line)
        return bool(found and found[1].startswith(self.marker) and not found[2].strip())


class _Lines:
    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._at = 0
        self.fence: _Open | None = None
        """The one that is open."""

    def converted(self) -> Iterator[str]:
        while self._at < len(self._lines):
            yield from self._next()
        if self.fence is not None:
            yield self.fence.prefix + FENCE

    def _next(self) -> Iterator[str]:
        line = self._lines[self._at]
        if self.fence is not None:
            yield from self._coded(self.fence, line)
        elif table := self._table():
            yield from styled_table(table)
        else:
            self._at += 1
            prefix = _quotation(line)
            yield from self._styled(prefix, line[len(prefix) :])

    def _coded(self, fence: _Open, line: str) -> Iterator[str]:
        """A fence in a quotation ends with it."""
        prefix = _quotation(line) if fence.prefix else ""
        has_left = bool(fence.prefix) and not prefix
        is_closed = has_left or fence.is_closed_by(line[len(prefix) :])
        if is_closed:
            self.fence = None
            line = fence.prefix + FENCE
        if not has_left:
            self._at += 1
        yield line

    def _table(self) -> list[str]:
        """The lines of a table that begins here; they are passed."""
        first, second = self._lines[self._at], self._lines[self._at + 1 : self._at + 2]
        if "|" not in first or not second or not is_rule_of_table(second[0]):
            return []
        end = self._at + 2
        while end < len(self._lines) and "|" in self._lines[end]:
            end += 1
        rows = [first, *self._lines[self._at + 2 : end]]
        self._at = end
        return rows

    def _styled(self, prefix: str, line: str) -> Iterator[str]:
        if fence := _begun(prefix, line, at=self._at - 1):
            self.fence = fence
            info = line.strip().lstrip(fence.marker[0]).strip()
            yield f"{prefix}{FENCE}{info}"
        else:
            yield prefix + _styled_line(line)


def _begun(prefix: str, line: str, *, at: int) -> _Open | None:
    """The information behind a fence of backticks holds none: else it is a span."""
    found = _FENCE.fullmatch(line)
    if found is None or (found[1][0] == "`" and "`" in found[2]):
        return None
    return _Open(found[1], prefix, at)


def _quotation(line: str) -> str:
    found = _QUOTES.match(line)
    return found[0] if found else ""


def _styled_line(line: str) -> str:
    if heading := _HEADING.fullmatch(line):
        title = plain(heading[1].rstrip().rstrip("#").rstrip() or heading[1])
        return f"*{title.strip()}*"
    if _RULE.fullmatch(line):
        return "---"
    if bullet := _BULLET.fullmatch(line):
        return f"{bullet[1]}-{styled_spans(bullet[2])}"
    return styled_spans(line)
