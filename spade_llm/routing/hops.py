"""How often an answer was passed on: so that agents that route to each other come to an end.

The number travels with each message that is passed on. Knows no agent and no wire.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.limits import LruDict

if TYPE_CHECKING:
    from collections.abc import Mapping

HOPS = "hops"
"""Its key in a message's metadata."""
MAX_HOPS = 32
"""Of one chain; an answer that has come so far is passed on no further."""
MAX_REMEMBERED = 4096


def is_passed_on(metadata: Mapping[str, str]) -> bool:
    """Whether a message is an answer that somebody's model wrote, and nobody said to us."""
    return metadata.get(HOPS, "0") != "0"


class Hops:
    """Programs that know nothing of it answer without the number: to them it is remembered."""

    def __init__(self, *, max_remembered: int = MAX_REMEMBERED) -> None:
        self._sent: LruDict[tuple[str, str], int] = LruDict(max_remembered)

    def passed_on(self, to: str, thread: str, hops: int) -> None:
        self._sent[to, thread] = hops

    def of(self, sender: str, thread: str, metadata: Mapping[str, str]) -> int:
        """0: nobody passed this message on, it was said to us."""
        said = metadata.get(HOPS, "")
        if said.isdecimal() and len(said) <= 6:
            return int(said)
        return self._sent.get((sender, thread), 0)
