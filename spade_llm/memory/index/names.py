"""Who is named in a query, of those who speak in the conversations. Knows no ranking.

A message that says a name was mostly said to that person, so that a name in the query draws its
vector to the wrong speaker: it is cut there, and counts as a bonus for what the person said.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from spade_llm.text.stop_words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MIN_CHARS = 2
MAX_NAMES = 2000
"""Speakers that are looked for in a query, the first ones: an expression of 20 KB."""


def named_in(text: str, names: Sequence[str]) -> list[str]:
    """Those of the names that the text says, in full or by one of their words."""
    said = {_plain(match) for match in _said(text, tuple(names[:MAX_NAMES]))}
    return [name for name in names[:MAX_NAMES] if said & set(_forms_of(name))]


def without_names(text: str, names: Sequence[str]) -> str:
    """The text without them, as it is to be embedded; the text itself if nothing else is left."""
    pattern = _pattern_of(tuple(names[:MAX_NAMES]))
    if pattern is None:
        return text
    bare = " ".join(pattern.sub(_cut, text).split())
    return bare if re.search(r"\w", bare) else text


def _said(text: str, names: tuple[str, ...]) -> Iterable[str]:
    pattern = _pattern_of(names)
    if pattern is None:
        return []
    return [match["name"] for match in pattern.finditer(text) if _is_name(match["name"])]


def _cut(match: re.Match[str]) -> str:
    return "" if _is_name(match["name"]) else match[0]


def _is_name(said: str) -> bool:
    """`Will` is a name only with its capital; `anna` is one without."""
    return said.casefold() not in STOP_WORDS or said[0].isupper()


@lru_cache(256)
def _pattern_of(names: tuple[str, ...]) -> re.Pattern[str] | None:
    forms = sorted({form for name in names for form in _forms_of(name)}, key=len, reverse=True)
    if not forms:
        return None
    choice = "|".join(map(re.escape, forms))
    return re.compile(rf"(?<!\w)(?P<name>{choice})(?:['’]s)?(?!\w)", re.IGNORECASE)


def _forms_of(name: str) -> list[str]:
    """The name, and each of its words."""
    forms = dict.fromkeys([name, *name.split()])
    return [_plain(form) for form in forms if len(form) >= MIN_CHARS]


def _plain(name: str) -> str:
    return name.casefold()
