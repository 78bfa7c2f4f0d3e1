"""Hides secrets in what is written down about a call. Pure.

A key that names a secret hides its value, at any depth; so does a value that looks like one,
wherever it stands. It hides too much rather than too little.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice

MASK = "***"
MAX_VALUE_CHARS = 200
"""Of one text; the rest is counted."""
MAX_ITEMS = 20
"""Of one list or object."""
MAX_DEPTH = 6
MAX_VALUES = 100
"""Of one call, all together."""

_SECRET_WORDS = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential"),
    *("apikey", "accesskey", "privatekey", "secretkey", "authorization", "authorisation"),
    *("cookie", "sessionid", "signature", "contrasena", "clave"),
)
_SECRET_NAMES = frozenset({"auth", "bearer", "jwt", "key", "otp", "pass", "pin", "cvv", "cvc"})
_NAMED = (
    r"(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|authorization)"
)
_MIXTURE = (
    r"(?<![A-Za-z0-9+/_=-])(?=[A-Za-z0-9+/_=-]*[A-Za-z])(?=[A-Za-z0-9+/_=-]*[0-9])"
    r"[A-Za-z0-9+/_=-]{32,}"
)
"""Of letters and digits: many a key, and many a path."""
_KNOWN = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?P<scheme>\b(?:Bearer|Basic|Digest|Token)\s+)[A-Za-z0-9._~+/=-]{8,}"
    rf"|(?P<name>{_NAMED}['\"]?\s*(?:[:=]|\bis\b)\s*)"
    r"(?:\"[^\"]*\"?|'[^']*'?|(?:(?:Bearer|Basic|Digest|Token)\s+)?[^\s'\",;&]+)"
    r"|(?P<user>://[^\s/:@]*:)[^\s/@]+(?=@)"
    r"|\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?"
    r"|\b(?:sk|pk|rk|gh[pousr]|github_pat|glpat|xox[abeprs]|hf|pypi|npm|AKIA|ASIA|AIza|ya29)"
    r"[A-Za-z0-9._-]{12,}"
)
"""Private keys, authorisation headers, `name=value`, passwords in addresses, JSON web tokens, and
keys with the prefixes of well-known services."""
_SURE = re.compile(_KNOWN, re.DOTALL | re.IGNORECASE)
_PERHAPS = re.compile(f"{_KNOWN}|{_MIXTURE}", re.DOTALL | re.IGNORECASE)


def masked(value: object, *, is_guessing: bool = True) -> object:
    """The same without secrets, and of bounded size: for JSON.

    Not `is_guessing`: what only might be one is shown, as whoever decides on it must see it.
    """
    return _Masker(is_guessing=is_guessing).masked(value)


def masked_text(text: str, *, max_chars: int = MAX_VALUE_CHARS, is_guessing: bool = True) -> str:
    """Cut first, with room for a secret that the cut would halve."""
    secrets = _PERHAPS if is_guessing else _SURE
    hidden = secrets.sub(_hidden, text[: 4 * max_chars])
    if len(text) <= max_chars:
        return hidden
    return f"{hidden[:max_chars]}… ({len(text)} characters)"


def names_secret(key: str) -> bool:
    """Whether what is called so is not to be written down."""
    word = re.sub(r"[^a-z0-9]", "", key.lower())
    return word in _SECRET_NAMES or any(secret in word for secret in _SECRET_WORDS)


class _Masker:
    """Counts what it shows; used once."""

    def __init__(self, *, is_guessing: bool) -> None:
        self._left = MAX_VALUES
        self._is_guessing = is_guessing

    def masked(self, value: object, depth: int = 0) -> object:
        self._left -= 1
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return self._object(value, depth)
        if isinstance(value, Sequence):
            return self._list(value, depth)
        return value if value is None or isinstance(value, bool | int | float) else MASK

    def _object(self, value: Mapping[object, object], depth: int) -> object:
        room = self._room(depth)
        shown = {
            self._text(str(key)): MASK if names_secret(str(key)) else self.masked(one, depth + 1)
            for key, one in islice(value.items(), room)
        }
        return shown | {"…": f"({len(value)} keys)"} if len(value) > room else shown

    def _text(self, text: str) -> str:
        return masked_text(text, is_guessing=self._is_guessing)

    def _list(self, value: Sequence[object], depth: int) -> object:
        room = self._room(depth)
        shown = [self.masked(one, depth + 1) for one in islice(value, room)]
        return [*shown, f"({len(value)} items)"] if len(value) > room else shown

    def _room(self, depth: int) -> int:
        return max(min(MAX_ITEMS, self._left), 0) if depth < MAX_DEPTH else 0


def _hidden(match: re.Match[str]) -> str:
    kept = match["scheme"] or match["name"] or match["user"] or ""
    return f"{kept}{MASK}"
