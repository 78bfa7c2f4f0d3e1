"""`spade-llm.rag/1`: documents, kept and searched by the RAG agent. The owner is who asks.

One file for each role of rag/documents.py, both ends in it; here they are put together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.services.rag_answer import AnswerClient, AnswerService
from spade_llm.services.rag_body import ONTOLOGY
from spade_llm.services.rag_catalogue import CatalogueClient, CatalogueService
from spade_llm.services.rag_ingest import IngestClient, IngestService
from spade_llm.services.rag_retrieval import RetrievalClient, RetrievalService
from spade_llm.services.rag_sharing import SharingClient, SharingService
from spade_llm.services.service import Peer, Service

if TYPE_CHECKING:
    from collections.abc import Collection

    from spade_llm.providers.model import ChatModel
    from spade_llm.rag.fetched_documents import FetchedDocuments
    from spade_llm.runtime import Asks, Dispatcher, Request
    from spade_llm.services.rag_body import LibraryBackend, OwnedDocuments

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
        service = Service(ONTOLOGY)
        RetrievalService(self._library).attach(service)
        AnswerService(self._library, self._model).attach(service)
        IngestService(self._library, only=self._only, fetched=self._fetched).attach(service)
        CatalogueService(self._library).attach(service)
        SharingService(self._library).attach(service)
        service.attach(dispatcher)

    def _library(self, request: Request) -> OwnedDocuments:
        return self._backend.for_owner(request.message.owner)


class RagClient:
    """All roles of rag/documents.py in another agent; the owner is who we are there."""

    def __init__(self, requester: Asks, jid: str, *, timeout_s: float = 10.0) -> None:
        self.jid = jid
        peer = Peer(requester, jid, ONTOLOGY, timeout_s=timeout_s)
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

    def _is_what_the_local_library_is(client: RagClient) -> OwnedDocuments:
        return client
