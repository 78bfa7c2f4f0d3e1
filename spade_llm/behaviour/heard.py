"""HeardMessage: a message as programs' functions see it, with the names of SPADE's Message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.services.chat import Utterance


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardMessage:
    sender: str
    """Full JID."""
    to: str
    body: str
    thread: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What it says beyond ACL, as `message_type`."""


def heard(utterance: Utterance) -> HeardMessage:
    """With the text as it is to be used now, after guardrails have changed it."""
    message = utterance.message
    return HeardMessage(
        sender=message.sender,
        to=message.receiver,
        body=utterance.text,
        thread=message.conversation_id or None,
        metadata=message.extra,
    )
