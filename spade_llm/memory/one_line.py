"""Any text as one line that a format around it can rely on. Pure; knows no format."""

from __future__ import annotations

import re

_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Turns the direction of what stands behind it: of our own words, too."""
MORE = "…"


def one_line(text: str, max_chars: int) -> str:
    """Without line breaks, double blanks or turned directions; with `…` at the end if it was cut.

    `max_chars` is at least 1.
    """
    # Far beyond the bound there is nothing to look at, however long the text is.
    looked_at = text.lstrip()[: 4 * max_chars + 1024]
    line = " ".join(_TURNING.sub("", looked_at).split())
    if len(line) <= max_chars:
        return line
    return line[: max_chars - len(MORE)].rstrip() + MORE


def is_longer(text: str, max_chars: int) -> bool:
    """Whether `one_line` has to cut it."""
    return len(text) > max_chars and len(" ".join(text.split())) > max_chars
