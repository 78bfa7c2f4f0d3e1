"""Others' text on a terminal, without characters that would move its cursor. Pure."""

from __future__ import annotations

from spade_llm.tools.hidden import is_hidden


def one_line(text: str) -> str:
    """Control and direction characters, and line ends, become spaces."""
    return "".join(" " if is_hidden(letter) else letter for letter in text)


def lines(text: str) -> str:
    """The same, of each line."""
    return "\n".join(map(one_line, text.splitlines()))
