"""Circles: of whom several share what is allowed for a day, beside their own. Knows no network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.memory.subject import who_is

if TYPE_CHECKING:
    from collections.abc import Callable

ALL_GUESTS = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circles:
    own_domain: str
    """Who has an account there is known: they are no circle."""
    is_guest: Callable[[str], bool]
    """Whether a bare JID is let in as a guest only."""

    def of(self, peer: str) -> tuple[str, ...]:
        """Another domain, and all guests together."""
        domain = who_is(peer).rpartition("@")[2]
        together = (f"@{domain}",) if self.own_domain and domain != self.own_domain else ()
        return (*together, ALL_GUESTS) if self.is_guest(who_is(peer)) else together


NO_CIRCLES = Circles(own_domain="", is_guest=lambda _jid: False)
