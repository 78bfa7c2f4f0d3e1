"""With whom the turn is that runs now: for tools of the agent's own process, which get no context.

Set once for each turn, in its own task; what it starts sees the same.
"""

from __future__ import annotations

from contextvars import ContextVar

speaking_with: ContextVar[str | None] = ContextVar("speaking_with", default=None)
"""A bare JID; None: no turn runs here."""
