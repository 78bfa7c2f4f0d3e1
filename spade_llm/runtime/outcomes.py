"""How a message of ours may end badly, as errors for who said it. Knows no queue and no wire."""

from __future__ import annotations

from spade_llm.acl import AclMessage, Performative, bare
from spade_llm.errors import (
    PeerUnavailable,
    ProtocolError,
    RequestFailed,
    RequestNotUnderstood,
    RequestRefused,
)

ERROR_OF = {
    Performative.REFUSE: RequestRefused,
    Performative.FAILURE: RequestFailed,
    Performative.NOT_UNDERSTOOD: RequestNotUnderstood,
}


def speaks_for(jid: str, peer: str) -> bool:
    """Errors come from the peer's address, from its server, or (no address) from our own server."""
    return bare(jid) in ("", bare(peer), bare(peer).rpartition("@")[2])


def unsendable(message: AclMessage, error: ProtocolError) -> RequestRefused:
    return RequestRefused(
        str(error),
        peer=message.receiver,
        conversation_id=message.conversation_id,
        wire_code=error.code,
    )


def unavailable(message: AclMessage, condition: str) -> PeerUnavailable:
    return PeerUnavailable(
        f"{message.receiver} cannot be reached: {condition}",
        peer=message.receiver,
        conversation_id=message.conversation_id,
        wire_code=condition,
    )
