"""Spoken: an answer's text while it is made, and the pieces of it that its asker sees. Pure.

The pieces together are the text, character by character, whatever the model's own pieces were.
"""

from __future__ import annotations

import json

MAX_ANSWER_BYTES = 96 * 1024
"""Of one answer, as JSON inside XML: it fits into a message with its sources."""
BREAK = "\n\n"


class Spoken:
    """Paragraphs without white space around them, one for each time the model spoke."""

    def __init__(self, *, max_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._left = max_bytes
        self._pieces: list[str] = []
        self._last = 0
        """Where in them the latest paragraph begins."""
        self._is_in_paragraph = False
        self._held = ""
        """White space that may turn out to be at the end."""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def last_paragraph(self) -> str:
        """What the model said since it last called a tool."""
        return "".join(self._pieces[self._last :]).removeprefix(BREAK)

    @property
    def is_full(self) -> bool:
        """The rest of what is added is left out."""
        return self._left <= 0

    def add(self, piece: str) -> str:
        """What of it can be shown now."""
        if not self._is_in_paragraph:
            piece = piece.lstrip()
        shown = piece.rstrip()
        if not shown:
            self._held += piece
            return ""
        lead = self._held if self._is_in_paragraph else BREAK * bool(self._pieces)
        self._is_in_paragraph, self._held = True, piece[len(shown) :]
        return self._kept(lead + shown)

    def begin_paragraph(self) -> None:
        self._is_in_paragraph, self._held, self._last = False, "", len(self._pieces)

    def _kept(self, text: str) -> str:
        text = self._fitting(text)
        if text:
            self._pieces.append(text)
        return text

    def _fitting(self, text: str) -> str:
        """As much of it as there is room for; once something is left out, all that follows is."""
        cost = _cost(text[: self._left + 1])  # A character costs one at least.
        if cost <= self._left:
            self._left -= cost
            return text
        fitting = _cut(text, self._left)
        self._left = 0
        return fitting


def _cost(text: str) -> int:
    written = json.dumps(text, ensure_ascii=False).encode(errors="surrogatepass")
    escapes = 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))
    return len(written) - 2 + escapes


def _cut(text: str, room: int) -> str:
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _cost(text[:middle]) <= room else (low, middle - 1)
    return text[:low].rstrip()
