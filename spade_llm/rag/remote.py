"""Remote document library (`spade-llm.rag/1`): service of the RAG agent, and its client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.messaging.rpc import RpcClient, RpcService
from spade_llm.rag.remote_catalogue import (
    CatalogueClient,
    CatalogueService,
    SharingClient,
    SharingService,
)
from spade_llm.rag.remote_ingestion import IngestClient, IngestService
from spade_llm.rag.remote_jobs import ONTOLOGY
from spade_llm.rag.remote_retrieval import (
    AnswerClient,
    AnswerService,
    RetrievalClient,
    RetrievalService,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from spade_llm.messaging import Dispatcher, Request, RequestSender
    from spade_llm.providers.model import ChatModel
    from spade_llm.rag.loading.fetcher import FetchedDocuments
    from spade_llm.rag.remote_jobs import LibraryBackend, OwnerDocuments

__all__ = ["ONTOLOGY", "RagClient", "RagService"]


class RagService:
    """Answers from a backend, to each owner from its own and what was granted to it.

    `only`: the names of the namespaces that documents are taken for; empty: any. `model`: writes
    answers; without one, they are the best passages. `fetched`: reads addresses; without it none.
    """

    def __init__(
        self,
        backend: LibraryBackend,
        *,
        only: Collection[str] = (),
        model: ChatModel | None = None,
        fetched: FetchedDocuments | None = None,
    ) -> None:
        self._backend = backend
        self._only = only
        self._model = model
        self._fetched = fetched

    def attach(self, dispatcher: Dispatcher) -> None:
        service = RpcService(ONTOLOGY)
        RetrievalService(self._library).attach(service)
        AnswerService(self._library, self._model).attach(service)
        IngestService(self._library, only=self._only, fetched=self._fetched).attach(service)
        CatalogueService(self._library).attach(service)
        SharingService(self._library).attach(service)
        service.attach(dispatcher)

    def _library(self, request: Request) -> OwnerDocuments:
        return self._backend.for_owner(request.message.owner)


class RagClient:
    """Client of a remote document library, with all roles of rag/contract.py. The owner is the JID
    of this agent."""

    def __init__(self, requester: RequestSender, jid: str, *, timeout_s: float = 10.0) -> None:
        self.jid = jid
        peer = RpcClient(requester, jid, ONTOLOGY, timeout_s=timeout_s)
        self.retrieve = RetrievalClient(peer).retrieve
        self.answer = AnswerClient(peer).answer
        ingest = IngestClient(peer)
        self.ingest = ingest.ingest
        self.ingest_path = ingest.ingest_path
        self.add_path = ingest.add_path
        self.ingest_url = ingest.ingest_url
        self.reindex = ingest.reindex
        catalogue = CatalogueClient(peer)
        self.namespaces, self.stats = catalogue.namespaces, catalogue.stats
        self.documents, self.delete = catalogue.documents, catalogue.delete
        sharing = SharingClient(peer)
        self.grant, self.revoke, self.grants = sharing.grant, sharing.revoke, sharing.grants


if TYPE_CHECKING:

    def _is_what_the_local_library_is(client: RagClient) -> OwnerDocuments:
        return client
