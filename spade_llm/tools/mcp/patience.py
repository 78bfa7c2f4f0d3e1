"""How long we wait for a server, and how long before we try again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    open_s: float = 45.0
    """From the start to its first listing: a program may be installed first, and the SDK waits
    10 s for an old one to decline the newest protocol."""
    silence_s: float = 60.0
    """A session that nobody uses is asked for its tools so often."""
    hang_s: float = 30.0
    """A listing that takes longer, while no call runs, ends the session."""
    first_pause_s: float = 0.5
    max_pause_s: float = 60.0
    """Before the next start; doubled each time, halved or not by chance."""
    steady_s: float = 30.0
    """A session that lived so long has not failed at its start: the pauses begin anew."""
    absence_s: float = 60.0
    """Its tools are offered so long after it went away: most come back."""
    start_wait_s: float = 10.0
    """A call waits so long for a server that is just starting."""
