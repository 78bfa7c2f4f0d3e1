"""How many tokens a text has, estimated: no tokenizer is loaded for it. Pure."""

from __future__ import annotations

CHARS_PER_TOKEN = 4


def estimated_tokens(text: str) -> int:
    """A quarter of the characters, rounded up."""
    return tokens_of(len(text))


def tokens_of(chars: int) -> int:
    """The same for a number of characters."""
    return -(-chars // CHARS_PER_TOKEN)
