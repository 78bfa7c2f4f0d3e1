"""What of an owner's memories another may see, by one grant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A row is in it if it has the tag and is of the session; neither given: all rows are."""

    grant: str
    """Id of the grant, for `Why`."""
    tag: str | None = None
    session: str | None = None
