"""Names as servers of models take them, of tools and of who speaks. Pure."""

from __future__ import annotations

import re

MAX_NAME_CHARS = 64
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")


def safe_name(name: str, *, max_chars: int = MAX_NAME_CHARS) -> str:
    """Every other character as `_`; may be empty."""
    return _FOREIGN.sub("_", name)[:max_chars]
