"""Cuts a text into passages of bounded size. Pure; knows no document, no index and no model.

A passage never crosses a heading. Within a section it ends, if it can, at a paragraph, else at a
line, a sentence, a word, and only then in the middle of one, but between characters as people see
them. Time is linear in the text: every
cut looks at one window of at most `size` characters, and every passage moves forward by at least
a sixteenth of `size`, however large the overlap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.rag.graphemes import is_inside
from spade_llm.rag.headings import Markup, headings_of
from spade_llm.text.sentences import is_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.rag.headings import Heading

_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n")
_LINE_END = re.compile(r"\n")
_SENTENCE_END = re.compile(r"[.!?…。][\"'”’)\]]{0,3}\s")
_WORD_END = re.compile(r"\s")
_ENDS = (_PARAGRAPH_END, _LINE_END, _SENTENCE_END, _WORD_END)
_SPACE = re.compile(r"\s*")
MAX_CHARACTER = 32
"""In code points. Longer heaps of marks are no character of any script, and may be cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """How large passages are and how much of one is repeated in the next, in characters."""

    size: int = 1000
    """100…4000."""
    overlap: int = 200
    """0…1000, and less than `size`."""

    def __post_init__(self) -> None:
        if not 100 <= self.size <= 4000:
            raise InvalidArguments(f"size is {self.size}; it must be 100 to 4000 characters")
        if not 0 <= self.overlap <= 1000:
            raise InvalidArguments(f"overlap is {self.overlap}; it must be 0 to 1000 characters")
        if self.overlap >= self.size:
            raise InvalidArguments(
                f"overlap {self.overlap} is not less than size {self.size}; choose a smaller one"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """`text` is exactly the characters `start` to `end` of what was split."""

    text: str
    start: int
    end: int
    heading: str = ""
    """Headings above it, outermost first, joined by ` > `."""
    page: int | None = None
    """On which it begins, from 1; None: the text has no pages."""


@dataclass(frozen=True, slots=True)
class _Section:
    start: int
    end: int
    heading: str


def split(
    text: str, splitting: Splitting | None = None, *, markup: Markup = Markup.MARKDOWN
) -> Iterator[Passage]:
    """Passages in order; together they hold every character that is not white space."""
    rule = splitting or Splitting()
    for section in _sections(text, markup):
        for start, end in _cut(text, section, rule):
            yield Passage(text=text[start:end], start=start, end=end, heading=section.heading)


def _sections(text: str, markup: Markup) -> Iterator[_Section]:
    """A section begins at a heading; headings with nothing below them open the next one."""
    path: list[Heading] = []
    start = body = 0
    for heading in headings_of(text, markup):
        if not _is_blank(text, body, heading.start):
            yield _Section(start, heading.start, _joined(path))
            start = heading.start
        path = [above for above in path if above.level < heading.level]
        path.append(heading)
        body = heading.end
    yield _Section(start, len(text), _joined(path))


def _joined(path: list[Heading]) -> str:
    return " > ".join(heading.title for heading in path if heading.title)


def _cut(text: str, section: _Section, rule: Splitting) -> Iterator[tuple[int, int]]:
    end = section.start + len(text[section.start : section.end].rstrip())
    start, reached = _skip_space(text, section.start, end), section.start
    while start < end:
        stop = _stop(text, start, end, reached, rule.size)
        yield start, start + len(text[start:stop].rstrip())
        if stop >= end:
            return
        reached = stop
        start = _skip_space(text, _restart(text, start, stop, rule), end)


def _stop(text: str, start: int, end: int, reached: int, size: int) -> int:
    """The best place to end a passage: beyond its middle, and beyond what was cut before."""
    limit = start + size
    if limit >= end:
        return end
    floor = max(start + size // 2, reached + size // 16)
    for pattern in _ENDS:
        last = _last_end(pattern, text, floor, limit)
        if last > reached:
            return last
    return _before_character(text, limit, floor)


def _before_character(text: str, at: int, floor: int) -> int:
    """The place, or one shortly before it, that does not cut a character in two."""
    for place in range(at, max(floor, at - MAX_CHARACTER), -1):
        if not is_inside(text, place):
            return place
    return at


def _last_end(pattern: re.Pattern[str], text: str, floor: int, limit: int) -> int:
    last = -1
    for match in _ends(pattern, text, floor, limit):
        last = match.end()
    return last


def _ends(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Without the full stops of abbreviations."""
    for match in pattern.finditer(text, start, end):
        if text[match.start()] != "." or is_end(text, match.start()):
            yield match


def _restart(text: str, start: int, stop: int, rule: Splitting) -> int:
    """Where the next passage begins: a sentence or a word within the overlap, if there is one."""
    overlap = min(rule.overlap, rule.size - rule.size // 8)
    if overlap == 0:
        return stop
    earliest = max(stop - overlap, start + 1)
    for pattern in (_SENTENCE_END, _WORD_END):
        match = next(_ends(pattern, text, earliest, stop), None)
        if match and match.end() < stop:
            return match.end()
    return next((at for at in range(earliest, stop) if not is_inside(text, at)), stop)


def _skip_space(text: str, start: int, end: int) -> int:
    match = _SPACE.match(text, start, end)
    return match.end() if match else start


def _is_blank(text: str, start: int, end: int) -> bool:
    return _skip_space(text, start, end) >= end
