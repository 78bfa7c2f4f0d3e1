"""Others' text on a terminal: one line, without characters that would move its cursor. Pure."""

from __future__ import annotations


def one_line(text: str) -> str:
    """Control and direction characters, and line ends, become spaces."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
