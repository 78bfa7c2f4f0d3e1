"""The headings of a text, in whichever way it marks them. Pure; time is linear in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING

from spade_llm.rag.loading.kinds import CODE_SUFFIXES, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKDOWN = re.compile(
    r"^ {0,3}(?:(?P<fence>`{3,}|~{3,})"
    r"|(?P<marks>#{1,6})[ \t]+(?P<title>[^\n]{0,200})"
    r"|(?P<above>[^\s#>|`~+*=-][^\n]{0,199})\n {0,3}(?P<line>={2,}|-{2,})[ \t\r]*$)",
    re.MULTILINE,
)
_FRONT_MATTER = re.compile(r"---[ \t\r]*\n.{0,10000}?^---[ \t\r]*$", re.DOTALL | re.MULTILINE)
_BLANK_LINE = re.compile(r"(?:\A|\n)[ \t\r]*\n\Z")
_RST = re.compile(
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
"""How lines begin that stand above a definition and are about it."""
WINDOW = 65_536
"""Characters that a pattern is looked for in at once: no other thread runs meanwhile (`re` keeps
the GIL)."""
_LONGEST = 2_000
"""Characters of the longest match, so far as it matters."""


class Markup(StrEnum):
    """How a text marks its headings."""

    MARKDOWN = "markdown"
    """ATX and setext (CommonMark §4.2, §4.3), outside fenced code."""
    RST = "rst"
    CODE = "code"
    """Definitions that begin in the first column."""
    PLAIN = "plain"
    """Not at all."""


@dataclass(frozen=True, slots=True)
class Heading:
    start: int
    end: int
    level: int
    title: str


def markup_of(source: str, is_markdown: bool | None = None) -> Markup:
    """As it was said, else by the source's ending; what is no file name counts as Markdown."""
    if is_markdown is not None:
        return Markup.MARKDOWN if is_markdown else Markup.PLAIN
    suffix = PurePath(source).suffix.lower()
    if PurePath(source).name.lower() in ("makefile", "dockerfile"):
        return Markup.PLAIN
    if kind_of(source) is None or suffix in ("", ".md", ".markdown"):
        return Markup.MARKDOWN
    if suffix == ".rst":
        return Markup.RST
    return Markup.CODE if suffix in CODE_SUFFIXES else Markup.PLAIN


def headings_of(text: str, markup: Markup) -> Iterator[Heading]:
    """In the order of the text."""
    if markup is Markup.MARKDOWN:
        return _markdown(text)
    if markup is Markup.RST:
        return _rst(text)
    return _definitions(text) if markup is Markup.CODE else iter(())


def _matches(pattern: re.Pattern[str], text: str, start: int = 0) -> Iterator[re.Match[str]]:
    """As `finditer`, window by window; a window ends at the end of a line."""
    while start < len(text):
        following = start + WINDOW
        end = text.find("\n", following + _LONGEST)
        for match in pattern.finditer(text, start, len(text) if end < 0 else end):
            if match.start() >= following:
                break
            yield match
            start = match.end()
        start = max(start, following)


def _markdown(text: str) -> Iterator[Heading]:
    fence = ""
    front = _FRONT_MATTER.match(text)
    for match in _matches(_MARKDOWN, text, front.end() if front else 0):
        mark = match["fence"]
        if mark:
            fence = _fence_after(fence, mark)
        elif match["marks"] and not fence:
            title = match["title"].strip().rstrip("#").rstrip()
            yield Heading(match.start(), match.end(), len(match["marks"]), title)
        elif not fence and _follows_blank(text, match.start()):
            level = 1 if match["line"].startswith("=") else 2
            yield Heading(match.start(), match.end(), level, match["above"].strip())


def _fence_after(fence: str, mark: str) -> str:
    if not fence:
        return mark
    return "" if mark.startswith(fence) else fence


def _follows_blank(text: str, at: int) -> bool:
    """Of a paragraph with several lines, the last one is no heading."""
    return at == 0 or _BLANK_LINE.search(text[max(0, at - 100) : at]) is not None


def _rst(text: str) -> Iterator[Heading]:
    """Levels are in the order in which their underlines first come (docutils)."""
    levels: dict[tuple[str, bool], int] = {}
    for match in _matches(_RST, text):
        title, under, over = match["title"].strip(), match["under"], match["over"]
        if not _is_title(title, under, over):
            continue
        if over or _follows_blank(text, match.start()):
            level = levels.setdefault((under[0], bool(over)), len(levels) + 1)
            yield Heading(match.start(), match.end(), level, title)


def _is_title(title: str, under: str, over: str | None) -> bool:
    if over and over != under:
        return False
    return len(under) >= min(len(title), 4) and any(char.isalnum() for char in title)


def _definitions(text: str) -> Iterator[Heading]:
    for match in _matches(_DEFINITION, text):
        start = _with_what_is_above(text, match.start())
        # It ends where it begins: the line belongs to the body, which so is never blank.
        yield Heading(start, start, 1, match["name"])


def _with_what_is_above(text: str, start: int) -> int:
    while start > 0:
        line = text.rfind("\n", 0, start - 1) + 1
        if not _BELONGS_TO_NEXT.match(text, line):
            break
        start = line
    return start
