"""Writing Markdown that means what it says: text that looks like a heading is none."""

from __future__ import annotations

import re

_LOOKS_LIKE_MARKUP = re.compile(r"^( {0,3})(#{1,6}[ \t]|```|~~~|={2,}[ \t]*$|-{2,}[ \t]*$)", re.M)
MAX_HEADING_CHARS = 200


def heading(title: str, level: int) -> str:
    """Empty for a title without a word."""
    words = " ".join(title.split())[:MAX_HEADING_CHARS]
    return f"{'#' * min(max(level, 1), 6)} {words}" if words else ""


def escaped(text: str) -> str:
    """Lines that Markdown would take for a heading, an underline or a fence get a backslash."""
    return _LOOKS_LIKE_MARKUP.sub(r"\1\\\2", text)


def row(cells: list[str]) -> str:
    """A line of a table; empty if all its cells are."""
    words = [" ".join(cell.split()).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(words)} |" if any(words) else ""
