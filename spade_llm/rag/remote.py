"""Remote document library (`spade-llm.rag/1`): service of the RAG agent, and its client."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from spade_llm.messaging.operation import Operation
from spade_llm.messaging.request import Idempotency
from spade_llm.messaging.rpc import RpcClient, RpcService
from spade_llm.rag.answers import MODEL_TIMEOUT_S
from spade_llm.rag.contract import Catalogue, RetrievalOptions, Sharing
from spade_llm.rag.remote_endpoint import RagEndpoint
from spade_llm.rag.remote_ingestion import IngestClient, IngestService
from spade_llm.rag.remote_jobs import ONTOLOGY, RagBody

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from spade_llm.messaging import Body, Dispatcher, Request, RequestSender
    from spade_llm.providers.model import ChatModel
    from spade_llm.rag.answers import SourcedAnswer
    from spade_llm.rag.contract import DocumentPage, NamespaceGrant, NamespaceSummary, Retrieval
    from spade_llm.rag.loading.fetcher import FetchedDocuments
    from spade_llm.rag.remote_jobs import LibraryBackend, OwnerDocuments

__all__ = ["ONTOLOGY", "RagClient", "RagService"]

ANSWER_TIMEOUT_S = MODEL_TIMEOUT_S + 30


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
        service.serve(RagClient, self._endpoint)
        IngestService(self._library, only=self._only, fetched=self._fetched).attach(service)
        service.attach(dispatcher)

    def _endpoint(self, request: Request) -> RagEndpoint:
        return RagEndpoint(self._library(request), request, self._model)

    def _library(self, request: Request) -> OwnerDocuments:
        return self._backend.for_owner(request.message.owner)


class RagClient(RpcClient):
    """Client of a remote document library, with all roles of rag/contract.py. The owner is the JID
    of this agent. Operations with a leading underscore are one message of a method that may send
    several."""

    body_base: ClassVar[type[Body]] = RagBody

    def __init__(self, requester: RequestSender, jid: str, *, timeout_s: float = 10.0) -> None:
        super().__init__(requester, jid, ONTOLOGY, timeout_s=timeout_s)
        ingest = IngestClient(self)
        self.ingest = ingest.ingest
        self.ingest_path = ingest.ingest_path
        self.add_path = ingest.add_path
        self.ingest_url = ingest.ingest_url
        self.reindex = ingest.reindex

    _retrieve = Operation(RagEndpoint.retrieve)
    _answer = Operation(RagEndpoint.answer, timeout_s=ANSWER_TIMEOUT_S)
    _namespaces = Operation(RagEndpoint.namespaces)
    stats = Operation(Catalogue.stats, Idempotency.READ, "stats")
    _documents = Operation(RagEndpoint.documents)
    delete = Operation(Catalogue.delete, Idempotency.WRITE, "count")
    grant = Operation(Sharing.grant, Idempotency.WRITE)
    _revoke = Operation(RagEndpoint.revoke, Idempotency.WRITE, "count")
    _grants = Operation(RagEndpoint.grants)

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        return (await self._retrieve(query, k, options or RetrievalOptions())).retrieval

    async def answer(
        self, question: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> SourcedAnswer:
        return (await self._answer(question, k, options or RetrievalOptions())).answer

    async def namespaces(self) -> Sequence[NamespaceSummary]:
        found: list[NamespaceSummary] = []
        while True:
            part = await self._namespaces(skip=len(found))
            found += part.namespaces
            # An empty part would be asked for again for ever.
            if not part.left or not part.namespaces:
                return tuple(found)

    async def documents(
        self, *, namespace: str | None = None, limit: int = 100, offset: int = 0
    ) -> DocumentPage:
        page = (await self._documents(namespace, limit, offset)).page
        documents = list(page.documents)
        while page.has_more and page.documents and len(documents) < limit:
            left = limit - len(documents)
            page = (await self._documents(namespace, left, offset + len(documents))).page
            documents += page.documents
        return replace(page, documents=tuple(documents), limit=limit, offset=offset)

    async def revoke(self, namespace: str, *, to: str) -> bool:
        return await self._revoke(namespace, to) > 0

    async def grants(self) -> Sequence[NamespaceGrant]:
        found: list[NamespaceGrant] = []
        while True:
            part = await self._grants(skip=len(found))
            found += part.grants
            if not part.left or not part.grants:
                return tuple(found)


if TYPE_CHECKING:

    def _is_what_the_local_library_is(client: RagClient) -> OwnerDocuments:
        return client
