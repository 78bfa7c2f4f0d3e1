"""Transport protocol of messages, and the in-memory transport for tests and examples."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from spade_llm.core.errors import MalformedContent
from spade_llm.messaging import AclMessage, Encoding, bare, from_metadata, to_metadata

Send = Callable[["AclMessage"], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounce:
    """A server returned one of our messages."""

    message_id: str
    peer: str
    condition: str
    """Error condition of RFC 6120 §8.3.3, for instance `service-unavailable`."""


class Receiver(Protocol):
    """Receiver of a transport's messages and bounces. Its methods neither block nor raise."""

    def receive(self, message: AclMessage) -> None:
        """Take a message."""

    def bounced(self, bounce: Bounce) -> None:
        """Take the report that a message could not be delivered."""


class Transport(Protocol):
    """Connection of one agent to a network (protocol)."""

    @property
    def address(self) -> str:
        """Our full JID; the bare one before the first connection."""

    async def send(self, message: AclMessage) -> None:
        """Hand one message to the network, which stamps the sender.

        Raises:
            PeerUnavailable: not connected, and not reconnected within the transport's own patience.
            MalformedContent: larger than a server accepts; it would close the sender's stream.
        """


MAX_STANZA_BYTES = 256 * 1024
"""Stanza size limit in bytes, as in Prosody and ejabberd."""


class InMemoryNetwork:
    """Network in memory that stands for one server. A message goes to its full JID; one for a bare
    JID goes to the receiver that joined last."""

    def __init__(self) -> None:
        self._receivers: dict[str, Receiver] = {}

    def join(self, jid: str, receiver: Receiver) -> InMemoryTransport:
        """Connect a receiver under this full JID."""
        self._receivers[jid] = receiver
        return InMemoryTransport(self, jid)

    def leave(self, jid: str) -> None:
        """Disconnect the receiver of this full JID."""
        self._receivers.pop(jid, None)

    def route(self, sender: str, receiver: str, wire: bytes) -> None:
        """Deliver on the loop's next turn, as a socket would."""
        target = self._find(receiver)
        loop = asyncio.get_running_loop()
        if target is None:
            loop.call_soon(self._bounce, sender, receiver, wire, "service-unavailable")
        else:
            loop.call_soon(target.receive, _decode(wire, sender=sender, receiver=receiver))

    def _find(self, jid: str) -> Receiver | None:
        if "/" in jid:
            return self._receivers.get(jid)
        matches = [known for known in self._receivers if bare(known) == jid]
        return self._receivers[matches[-1]] if matches else None

    def _bounce(self, sender: str, receiver: str, wire: bytes, condition: str) -> None:
        message = _decode(wire, sender=sender, receiver=receiver)
        if asker := self._receivers.get(sender):
            asker.bounced(Bounce(message_id=message.reply_with, peer=receiver, condition=condition))


class InMemoryTransport:
    """Connection to an InMemoryNetwork."""

    def __init__(self, network: InMemoryNetwork, jid: str) -> None:
        self._network = network
        self._jid = jid

    @property
    def address(self) -> str:
        return self._jid

    async def send(self, message: AclMessage) -> None:
        fields = to_metadata(message)
        wire = json.dumps([fields, message.content, message.encoding]).encode()
        if len(wire) > MAX_STANZA_BYTES:
            raise MalformedContent(f"the message has over {MAX_STANZA_BYTES} bytes")
        self._network.route(self._jid, message.receiver, wire)


def _decode(wire: bytes, *, sender: str, receiver: str) -> AclMessage:
    fields, content, encoding = json.loads(wire)
    return from_metadata(
        fields,
        sender=sender,
        receiver=receiver,
        content=content,
        encoding=Encoding(encoding),
    )
