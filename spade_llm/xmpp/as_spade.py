"""An AclMessage as SPADE's Message, for functions of programs that were written for SPADE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.acl import to_metadata
from spade_llm.xmpp.spade_classes import SpadeMessage

if TYPE_CHECKING:
    from spade_llm.acl import AclMessage


def as_spade(message: AclMessage, *, body: str) -> SpadeMessage:
    return SpadeMessage(
        to=message.receiver,
        sender=message.sender,
        body=body,
        thread=message.conversation_id or None,
        metadata={**to_metadata(message), **message.extra},
    )
