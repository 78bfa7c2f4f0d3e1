"""Makes text of a server harmless to show: bounded, without characters that nobody sees. Pure."""

from __future__ import annotations

from spade_llm.tools.hidden import is_hidden

_KEPT = "\n\t"
_JOINER = "\u200d"


def cleaned(text: str, max_chars: int) -> str:
    """Without hidden characters, cut with an ellipsis. Line breaks and tabs stay."""
    shown = "".join(char for char in text[: 4 * max_chars] if not _is_hidden(char))
    return shown if len(shown) <= max_chars else f"{shown[: max_chars - 1]}…"


def one_line(text: str, max_chars: int) -> str:
    return " ".join(cleaned(text, max_chars).split())


def revealed(text: str) -> str:
    """Hidden characters as escapes, for an operator who decides on the text."""
    return "".join(
        char.encode("unicode_escape").decode() if _is_hidden(char) else char for char in text
    )


def clean_values(value: object) -> object:
    """The same JSON value, every text and key in it cleaned."""
    if isinstance(value, str):
        return cleaned(value, max(len(value), 1))
    if isinstance(value, dict):
        return {cleaned(str(key), 200): clean_values(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean_values(item) for item in value]
    return value


def masked(text: str, secrets: frozenset[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _is_hidden(char: str) -> bool:
    return char not in _KEPT and char != _JOINER and is_hidden(char)
