"""Remote memory (`spade-llm.memory/1`): service of the memory agent, and its client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.remote_access import (
    ConsentClient,
    ConsentService,
    GrantsClient,
    GrantsService,
)
from spade_llm.memory.remote_conversations import HistoryClient, HistoryService
from spade_llm.memory.remote_deletion import (
    DecayClient,
    DecayService,
    DeletionClient,
    DeletionService,
)
from spade_llm.memory.remote_entries import EntriesClient, EntriesService, LinksClient, LinksService
from spade_llm.memory.remote_protocol import MAX_LIMIT, ONTOLOGY
from spade_llm.memory.remote_search import (
    MemoryContextClient,
    MemoryContextService,
    SearchClient,
    SearchService,
)
from spade_llm.messaging.rpc import RpcClient, RpcService

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.memory.contract import MemoryBackend, OwnedMemory
    from spade_llm.messaging import Dispatcher, Request, RequestSender

__all__ = ["MAX_LIMIT", "ONTOLOGY", "MemoryClient", "MemoryService"]

_ROLES = (
    EntriesService,
    SearchService,
    LinksService,
    GrantsService,
    DecayService,
    MemoryContextService,
)


class MemoryService:
    """Answers from a backend, to each owner from its own.

    `on_observed` is called when a conversation has gone on; it must neither wait nor fail.
    """

    def __init__(
        self, backend: MemoryBackend, *, on_observed: Callable[[], None] = lambda: None
    ) -> None:
        self._backend = backend
        self._on_observed = on_observed

    def attach(self, dispatcher: Dispatcher) -> None:
        service = RpcService(ONTOLOGY)
        for role in _ROLES:
            role(self._store).attach(service)
        DeletionService(self._store, dispatcher).attach(service)
        ConsentService(self._store, dispatcher, on_given=self._on_observed).attach(service)
        HistoryService(self._store, on_observed=self._on_observed).attach(service)
        service.attach(dispatcher)

    def _store(self, request: Request) -> OwnedMemory:
        return self._backend.for_owner(request.message.owner)


class MemoryClient:
    """Memory client: all Protocols of `memory/contract.py` over RPC. The owner is the caller's
    JID."""

    def __init__(self, requester: RequestSender, jid: str, *, timeout_s: float = 10.0) -> None:
        self.jid = jid
        peer = RpcClient(requester, jid, ONTOLOGY, timeout_s=timeout_s)
        entries = EntriesClient(peer)
        self.add = entries.add
        self.add_many = entries.add_many
        self.get = entries.get
        self.peek = entries.peek
        self.update = entries.update
        self.update_many = entries.update_many
        self.set_importance = entries.set_importance
        self.replace = entries.replace
        self.merge = entries.merge
        search = SearchClient(peer)
        self.search = search.search
        self.similar = search.similar
        self.list = search.list
        self.stats = search.stats
        forgetting = DeletionClient(peer)
        self.delete = forgetting.delete
        self.forget = forgetting.forget
        self.forget_subject = forgetting.forget_subject
        self.forget_session = forgetting.forget_session
        self.clear_subject = forgetting.clear_subject
        self.reviewed = forgetting.reviewed
        history = HistoryClient(peer)
        self.observe = history.observe
        self.history = history.history
        self.retract = history.retract
        self.close_conversation = history.close_conversation
        self.clear_messages = history.clear_messages
        self.episode_messages = history.episode_messages
        links = LinksClient(peer)
        self.link, self.unlink, self.links = links.link, links.unlink, links.links
        grants = GrantsClient(peer)
        self.grant, self.revoke, self.grants = grants.grant, grants.revoke, grants.grants
        decay = DecayClient(peer)
        self.configure_decay = decay.configure_decay
        self.run_decay = decay.run_decay
        self.decay_status = decay.decay_status
        consent = ConsentClient(peer)
        self.consent, self.set_consent = consent.consent, consent.set_consent
        texts = MemoryContextClient(peer)
        self.retrieve, self.session_context = texts.retrieve, texts.session_context


if TYPE_CHECKING:

    def _is_what_the_local_store_is(client: MemoryClient) -> OwnedMemory:
        return client
