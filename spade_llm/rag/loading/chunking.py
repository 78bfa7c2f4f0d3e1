"""Chunking: cuts a text into passages of bounded size at headings, paragraphs, sentences."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING

from spade_llm.core.errors import InvalidArguments
from spade_llm.rag.loading.text_files import CODE_SUFFIXES, file_kind
from spade_llm.search.language import is_sentence_end

if TYPE_CHECKING:
    from collections.abc import Iterator

# Zero width joiner, which binds emoji into one character (UAX #29, GB11).
_JOINER = "\u200d"
MAX_MARKS = 32
"""Maximum number of regional indicators examined; in a longer row of flags one may be split."""


def is_inside_grapheme(text: str, at: int) -> bool:
    """True if `at` lies between two code points of the same grapheme cluster."""
    # Below U+0300, the first combining mark, only CR LF is one cluster (UAX #29, GB3).
    if not 0 < at < len(text) or (text[at - 1] < "\u0300" and text[at] < "\u0300"):
        return 0 < at < len(text) and text[at - 1 : at + 1] == "\r\n"
    if _JOINER in (text[at - 1], text[at]):
        return True
    # Combining marks, and skin tones, which have the category Sk.
    is_skin_tone = "\U0001f3fb" <= text[at] <= "\U0001f3ff"
    if is_skin_tone or unicodedata.category(text[at]) in ("Mn", "Me", "Mc"):
        return True
    # Regional indicators pair up to flags from the left (UAX #29, GB12 and GB13).
    if not _is_flag(text[at]):
        return False
    count = 0
    while count < MAX_MARKS and at - count > 0 and _is_flag(text[at - count - 1]):
        count += 1
    return count % 2 == 1


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


_MARKDOWN_HEADING = re.compile(
    r"^ {0,3}(?:(?P<fence>`{3,}|~{3,})"
    r"|(?P<marks>#{1,6})[ \t]+(?P<title>[^\n]{0,200})"
    r"|(?P<above>[^\s#>|`~+*=-][^\n]{0,199})\n {0,3}(?P<line>={2,}|-{2,})[ \t\r]*$)",
    re.MULTILINE,
)
_FRONT_MATTER = re.compile(r"---[ \t\r]*\n.{0,10000}?^---[ \t\r]*$", re.DOTALL | re.MULTILINE)
_BLANK_LINE = re.compile(r"(?:\A|\n)[ \t\r]*\n\Z")
_RST_HEADING = re.compile(
    r"^(?:(?P<over>([^\w\s])\2{2,400})[ \t\r]{0,100}\n[ ]{0,20})?(?P<title>\S[^\n]{0,199})\n"
    r"(?P<under>([^\w\s])\5{2,400})[ \t\r]{0,100}$",
    re.MULTILINE,
)
_DEFINITION = re.compile(
    r"^(?:(?:export|default|declare|pub(?:\([a-z]{1,9}\))?|public|private|protected|internal"
    r"|static|final|abstract|async|unsafe|open|sealed|data|inline|virtual|override)[ \t]+){0,5}"
    r"(?:def|class|func|function\*?|fn|interface|struct|enum|trait|impl|type|module|namespace"
    r"|object|protocol|extension|record|defmodule)[ \t]+"
    r"(?:\([^)\n]{0,100}\)[ \t]*)?"  # the receiver of a method in Go
    r"(?P<name>[A-Za-z_$][\w$.:]{0,199})[ \t\r]*(?:$|[^\n]{0,300}?[{:(,;)=\[}][ \t\r]*$)",
    re.MULTILINE,
)
_BELONGS_TO_NEXT = re.compile(r"@|#|//|/\*|\*|--| \*")
"""Beginnings of the lines above a definition that belong to it (comments, decorators)."""
WINDOW = 65_536
"""Number of characters searched for a pattern at once: no other thread runs meanwhile (`re` holds
the GIL)."""
_MAX_HEADING_CHARS = 2_000
"""Maximum length of a match that is found across the end of a window."""


class HeadingMarkup(StrEnum):
    """Markup by which a text marks its headings."""

    MARKDOWN = "markdown"
    """ATX and setext (CommonMark §4.2, §4.3), outside fenced code."""
    RST = "rst"
    CODE = "code"
    """Definitions that begin in the first column."""
    PLAIN = "plain"
    """Text without headings."""


@dataclass(frozen=True, slots=True)
class Heading:
    start: int
    end: int
    level: int
    title: str


def heading_markup(source: str, is_markdown: bool | None = None) -> HeadingMarkup:
    """Return the heading markup: `is_markdown` if it is given, otherwise by the extension of the
    source. A source that is no file name counts as Markdown."""
    if is_markdown is not None:
        return HeadingMarkup.MARKDOWN if is_markdown else HeadingMarkup.PLAIN
    suffix = PurePath(source).suffix.lower()
    if PurePath(source).name.lower() in ("makefile", "dockerfile"):
        return HeadingMarkup.PLAIN
    if file_kind(source) is None or suffix in ("", ".md", ".markdown"):
        return HeadingMarkup.MARKDOWN
    if suffix == ".rst":
        return HeadingMarkup.RST
    return HeadingMarkup.CODE if suffix in CODE_SUFFIXES else HeadingMarkup.PLAIN


def find_headings(text: str, markup: HeadingMarkup) -> Iterator[Heading]:
    """Find the headings, in the order of the text."""
    if markup is HeadingMarkup.MARKDOWN:
        return _markdown_headings(text)
    if markup is HeadingMarkup.RST:
        return _rst_headings(text)
    if markup is HeadingMarkup.CODE:
        definitions = _find_in_windows(_DEFINITION, text)
        starts = ((_with_comments_above(text, match.start()), match) for match in definitions)
        # The end is the start: the line belongs to the body, which is thus never blank.
        return (Heading(start, start, 1, match["name"]) for start, match in starts)
    return iter(())


def _find_in_windows(
    pattern: re.Pattern[str], text: str, start: int = 0
) -> Iterator[re.Match[str]]:
    """Iterate over the matches like `finditer`, but window by window; a window ends at the end of a
    line."""
    while start < len(text):
        following = start + WINDOW
        # Matches that begin in this window may end beyond it.
        end = text.find("\n", following + _MAX_HEADING_CHARS)
        for match in pattern.finditer(text, start, len(text) if end < 0 else end):
            # It begins in the next window, which finds it again.
            if match.start() >= following:
                break
            yield match
            start = match.end()
        start = max(start, following)


def _markdown_headings(text: str) -> Iterator[Heading]:
    fence = ""
    # The closing --- of front matter could be taken for the underline of a setext heading.
    front = _FRONT_MATTER.match(text)
    for match in _find_in_windows(_MARKDOWN_HEADING, text, front.end() if front else 0):
        mark = match["fence"]
        if mark:
            # The same character, at least as often, closes a fence (CommonMark §4.5).
            fence = mark if not fence else "" if mark.startswith(fence) else fence
        elif match["marks"] and not fence:
            # A closing run of # is no part of the title (CommonMark §4.2).
            title = match["title"].strip().rstrip("#").rstrip()
            yield Heading(match.start(), match.end(), len(match["marks"]), title)
        elif not fence and _follows_blank(text, match.start()):
            level = 1 if match["line"].startswith("=") else 2
            yield Heading(match.start(), match.end(), level, match["above"].strip())


def _follows_blank(text: str, at: int) -> bool:
    """Check for a blank line above: the last line of a longer paragraph is no heading."""
    return at == 0 or _BLANK_LINE.search(text[max(0, at - 100) : at]) is not None


def _rst_headings(text: str) -> Iterator[Heading]:
    """Levels are in the order in which their underlines first come (docutils)."""
    levels: dict[tuple[str, bool], int] = {}
    for match in _find_in_windows(_RST_HEADING, text):
        title, under, over = match["title"].strip(), match["under"], match["over"]
        # docutils, too, accepts a short underline from four characters on.
        is_long_enough = len(under) >= min(len(title), 4)
        if over not in (None, under) or not is_long_enough or not any(map(str.isalnum, title)):
            continue
        if over or _follows_blank(text, match.start()):
            level = levels.setdefault((under[0], bool(over)), len(levels) + 1)
            yield Heading(match.start(), match.end(), level, title)


def _with_comments_above(text: str, start: int) -> int:
    while start > 0:
        line = text.rfind("\n", 0, start - 1) + 1
        if not _BELONGS_TO_NEXT.match(text, line):
            break
        start = line
    return start


_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n")
_LINE_END = re.compile(r"\n")
_SENTENCE_END = re.compile(r"[.!?…。][\"'”’)\]]{0,3}\s")
_WORD_END = re.compile(r"\s")
_BOUNDARIES = (_PARAGRAPH_END, _LINE_END, _SENTENCE_END, _WORD_END)
_SPACE = re.compile(r"\s*")
MAX_CHARACTER = 32
"""Maximum length of a character in code points. A longer run of combining marks is no character of
any script, and may be cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """Maximum size of a passage, and the overlap with the next one, in characters."""

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
                f"overlap is {self.overlap}; it must be less than size ({self.size})"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Passage of a text; `text` is exactly its characters `start` to `end`."""

    text: str
    start: int
    end: int
    heading: str = ""
    """Headings above it, outermost first, joined by ` > `."""
    page: int | None = None
    """Page on which it begins, from 1; None if the text has no pages."""


@dataclass(frozen=True, slots=True)
class _TextSection:
    start: int
    end: int
    heading: str


def split(
    text: str, splitting: Splitting | None = None, *, markup: HeadingMarkup = HeadingMarkup.MARKDOWN
) -> Iterator[Passage]:
    """Split a text into passages, in order; together they contain all characters except white
    space."""
    rule = splitting or Splitting()
    for section in _sections(text, markup):
        for start, end in _cut_section(text, section, rule):
            yield Passage(text=text[start:end], start=start, end=end, heading=section.heading)


def _sections(text: str, markup: HeadingMarkup) -> Iterator[_TextSection]:
    """A section begins at a heading; headings with nothing below them open the next one."""
    path: list[Heading] = []
    start = body = 0
    for heading in find_headings(text, markup):
        if not _is_blank(text, body, heading.start):
            yield _TextSection(start, heading.start, _join_path(path))
            start = heading.start
        path = [above for above in path if above.level < heading.level]
        path.append(heading)
        body = heading.end
    yield _TextSection(start, len(text), _join_path(path))


def _join_path(path: list[Heading]) -> str:
    return " > ".join(heading.title for heading in path if heading.title)


def _cut_section(text: str, section: _TextSection, rule: Splitting) -> Iterator[tuple[int, int]]:
    end = section.start + len(text[section.start : section.end].rstrip())
    start, reached = _skip_space(text, section.start, end), section.start
    while start < end:
        stop = _passage_end(text, start, end, reached, rule.size)
        yield start, start + len(text[start:stop].rstrip())
        if stop >= end:
            return
        reached = stop
        start = _skip_space(text, _next_passage_start(text, start, stop, rule), end)


def _passage_end(text: str, start: int, end: int, reached: int, size: int) -> int:
    """Return the best end of a passage: after its middle, and after the end of the last one."""
    limit = start + size
    if limit >= end:
        return end
    # A sixteenth at least is new text, so that a large overlap cannot stall the cutting.
    floor = max(start + size // 2, reached + size // 16)
    for pattern in _BOUNDARIES:
        last = -1
        for match in _boundaries(pattern, text, floor, limit):
            last = match.end()
        if last > reached:
            return last
    # Without a boundary: at the limit, or shortly before it, so that no grapheme is split.
    for end in range(limit, max(floor, limit - MAX_CHARACTER), -1):
        if not is_inside_grapheme(text, end):
            return end
    return limit


def _boundaries(
    pattern: re.Pattern[str], text: str, start: int, end: int
) -> Iterator[re.Match[str]]:
    """Iterate over the boundaries, without the full stops of abbreviations."""
    for match in pattern.finditer(text, start, end):
        if text[match.start()] != "." or is_sentence_end(text, match.start()):
            yield match


def _next_passage_start(text: str, start: int, stop: int, rule: Splitting) -> int:
    """Return the start of the next passage: a sentence or a word within the overlap, if there is
    one."""
    # An overlap close to the size would leave almost no progress per passage.
    overlap = min(rule.overlap, rule.size - rule.size // 8)
    if overlap == 0:
        return stop
    earliest = max(stop - overlap, start + 1)
    for pattern in (_SENTENCE_END, _WORD_END):
        match = next(_boundaries(pattern, text, earliest, stop), None)
        if match and match.end() < stop:
            return match.end()
    return next((at for at in range(earliest, stop) if not is_inside_grapheme(text, at)), stop)


def _skip_space(text: str, start: int, end: int) -> int:
    match = _SPACE.match(text, start, end)
    return match.end() if match else start


def _is_blank(text: str, start: int, end: int) -> bool:
    return _skip_space(text, start, end) >= end
