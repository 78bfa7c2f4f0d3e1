"""`/me waves` (XEP-0245), as a model reads it and a history keeps it. Pure."""

from __future__ import annotations

ACTION = "/me "


def acted(text: str, *, who: str) -> str:
    """`* ada waves`; anything else as it is. `who`: a JID, or a name."""
    if not text.startswith(ACTION):
        return text
    return f"* {who.partition('@')[0]} {text.removeprefix(ACTION)}"
