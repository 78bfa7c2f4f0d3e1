"""How many tokens a text has: the TokenCounter role, and an estimate that says that it is one.

Knows no model's table (token_tables.py).
"""

from __future__ import annotations

import re
from typing import Protocol

_PIECES = re.compile(r"[A-Za-zÀ-ɏ]+|[0-9]+|[^\sA-Za-zÀ-ɏ0-9]")
_LINE_ENDS = re.compile(r"\n+")
LETTERS_PER_TOKEN = 4
DIGITS_PER_TOKEN = 2
LATE_TWO_BYTES = 0x800
"""Below, letters of Greek, Cyrillic, Hebrew and Arabic: a little more than half a token each."""

MAX_KNOWN, MAX_KNOWN_CHARS = 20_000, 20
"""Words whose estimates are kept, and how long one may be: 2 MB."""


class TokenCounter(Protocol):
    """Counts alike at every call. Blocks: about 10 µs for a message."""

    @property
    def name(self) -> str: ...

    @property
    def is_exact(self) -> bool:
        """Whether these are the tokens that the model itself counts."""
        ...

    def count(self, text: str) -> int: ...


class _Known(dict[str, float]):
    """What words are estimated at: most come again."""

    def __missing__(self, word: str) -> float:
        tokens = sum(map(_tokens_of, _PIECES.findall(word)))
        if len(word) <= MAX_KNOWN_CHARS:
            if len(self) >= MAX_KNOWN:
                self.clear()
            self[word] = tokens
        return tokens


_KNOWN = _Known()


class EstimatedTokens:
    """Errs on the large side: a prompt that is counted too large is only a little shorter.

    Against the tables of OpenAI's models: 1.0 to 1.5 times as many for English, Spanish, JSON and
    code, 0.8 to 2 for Russian, Arabic and Chinese.
    """

    name = "estimate"
    is_exact = False

    def count(self, text: str) -> int:
        words = sum(map(_KNOWN.__getitem__, text.split()))
        return int(words + len(_LINE_ENDS.findall(text)) + 0.5)


def _tokens_of(piece: str) -> float:
    first = ord(piece[0])
    if piece[0].isalpha() and (first < 0x250):
        return -(-len(piece) // LETTERS_PER_TOKEN)
    if first < 0x80:
        return 0.5 - (-len(piece) // DIGITS_PER_TOKEN) if piece[0].isdigit() else 1
    if first < LATE_TWO_BYTES:
        return 0.7 * len(piece)
    return 1.7 if first < 0x10000 else 3
