"""Who a request speaks for. Knows no HTTP."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Sessions, memories and documents belong to `jid`; agents are told it in every request."""

    jid: str
    """Bare. A person's own account, where they use XMPP too: it is one memory."""
    is_admin: bool = False
    """May see all agents' work, and delete everything."""
    token: str = ""
    """Name of the token that said so; empty: it came over loopback without one."""
