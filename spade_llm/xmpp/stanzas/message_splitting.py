"""Message splitting: a long text in several messages, cut between paragraphs.

A block of code that is cut is closed, and opened again in the next piece.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_MESSAGE_CHARS = 4000
"""Maximum length of a message to a person, in characters."""
_FENCE = "```"
_BORDERS = ("\n\n", "\n", " ")
_MAX_INFO = 40
"""Maximum length of a reopened fence line with its language, so that each piece has room for text.
"""
_FEWEST = 4
"""A piece is not cut in its first quarter, if it can be cut later less well."""


def split_text(text: str, *, max_chars: int = MAX_MESSAGE_CHARS) -> Iterator[str]:
    """All of the text, but white space where it was cut; one at least."""
    opened, rest, has_begun = "", text, False
    while len(opened) + len(rest) > max_chars:
        # Each piece may have to be closed: a line break and a fence.
        room = max_chars - len(opened) - len(_FENCE) - 1
        cut = _cut_point(rest, room)
        piece, rest = opened + rest[:cut].rstrip(), rest[cut:]
        # A line that goes on keeps its indentation.
        rest = rest.lstrip("\n") if rest.startswith("\n") else rest.removeprefix(" ")
        opened = _open_code_block(piece)
        if piece.strip():
            has_begun = True
            yield f"{piece}\n{_FENCE}" if opened else piece
    if rest.strip() or not has_begun:
        yield opened + rest


def _cut_point(text: str, room: int) -> int:
    for border in _BORDERS:
        cut = text.rfind(border, room // _FEWEST, room + len(border))
        if cut > 0:
            return cut
    return room


def _open_code_block(piece: str) -> str:
    """The line that opens the block of code at its end; empty: there is none."""
    opened = ""
    for line in piece.split("\n"):
        if not opened and line.startswith(_FENCE):
            opened = f"{line[:_MAX_INFO]}\n"
        elif opened and line.rstrip() == _FENCE:
            opened = ""
    return opened
