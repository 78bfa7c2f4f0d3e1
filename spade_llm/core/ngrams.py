"""Character n-grams of which a regular expression requires one: an index of many expressions.

Most sentences have none of the n-grams of which each match has one, so that few expressions are
searched in a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import chain, product
from typing import Any

SHORT, LONG = 3, 4
"""Lengths of the parts: few words have a given part of four characters, but some patterns require
none that is longer than three, as ` no`."""
MAX_TEXT_CHARS = 500
"""Maximum length of a text of which n-grams are made: a longer one contains most of them."""
_MAX_EXACT = 16
"""Maximum number of strings that a part of an expression is expanded to."""
_NO_WORD = re.compile(r"\W+")
_COMMON = frozenset(" eaosnrtil")
_DOTTED = re.compile("[ıİ]")
"""Letters that match an `i` without case, and are not folded to one."""


def ngrams_of(text: str) -> frozenset[str] | None:
    """N-grams of a text: folded, with one blank for whatever is no word. None: too long."""
    if len(text) > MAX_TEXT_CHARS or _DOTTED.search(text):
        return None
    padded = f" {_folded(text)} "
    return frozenset(chain(_grams(padded, LONG), _grams(padded, SHORT)))


def required_ngrams(pattern: str, flags: int) -> frozenset[str] | None:
    """N-grams of which each text that matches has at least one. None: it may have none of them."""
    # Deprecated as sre_parse; there is no public parser of regular expressions.
    parsed = import_module("re._parser").parse(pattern, flags)
    exact, required = _sequence(parsed)
    return required if exact is None else _of_strings(exact)


_Strings = frozenset[str]
_EMPTY: _Strings = frozenset({""})
_BLANK: _Strings = frozenset({" "})
_Analysis = tuple[_Strings | None, _Strings | None]
"""All strings that a part matches, if they are few, and the n-grams that its matches need."""
_ANYTHING: _Analysis = (None, None)


def _folded(text: str) -> str:
    return _NO_WORD.sub(" ", text).casefold()


def _grams(text: str, size: int) -> Iterator[str]:
    return map("".join, zip(*(text[at:] for at in range(size)), strict=False))


def _of_strings(strings: Iterable[str]) -> _Strings | None:
    """For each string the part that fewest texts have; None if one of them is shorter."""
    chosen = set()
    for one in strings:
        folded = _NO_WORD.sub(" ", one)
        found = list(_grams(folded, LONG)) or list(_grams(folded, SHORT))
        if not found:
            return None
        chosen.add(min(found, key=lambda part: sum(char in _COMMON for char in part)))
    return frozenset(chosen)


def _rarer(one: _Strings | None, other: _Strings | None) -> _Strings | None:
    if one is None or other is None:
        return one or other
    return min(one, other, key=len)


def _sequence(parts: Iterable[tuple[object, Any]]) -> _Analysis:
    """Join the strings of adjacent parts while they are few."""
    joined, required, is_whole = _EMPTY, None, True
    for part in parts:
        exact, needed = _part(*part)
        if exact is not None and len(joined) * len(exact) <= _MAX_EXACT:
            joined = frozenset(map("".join, product(joined, exact)))
            continue
        is_whole = False
        required = _rarer(required, _rarer(_of_strings(joined), needed))
        joined = _EMPTY if exact is None else exact
    if is_whole:
        return joined, None
    return None, _rarer(required, _of_strings(joined))


def _part(kind: object, value: Any) -> _Analysis:
    match str(kind):
        case "LITERAL":
            return frozenset({_folded(chr(value))}), None
        case "IN":
            return _character_set(value)
        case "AT":
            # A boundary stands beside a character that is no word, or beside an end of the text.
            return (_BLANK if str(value) == "AT_BOUNDARY" else _EMPTY), None
        case "ASSERT" | "ASSERT_NOT":
            return _EMPTY, None
        case "SUBPATTERN":
            return _sequence(value[-1])
        case "BRANCH":
            return _branch([_sequence(one) for one in value[1]])
        case "MAX_REPEAT" | "MIN_REPEAT":
            return _repeat(*value)
    return _ANYTHING


def _character_set(members: list[tuple[object, Any]]) -> _Analysis:
    if any(str(kind) != "LITERAL" for kind, _ in members):
        return _ANYTHING
    return frozenset(_folded(chr(value)) for _, value in members), None


def _branch(found: list[_Analysis]) -> _Analysis:
    exact = [strings for strings, _ in found if strings is not None]
    union = frozenset[str]().union(*exact)
    if len(exact) == len(found) and len(union) <= _MAX_EXACT:
        return union, None
    needed = [one if strings is None else _of_strings(strings) for strings, one in found]
    known = [one for one in needed if one is not None]
    return None, frozenset[str]().union(*known) if len(known) == len(needed) else None


def _repeat(least: int, most: int, parts: Iterable[tuple[object, Any]]) -> _Analysis:
    exact, needed = _sequence(parts)
    if exact is not None and most == 1:
        return (exact if least else exact | _EMPTY), None
    if not least:
        return _ANYTHING
    return None, needed if exact is None else _of_strings(exact)
