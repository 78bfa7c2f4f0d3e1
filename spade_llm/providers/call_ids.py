"""Ids of tool calls that every server takes back: results are matched to calls by them. Pure."""

from __future__ import annotations

import uuid

MAX_ID = 64
"""Characters."""


def fitting_id(given: str, taken: set[str]) -> str:
    """The id as it is given, or a new one where it is missing, too long or taken; noted in
    `taken`."""
    is_fitting = 0 < len(given) <= MAX_ID and given not in taken
    chosen = given if is_fitting else f"call_{uuid.uuid4().hex[:24]}"
    taken.add(chosen)
    return chosen
