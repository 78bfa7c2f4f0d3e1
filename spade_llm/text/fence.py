"""The code block that many models put JSON into, whatever they are told."""

from __future__ import annotations

import re

_FENCED = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL | re.IGNORECASE)


def unfenced(text: str) -> str:
    """What stands in the block, where a text is nothing but one."""
    found = _FENCED.fullmatch(text.strip())
    return (found[1] if found else text).strip()
