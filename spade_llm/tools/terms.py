"""On which terms a tool may be called: by whom, with whose yes, how long, how often at once.

Knows no tool and no caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

EVERYBODY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """None: what the next wider terms say (a tool's, its group's, the agent's)."""

    allowed: frozenset[str] | None = None
    """Bare JIDs and domains of callers; `*`: everybody; empty: nobody."""
    needs_approval: bool | None = None
    """A person must say yes to each call."""
    timeout_s: float | None = None
    max_concurrent: int | None = None
    """Calls of one tool that run at the same time."""
    max_result_chars: int | None = None
    """A longer result is given in pages of so many characters."""

    def within(self, wider: Terms) -> Terms:
        """These, with the wider ones where they say nothing."""
        return Terms(
            allowed=_first(self.allowed, wider.allowed),
            needs_approval=_first(self.needs_approval, wider.needs_approval),
            timeout_s=_first(self.timeout_s, wider.timeout_s),
            max_concurrent=_first(self.max_concurrent, wider.max_concurrent),
            max_result_chars=_first(self.max_result_chars, wider.max_result_chars),
        )

    def allow(self, caller: str) -> bool:
        """Whether this bare JID, as the server stamps it, may call."""
        jid = caller.lower()
        return bool({EVERYBODY, jid, jid.rpartition("@")[2]} & (self.allowed or frozenset()))


NO_TERMS = Terms()


def _first(narrow: T | None, wide: T | None) -> T | None:
    return wide if narrow is None else narrow
