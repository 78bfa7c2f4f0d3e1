"""Markdown of a growing answer as styled terminal text (rich), one top-level block at a time."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, JustifyMethod
from rich.markdown import Heading, Markdown

# HTML stays as written: rich leaves it out, and with it what a model says about a tag.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_STYLES = re.compile(r"\x1b\[[0-9;]*m")
CODE_THEME = "ansi_dark"
"""Theme of Pygments with the terminal's own colours and no background."""


class MarkdownStream:
    """Text that arrives in pieces, rendered block by block: paragraph, list, table, code.

    A block is complete when the next one begins: until then, a line may still belong to it, or
    change what it is (a table's second line, an underlined title).
    """

    def __init__(self, *, width: int, has_colour: bool) -> None:
        self._width = width
        self._has_colour = has_colour
        self._pending = ""
        self._is_first = True

    def add(self, text: str) -> str:
        """Add a piece of text; return what it completes, rendered."""
        self._pending += text
        blocks = [one for one in _PARSER.parse(self._pending) if one.level == 0]
        starts = [one.map[0] for one in blocks if one.map and one.nesting >= 0]
        lines = self._pending.split("\n")
        if len(starts) < 2:
            return ""
        self._pending = "\n".join(lines[starts[-1] :])
        return "".join(
            self._block("\n".join(lines[first:next])) for first, next in pairwise(starts)
        )

    def close(self) -> str:
        """Return the last block, rendered."""
        rest, self._pending = self._pending, ""
        return self._block(rest) if rest.strip() else ""

    def tail(self, max_rows: int) -> str:
        """Last rows of the unfinished block, rendered; below an empty row unless it is first."""
        if not self._pending.strip():
            return ""
        rows = f"{self._gap}{render(self._pending, self._width, self._has_colour)}".split("\n")
        return "\n".join(rows[-max_rows:])

    @property
    def _gap(self) -> str:
        return "" if self._is_first else "\n"

    def _block(self, markdown: str) -> str:
        gap, self._is_first = self._gap, False
        return f"{gap}{render(markdown, self._width, self._has_colour)}\n"


def render(markdown: str, width: int, has_colour: bool) -> str:
    """Markdown as lines of the width, styled with escape sequences or not, without a line end."""
    screen = io.StringIO()
    console = Console(
        file=screen,
        width=width,
        force_terminal=has_colour,
        color_system="standard" if has_colour else None,
        no_color=not has_colour,
        legacy_windows=False,
        highlight=False,
    )
    console.print(_ChatMarkdown(markdown))
    lines = [line.rstrip() for line in screen.getvalue().split("\n")]
    # rich surrounds some blocks with empty lines; styles hide them from str.strip().
    while len(lines) > 1 and _is_empty(lines[-1]):
        lines.pop()
    while len(lines) > 1 and _is_empty(lines[0]):
        del lines[0]
    return "\n".join(lines)


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _ChatMarkdown(Markdown):
    """Markdown that keeps single line ends, as chat clients do. Addresses of links are shown: text
    of a model must not hide where a link leads."""

    elements = {**Markdown.elements, "heading_open": _LeftHeading}

    def __init__(self, markdown: str) -> None:
        super().__init__("", code_theme=CODE_THEME, hyperlinks=False)
        self.parsed = _PARSER.parse(markdown)
        for token in self.parsed:
            for child in token.children or ():
                if child.type == "softbreak":
                    child.type = "hardbreak"


def _is_empty(line: str) -> bool:
    return not _STYLES.sub("", line).strip()
