"""Agents behind the gateway: addresses, clients per principal (LRU), model names."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.service import ChatClient
from spade_llm.assistant.history.remote_sessions import SessionsClient
from spade_llm.core.limits import LruDict
from spade_llm.messaging import PrincipalRequester
from spade_llm.rag.remote import RagClient
from spade_llm.tools.remote import ToolsClient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.assistant.history.remote_sessions import CallerSessions
    from spade_llm.messaging import RequestSender

MAX_PRINCIPALS = 1000
"""Maximum number of principals with cached clients (LRU); clients hold no state that matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAddresses:
    """Bare JIDs of the agents behind a gateway."""

    assistants: tuple[str, ...]
    """Bare JIDs, at least one; /llm/chat uses the first."""
    memory: str | None = None
    rag: str | None = None
    tools: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        some = (self.memory, self.rag)
        return (*self.assistants, *(one for one in some if one), *self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentClients:
    """Clients of the agents; each request is made on behalf of one principal."""

    chats: dict[str, ChatClient]
    """Chat clients, keyed by the assistant's bare JID, in the order of AgentAddresses."""
    sessions_of: dict[str, CallerSessions]
    """Session clients, with the same keys in the same order."""
    rag: RagClient | None
    tools: tuple[ToolsClient, ...]

    @property
    def chat(self) -> ChatClient:
        return next(iter(self.chats.values()))

    @property
    def sessions(self) -> CallerSessions:
        """Session client of the first assistant."""
        return next(iter(self.sessions_of.values()))


class Network:
    """Cache of the clients of each principal (LRU)."""

    def __init__(self, requester: RequestSender, addresses: AgentAddresses) -> None:
        self.addresses = addresses
        self._requester = requester
        self._clients: LruDict[str, AgentClients] = LruDict(MAX_PRINCIPALS)

    def clients_for(self, principal: str) -> AgentClients:
        """Clients of a principal (a bare JID), from the cache or new; sends no request."""
        clients = self._clients.get(principal) or self._create_clients(principal)
        # Set again also from the cache: reading does not count as use in an LruDict.
        self._clients[principal] = clients
        return clients

    def _create_clients(self, principal: str) -> AgentClients:
        ask, to = PrincipalRequester(self._requester, principal), self.addresses
        return AgentClients(
            chats={jid: ChatClient(ask, jid) for jid in to.assistants},
            sessions_of={jid: SessionsClient(ask, jid) for jid in to.assistants},
            rag=RagClient(ask, to.rag) if to.rag else None,
            tools=tuple(ToolsClient(ask, jid) for jid in to.tools),
        )


def jids_by_model(addresses: AgentAddresses) -> Mapping[str, str]:
    """Bare JIDs of the assistants, keyed by model name, in their order. The name is the JID's local
    part, or the whole JID where assistants of two domains share it."""
    local_parts = {jid: jid.partition("@")[0] for jid in addresses.assistants}
    count = Counter(local_parts.values())
    return {name if count[name] == 1 else jid: jid for jid, name in local_parts.items()}
