"""How messages travel: the Transport role and what it reports. Knows no network."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from spade_llm.acl import AclMessage

Send = Callable[["AclMessage"], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounce:
    """A server returned one of our messages."""

    message_id: str
    peer: str
    condition: str
    """Error condition of RFC 6120 §8.3.3, for instance `service-unavailable`."""


class Receiver(Protocol):
    """What a transport feeds. Neither method blocks or raises."""

    def receive(self, message: AclMessage) -> None: ...

    def bounced(self, bounce: Bounce) -> None: ...


class Transport(Protocol):
    @property
    def address(self) -> str:
        """Our full JID; the bare one before the first connection."""

    async def send(self, message: AclMessage) -> None:
        """Hand one message to the network; the network stamps the sender.

        Raises:
            PeerUnavailable: not connected, and not back within the transport's own patience.
            MalformedContent: more than a server takes; it closes the stream of who sends that.
        """
        ...
