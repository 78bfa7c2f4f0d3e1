"""Others' text on a terminal, without what would steer it: move its cursor, hide lines. Pure."""

from __future__ import annotations

import unicodedata

from spade_llm.tools.hidden import is_hidden


def one_line(text: str) -> str:
    """Control and direction characters, and line ends, become spaces."""
    return "".join(" " if is_hidden(letter) else letter for letter in text)


def lines(text: str) -> str:
    """The same, of each line."""
    return "\n".join(map(one_line, text.splitlines()))


def many_lines(text: str) -> str:
    """Of a text that may come in pieces, and in any language: only control characters are left
    out, but for line ends and tabs."""
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) != "Cc")
