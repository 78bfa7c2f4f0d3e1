"""Quota groups: peers that share a quota for a day, beside the quota that each of them has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spade_llm.memory.subject import who_is

GroupsOf = Callable[[str], tuple[str, ...]]
"""The quota groups of a peer (bare JID, or its seat in a room), decided anew at each call."""

ALL_GUESTS = "*"
"""Quota group of all guests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circles:
    own_domain: str
    """Peers of this domain belong to no group of a domain."""
    is_guest: Callable[[str], bool]
    """Whether a bare JID is let in as a guest only."""

    def of(self, peer: str) -> tuple[str, ...]:
        """The groups of its domain, if it is another one, and of all guests, if it is a guest."""
        domain = who_is(peer).rpartition("@")[2]
        together = (f"@{domain}",) if self.own_domain and domain != self.own_domain else ()
        return (*together, ALL_GUESTS) if self.is_guest(who_is(peer)) else together


def no_groups(_peer: str) -> tuple[str, ...]:
    return ()
