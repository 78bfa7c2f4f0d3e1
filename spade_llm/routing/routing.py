"""RoutingResponse: to whom an answer goes, if not to who asked. Knows no agent and no wire.

The names and their meaning are those of spade_llm 0.2/0.3.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol


class RoutedMessage(Protocol):
    """What a routing function sees of the message that is answered; SPADE's Message has it."""

    @property
    def sender(self) -> object:
        """Full JID; `str()` of it."""
        ...

    @property
    def body(self) -> str | None: ...

    @property
    def thread(self) -> str | None: ...

    def get_metadata(self, key: str) -> str | None: ...


@dataclass(slots=True)
class RoutingResponse:
    recipients: str | list[str]
    """Bare or full JIDs."""
    transform: Callable[[str], str] | None = None
    """Makes of the answer what is sent."""
    metadata: dict[str, str] | None = None
    """Goes along with it."""


Routed = str | list[str] | RoutingResponse | None
"""One recipient, several, or more than that; `""`, `[]` or None: as without a routing function."""

RoutingFunction = Callable[[RoutedMessage, str, dict[str, object]], Routed | Awaitable[Routed]]
"""Takes the message, the model's answer, and `conversation_id` with the conversation's `state`."""
