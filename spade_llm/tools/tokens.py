"""Cuts an arithmetic expression into tokens. Pure; knows no meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from spade_llm.errors import InvalidArguments

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9]*)"
    r"|(?P<symbol>\*\*|//|[-+*/%(),]))"
)
_ALIKE = str.maketrans({"×": "*", "·": "*", "÷": "/", "\N{MINUS SIGN}": "-"})
_HINTS = {
    "^": "write ** for powers",
    "=": "only one expression, without '='",
    "_": "write numbers without '_'",
    "'": "write numbers without separators",
}


class Kind(StrEnum):
    NUMBER = "number"
    NAME = "name"
    SYMBOL = "symbol"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    position: int
    """Of its first character, from 1."""

    def __str__(self) -> str:
        return "the end" if self.kind is Kind.END else repr(self.text)


def tokens_of(expression: str) -> list[Token]:
    """Always ends with one of kind END.

    Raises:
        InvalidArguments: a character that is in no token; the message has its position.
    """
    text = expression.translate(_ALIKE).rstrip()
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _unexpected(text, at)
        found.append(_token(match))
        at = match.end()
    found.append(Token(Kind.END, "", len(text) + 1))
    return found


def _token(match: re.Match[str]) -> Token:
    group = match.lastgroup or "symbol"
    return Token(Kind(group), match[group], match.start(group) + 1)


def _unexpected(text: str, at: int) -> InvalidArguments:
    while text[at].isspace():
        at += 1
    hint = _HINTS.get(text[at])
    return InvalidArguments(
        f"unexpected {text[at]!r} at position {at + 1}" + (f": {hint}" if hint else "")
    )
