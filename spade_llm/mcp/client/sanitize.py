"""Sanitizes text from servers: truncates, removes hidden characters, masks secrets."""

from __future__ import annotations

from spade_llm.core.redaction import is_invisible

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
