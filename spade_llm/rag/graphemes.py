"""Where a character, as people see one, may not be cut. Approximates UAX #29, from the standard
library's tables; knows no Hangul jamo and no Indic conjuncts."""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
MAX_MARKS = 32
"""Looked at before a place: the flags of a long row of them may be cut in two beyond."""


def is_inside(text: str, at: int) -> bool:
    """Whether `at` lies between two code points that belong together."""
    if not 0 < at < len(text) or (text[at - 1] < "\u0300" and text[at] < "\u0300"):
        return 0 < at < len(text) and text[at - 1 : at + 1] == "\r\n"
    if text[at - 1] == _JOINER or _extends(text[at]):
        return True
    return _is_flag(text[at]) and _flags_before(text, at) % 2 == 1


def _extends(char: str) -> bool:
    is_skin_tone = "\U0001f3fb" <= char <= "\U0001f3ff"
    return char == _JOINER or is_skin_tone or unicodedata.category(char) in ("Mn", "Me", "Mc")


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flags_before(text: str, at: int) -> int:
    count = 0
    while count < MAX_MARKS and at - count > 0 and _is_flag(text[at - count - 1]):
        count += 1
    return count
