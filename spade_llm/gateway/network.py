"""The agents behind a gateway, as one principal reaches them. Knows no HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.core.limits import LruDict
from spade_llm.runtime import SpeakingFor
from spade_llm.services.chat import ChatClient
from spade_llm.services.rag import RagClient
from spade_llm.services.sessions import SessionsClient
from spade_llm.services.tools import ToolsClient

if TYPE_CHECKING:
    from spade_llm.runtime import Asks
    from spade_llm.services.sessions import Sessions

MAX_PRINCIPALS = 1000
"""Whose clients are kept ready; they hold no state that matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Bare JIDs of the agents behind a gateway."""

    assistants: tuple[str, ...]
    """At least one; the first is the one that /llm/chat talks to."""
    memory: str | None = None
    rag: str | None = None
    tools: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        some = (self.memory, self.rag)
        return (*self.assistants, *(one for one in some if one), *self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """All that is asked here is asked for one principal."""

    chats: dict[str, ChatClient]
    """By the assistant's bare JID, in the order of Addresses."""
    sessions_of: dict[str, Sessions]
    """In the same order."""
    rag: RagClient | None
    tools: tuple[ToolsClient, ...]

    @property
    def chat(self) -> ChatClient:
        return next(iter(self.chats.values()))

    @property
    def sessions(self) -> Sessions:
        """Of the first assistant."""
        return next(iter(self.sessions_of.values()))


class Network:
    def __init__(self, requester: Asks, addresses: Addresses) -> None:
        self.addresses = addresses
        self._requester = requester
        self._clients: LruDict[str, Clients] = LruDict(MAX_PRINCIPALS)

    def of(self, principal: str) -> Clients:
        """`principal`: a bare JID. Asks nobody."""
        clients = self._clients.get(principal) or self._made(principal)
        self._clients[principal] = clients
        return clients

    def _made(self, principal: str) -> Clients:
        ask, to = SpeakingFor(self._requester, principal), self.addresses
        return Clients(
            chats={jid: ChatClient(ask, jid) for jid in to.assistants},
            sessions_of={jid: SessionsClient(ask, jid) for jid in to.assistants},
            rag=RagClient(ask, to.rag) if to.rag else None,
            tools=tuple(ToolsClient(ask, jid) for jid in to.tools),
        )
