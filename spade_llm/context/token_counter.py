"""How many tokens a text has: the TokenCounter role, and an estimate that says that it is one.

Knows no model's table (token_tables.py).
"""

from __future__ import annotations

import re
from typing import Protocol

_PIECES = re.compile(r"[A-Za-zÀ-ɏ]+|[0-9]+|\n+|[^\sA-Za-zÀ-ɏ0-9]")
LETTERS_PER_TOKEN = 4
DIGITS_PER_TOKEN = 2
LATE_TWO_BYTES = 0x800
"""Below, letters of Greek, Cyrillic, Hebrew and Arabic: a little more than half a token each."""


class TokenCounter(Protocol):
    """Counts alike at every call. Blocks: about 10 µs for a message."""

    @property
    def name(self) -> str: ...

    @property
    def is_exact(self) -> bool:
        """Whether these are the tokens that the model itself counts."""
        ...

    def count(self, text: str) -> int: ...


class EstimatedTokens:
    """Errs on the large side: a prompt that is counted too large is only a little shorter.

    Against the tables of OpenAI's models: 1.0 to 1.5 times as many for English, Spanish, JSON and
    code, 0.8 to 2 for Russian, Arabic and Chinese.
    """

    name = "estimate"
    is_exact = False

    def count(self, text: str) -> int:
        return int(sum(map(_tokens_of, _PIECES.findall(text))) + 0.5)


def _tokens_of(piece: str) -> float:
    first = ord(piece[0])
    if piece[0].isalpha() and (first < 0x250):
        return -(-len(piece) // LETTERS_PER_TOKEN)
    if first < 0x80:
        return 0.5 - (-len(piece) // DIGITS_PER_TOKEN) if piece[0].isdigit() else 1
    if first < LATE_TWO_BYTES:
        return 0.7 * len(piece)
    return 1.7 if first < 0x10000 else 3
