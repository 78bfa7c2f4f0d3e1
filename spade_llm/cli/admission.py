"""Who may talk to an agent, as its agent.toml says. Reads no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.conversation.peer_limits import CrowdLimits, PeerLimits
from spade_llm.core.limits import Rate
from spade_llm.xmpp.admission import Admission

if TYPE_CHECKING:
    from spade_llm.settings import AdmissionTable, LimitsTable


def admission_of(table: AdmissionTable) -> Admission:
    return Admission(
        allow=tuple(map(str.lower, table.allow)),
        guests=tuple(map(str.lower, table.guests)),
        talk=_rate(table.messages_per_minute / 60, table.messages_at_once),
        guest_talk=_rate(table.guest_messages_per_minute / 60, table.guest_messages_at_once),
        domain_talk=_rate(table.domain_messages_per_minute / 60, table.domain_messages_at_once),
        requests=_rate(table.requests_per_second, table.requests_at_once),
        signals=_rate(table.signals_per_second, table.signals_at_once),
    )


def crowd_limits_of(table: LimitsTable) -> CrowdLimits:
    return CrowdLimits(
        guest=PeerLimits(**table.guest.model_dump()),
        domain=PeerLimits(**table.domain.model_dump()),
        all_guests=PeerLimits(**table.all_guests.model_dump()),
    )


def _rate(per_s: float, burst: int) -> Rate | None:
    return Rate(per_s=per_s, burst=burst) if per_s else None
