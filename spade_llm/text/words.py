"""Text as words: runs of letters and digits, and pairs of characters where a script has no spaces.

Knows no language.
"""

from __future__ import annotations

import re
import unicodedata

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
"""Thai, Lao, Burmese, Khmer, Kana, Han."""

_WORD = re.compile(
    rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_]|[\u0300-\u036f\u0900-\u0963\u0966-\u0dff])+"
)
"""Vowel signs of Indic scripts are marks to Python, and parts of words to their readers."""

_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")


def words_of(text: str) -> list[str]:
    """In order, case folded, accents as they are."""
    folded = unicodedata.normalize("NFC", text).casefold()
    if folded.isascii():
        return _WORD.findall(folded)
    return [word for run in _WORD.findall(folded) for word in _split(run)]


def without_accents(word: str) -> str:
    """Latin, Greek and Cyrillic letters without their marks."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    bare = "".join(char for char in decomposed if not "\u0300" <= char <= "\u036f")
    return unicodedata.normalize("NFC", bare)


def _split(run: str) -> list[str]:
    if len(run) < 2 or not _IS_UNSPACED.match(run):
        return [run]
    return [run[start : start + 2] for start in range(len(run) - 1)]
