"""Principals: gateways that are trusted to act for other JIDs, and the check of that claim.

A gateway states in each request the JID that it acts for (`acts_for`). An agent accepts this claim
only from its configured gateways and refuses it from other senders. After the check, `owner` is
that JID.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from spade_llm.core.errors import Unauthorised
from spade_llm.messaging import CHAT_TEXT, bare

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection

    from spade_llm.messaging import AclMessage
    from spade_llm.messaging.requester import OutgoingRequest, RequestSender

_BARE_JID = re.compile(r"[^@/\s]{1,1023}@[^@/\s#]{1,1023}")
"""RFC 7622. No `#`: it ends a JID in names of conversations
(assistant/history/conversations.py)."""


def with_checked_principal(message: AclMessage, gateways: Collection[str]) -> AclMessage:
    """The message, with its principal if it has one.

    `gateways`: bare JIDs. Raises Unauthorised.
    """
    if not message.acts_for:
        return message
    if bare(message.sender) not in gateways:
        raise Unauthorised(
            "principal: only a gateway may speak for others, and"
            f" {bare(message.sender)} is none of this agent's (`gateways` in its agent.toml)"
        )
    if message.ontology == CHAT_TEXT:
        raise Unauthorised("principal: a text of a person's client is nobody else's")
    principal = parse_principal(message.acts_for)
    if not principal or principal == bare(message.receiver):
        raise Unauthorised(f"principal: {message.acts_for[:80]!r} is nobody's bare JID")
    return replace(message, principal=principal)


def parse_principal(text: str) -> str:
    """Normalize a bare JID as servers do; empty if the text is not a bare JID."""
    # One spelling for each person: owners are compared literally.
    return text.lower() if _BARE_JID.fullmatch(text) else ""


class PrincipalRequester:
    """A requester that asks everything for one principal, a bare JID."""

    def __init__(self, requester: RequestSender, principal: str) -> None:
        self._requester = requester
        self._principal = principal

    async def ask(self, question: OutgoingRequest, *, timeout_s: float) -> AclMessage:
        """Send a request for the principal; see Requester.ask."""
        return await self._requester.ask(self._mine(question), timeout_s=timeout_s)

    def stream(self, question: OutgoingRequest, *, timeout_s: float) -> AsyncGenerator[AclMessage]:
        """Stream a request for the principal; see Requester.stream."""
        return self._requester.stream(self._mine(question), timeout_s=timeout_s)

    def _mine(self, question: OutgoingRequest) -> OutgoingRequest:
        return replace(question, acts_for=self._principal)
