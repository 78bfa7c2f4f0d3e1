"""Admission policy: allowed JIDs and domains, guests, trust levels, and rate limits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from spade_llm.messaging import bare

if TYPE_CHECKING:
    from spade_llm.core.limits import Rate

ANY_JID = "*"


class TrustLevel(Enum):
    KNOWN = auto()
    GUEST = auto()
    """May talk, within limits of their own."""
    STRANGER = auto()
    """May not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPolicy:
    """A rate that is None is no limit."""

    allow: tuple[str, ...] = (ANY_JID,)
    """JIDs and domains that may talk; `*`: all, with JIDs of other domains as guests."""
    guests: tuple[str, ...] = ()
    """JIDs and domains that may talk as guests."""
    talk: Rate | None = None
    """Rate limit of messages to a model, per JID: texts of people, and chat requests of programs.
    """
    guest_talk: Rate | None = None
    """The same, of a guest."""
    domain_talk: Rate | None = None
    """Rate limit of messages to a model, per foreign domain; JIDs in `allow` are exempt."""
    requests: Rate | None = None
    """Programs' other requests, of one JID."""
    signals: Rate | None = None
    """Rate limit of stanzas that reach no model and no service, per JID: IQ requests, presences,
    marks, chat states and reactions."""

    @property
    def is_open(self) -> bool:
        return ANY_JID in self.allow

    @property
    def has_no_limits(self) -> bool:
        rates = (self.talk, self.guest_talk, self.domain_talk, self.requests, self.signals)
        return self.is_open and not any(rates)

    def trust_level(self, jid: str, own_domain: str) -> TrustLevel:
        """Return the trust level of a bare JID, without regard to invitations."""
        domain = domain_of(jid)
        if {jid, domain} & {*self.allow} or (self.is_open and domain == own_domain):
            return TrustLevel.KNOWN
        is_guest = self.is_open or {jid, domain} & {*self.guests}
        return TrustLevel.GUEST if is_guest else TrustLevel.STRANGER


def domain_of(jid: str) -> str:
    return bare(jid).rpartition("@")[2]
