"""A text as keywords are looked for in it: spelling tricks undone, every character traceable. Pure.

Undone are case, compatibility forms (ｈａｃｋ, 𝐡𝐚𝐜𝐤, ﬁ), invisible characters, diacritics (háck,
h̷a̷c̷k̷) and how much white space there is. Lookalikes of other alphabets are not, nor other spellings.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from spade_llm.tools.hidden import is_hidden

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CLUSTER = 32
"""Characters of one letter with its marks that count; ordering more costs time that is squared."""
_DIACRITICS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_ASCII_BLANKS = re.compile(r"\s[\s\x00-\x1f\x7f]*")
_JAMO = re.compile("[\u1160-\u11ff\ud7b0-\ud7ff]")


@dataclass(slots=True)
class Folded:
    """Character i of `text` comes from the original's characters `starts[i]` to `ends[i]`."""

    text: str = ""
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    closed: int = 0
    """So much of the original is in it."""


def folded(original: str, *, keeps_case: bool = False, is_whole: bool = True) -> Folded:
    """Without `is_whole`, the last letter is left out: what follows may still change it."""
    found = Folded()
    pieces: list[str] = []
    for start, end in _clusters(original):
        if end == len(original) and not is_whole:
            break
        letter = _known_letter if end - start <= MAX_CLUSTER else _letter
        piece = letter(original[start:end], keeps_case)
        pieces.append(piece)
        found.starts += [start] * len(piece)
        found.ends += [end] * len(piece)
        found.closed = end
    found.text = "".join(pieces)
    return found


def folded_text(original: str, *, keeps_case: bool = False) -> str:
    """As `folded`, quicker, where nobody asks for places."""
    if original.isascii():
        shown = _CONTROLS.sub("", _ASCII_BLANKS.sub(" ", original))
        return shown if keeps_case else shown.lower()
    return folded(original, keeps_case=keeps_case).text


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """What is folded as one: white space, or a letter with all that belongs to it."""
    start = 0
    while start < len(text):
        is_part = _is_blank if text[start].isspace() else _continues
        end = start + 1
        while end < len(text) and is_part(text[end]):
            end += 1
        yield start, end
        start = end


@lru_cache(maxsize=4096)
def _is_blank(char: str) -> bool:
    return char.isspace() or is_hidden(char)


@lru_cache(maxsize=4096)
def _continues(char: str) -> bool:
    if char.isspace() or char.isascii() and char.isprintable():
        return False
    is_mark = unicodedata.category(char).startswith("M")
    return is_mark or is_hidden(char) or _JAMO.match(char) is not None


@lru_cache(maxsize=4096)
def _known_letter(cluster: str, keeps_case: bool) -> str:
    return _letter(cluster, keeps_case)


def _letter(cluster: str, keeps_case: bool) -> str:
    if cluster[0].isspace():
        return " "
    text = _decomposed(_bare(cluster)[:MAX_CLUSTER])
    if not keeps_case:
        # Unicode's folding keeps them apart, as Turkish does.
        text = _decomposed(text.casefold().replace("ı", "i"))
    return unicodedata.normalize("NFC", text)


def _decomposed(text: str) -> str:
    return _bare(unicodedata.normalize("NFKD", text))


def _bare(text: str) -> str:
    shown = "".join(char for char in text if not is_hidden(char))
    return _DIACRITICS.sub("", shown)
