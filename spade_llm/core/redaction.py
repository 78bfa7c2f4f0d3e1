"""Redaction of secrets in logged values; sanitizing of text: invisible characters, length.

Values whose key names a secret are masked at any depth, and so are values that look like secrets.
In doubt a value is masked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import islice

MASK = "***"
MAX_VALUE_CHARS = 200
"""Maximum length of one text; a longer one is cut, and its length is given."""
MAX_ITEMS = 20
"""Maximum number of items of one list or object."""
MAX_DEPTH = 6
MAX_VALUES = 100
"""Maximum number of values in one redacted value, over all levels."""

_SECRET_WORDS = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential"),
    *("apikey", "accesskey", "privatekey", "secretkey", "authorization", "authorisation"),
    *("cookie", "sessionid", "signature", "contrasena", "clave"),
)
# Only as whole names: "key" is in "monkey", and "pin" in "spinning".
_SECRET_NAMES = frozenset({"auth", "bearer", "jwt", "key", "otp", "pass", "pin", "cvv", "cvc"})
_NAMED = (
    r"(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|authorization)"
)
_ALPHANUMERIC_RUN = (
    r"(?<![A-Za-z0-9+/_=-])(?=[A-Za-z0-9+/_=-]*[A-Za-z])(?=[A-Za-z0-9+/_=-]*[0-9])"
    r"[A-Za-z0-9+/_=-]{32,}"
)
"""Pattern of a long run that mixes letters and digits: many keys look so, and many paths."""
_SECRET_PATTERNS = (
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
_CERTAIN_SECRET = re.compile(_SECRET_PATTERNS, re.DOTALL | re.IGNORECASE)
_POSSIBLE_SECRET = re.compile(f"{_SECRET_PATTERNS}|{_ALPHANUMERIC_RUN}", re.DOTALL | re.IGNORECASE)

_INVISIBLE_CATEGORIES = {"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"}
"""Control, format (bidirectional, zero-width, tags), private, surrogate, unassigned, line ends."""
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Marks and letters without a shape: joiners, fillers, variation selectors. A whole text can be
spelt in them, which a model reads and a person does not see."""


def redact(value: object, *, redacts_possible_secrets: bool = True) -> object:
    """Return a copy without secrets and of bounded size, for JSON.

    `redacts_possible_secrets=False` keeps values that are only possibly secrets, for a person
    that has to decide on them.
    """
    return _Masker(redacts_possible_secrets=redacts_possible_secrets).masked(value)


def redact_text(
    text: str, *, max_chars: int = MAX_VALUE_CHARS, redacts_possible_secrets: bool = True
) -> str:
    """Mask the secrets in a text, and truncate it."""
    # Truncated twice: first with room for a secret that the limit would cut in two.
    secrets = _POSSIBLE_SECRET if redacts_possible_secrets else _CERTAIN_SECRET
    hidden = secrets.sub(_mask_match, text[: 4 * max_chars])
    if len(text) <= max_chars:
        return hidden
    return f"{hidden[:max_chars]}… ({len(text)} characters)"


def is_secret_name(key: str) -> bool:
    """Check whether a value of this name must not be logged."""
    word = re.sub(r"[^a-z0-9]", "", key.lower())
    return word in _SECRET_NAMES or any(secret in word for secret in _SECRET_WORDS)


def is_invisible(char: str) -> bool:
    """Check whether a character is invisible. Line ends, tabs and the joiner of emoji count too;
    callers that want those must exempt them."""
    return unicodedata.category(char) in _INVISIBLE_CATEGORIES or _INVISIBLE.match(char) is not None


class _Masker:
    """Masks the secrets of one value, with a bound on the number of shown values."""

    def __init__(self, *, redacts_possible_secrets: bool) -> None:
        self._left = MAX_VALUES
        self._redacts_possible_secrets = redacts_possible_secrets

    def masked(self, value: object, depth: int = 0) -> object:
        self._left -= 1
        # Before Sequence, which a text is as well.
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return self._object(value, depth)
        if isinstance(value, Sequence):
            return self._list(value, depth)
        # The text form of any other type might contain secrets.
        return value if value is None or isinstance(value, bool | int | float) else MASK

    def _object(self, value: Mapping[object, object], depth: int) -> object:
        room = self._max_items(depth)
        shown = {
            self._text(str(key)): MASK if is_secret_name(str(key)) else self.masked(one, depth + 1)
            for key, one in islice(value.items(), room)
        }
        return shown | {"…": f"({len(value)} keys)"} if len(value) > room else shown

    def _text(self, text: str) -> str:
        return redact_text(text, redacts_possible_secrets=self._redacts_possible_secrets)

    def _list(self, value: Sequence[object], depth: int) -> object:
        room = self._max_items(depth)
        shown = [self.masked(one, depth + 1) for one in islice(value, room)]
        return [*shown, f"({len(value)} items)"] if len(value) > room else shown

    def _max_items(self, depth: int) -> int:
        return max(min(MAX_ITEMS, self._left), 0) if depth < MAX_DEPTH else 0


def _mask_match(match: re.Match[str]) -> str:
    kept = match["scheme"] or match["name"] or match["user"] or ""
    return f"{kept}{MASK}"


_KEPT_CONTROLS = "\n\t"
_JOINER = "\u200d"


def sanitize_text(text: str, max_chars: int) -> str:
    """Remove hidden characters except line breaks and tabs, and truncate with an ellipsis."""
    shown = "".join(char for char in text[: 4 * max_chars] if not _is_hidden(char))
    return shown if len(shown) <= max_chars else f"{shown[: max_chars - 1]}…"


def sanitize_line(text: str, max_chars: int) -> str:
    return " ".join(sanitize_text(text, max_chars).split())


def escape_hidden(text: str) -> str:
    """Escape hidden characters, for an operator that reviews the text."""
    return "".join(
        char.encode("unicode_escape").decode() if _is_hidden(char) else char for char in text
    )


def sanitize_json(value: object) -> object:
    """The same JSON value, every text and key in it cleaned."""
    if isinstance(value, str):
        return sanitize_text(value, max(len(value), 1))
    if isinstance(value, dict):
        return {sanitize_text(str(key), 200): sanitize_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [sanitize_json(item) for item in value]
    return value


def mask_secrets(text: str, secrets: frozenset[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _is_hidden(char: str) -> bool:
    return char not in _KEPT_CONTROLS and char != _JOINER and is_invisible(char)
