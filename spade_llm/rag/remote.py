"""Remote document library (`spade-llm.rag/1`): service of the RAG agent, and its client."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, TypeVar

from spade_llm.messaging.body import peek_field, peek_op
from spade_llm.messaging.operation import Operation, operations
from spade_llm.messaging.request import Idempotency
from spade_llm.messaging.rpc import RpcClient, RpcService
from spade_llm.rag.cited_answers import MODEL_TIMEOUT_S
from spade_llm.rag.contract import DEFAULT_NAMESPACE, Catalogue, RetrievalOptions, Sharing
from spade_llm.rag.names import is_personal_namespace
from spade_llm.rag.remote_endpoint import (
    MAX_TIME_S,
    ONTOLOGY,
    SILENCE_S,
    TIMEOUT_S,
    DocumentCount,
    IngestionQueue,
    IngestReport,
    ProgressPart,
    RagBody,
    RagEndpoint,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from spade_llm.messaging import Body, Dispatcher, Request, RequestSender
    from spade_llm.providers.model import ChatModel
    from spade_llm.rag.cited_answers import SourcedAnswer
    from spade_llm.rag.contract import (
        DocumentPage,
        Ingested,
        NamespaceGrant,
        NamespaceSummary,
        OnProgress,
        PathKind,
        Retrieval,
        SourceDocument,
    )
    from spade_llm.rag.loading.chunking import Splitting
    from spade_llm.rag.loading.fetcher import FetchedDocuments
    from spade_llm.rag.remote_endpoint import LibraryBackend, OwnerDocuments

__all__ = ["ONTOLOGY", "RagClient", "RagService"]

READ, WRITE, RESUME = Idempotency.READ, Idempotency.WRITE, Idempotency.RESUME
A = TypeVar("A", bound=RagBody)

ANSWER_TIMEOUT_S = MODEL_TIMEOUT_S + 30
INGEST_TIMEOUT_S = 300.0
"""Timeout of one text in seconds; the text of one message has some hundred chunks at most."""


def _replica_key(content: str, id: str) -> str:
    """Queue of a job, since those of one queue are run in their order; else the request's id: other
    requests have no order."""
    if peek_op(content) not in _JOBS:
        return id
    namespace = peek_field(content, "namespace")
    return namespace if is_personal_namespace(namespace) else ""


class RagService:
    """Document service: serves each owner its own documents and those granted to it.

    The keywords are those of RagEndpoint.
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
        self._only = frozenset(only)
        self._model = model
        self._fetched = fetched

    def attach(self, dispatcher: Dispatcher) -> None:
        queue = IngestionQueue()

        def endpoint(request: Request) -> RagEndpoint:
            return RagEndpoint(
                self._backend.for_owner(request.message.owner),
                request,
                queue,
                only=self._only,
                model=self._model,
                fetched=self._fetched,
            )

        service = RpcService(ONTOLOGY, replica_key=_replica_key)
        service.serve(RagClient, endpoint)
        service.attach(dispatcher)


class RagClient(RpcClient):
    """Client of a remote document library, with all roles of rag/contract.py. The owner is the JID
    of this agent. Operations with a leading underscore are one message of a method that may send
    several."""

    body_base: ClassVar[type[Body]] = RagBody

    def __init__(self, requester: RequestSender, jid: str, *, timeout_s: float = 10.0) -> None:
        super().__init__(requester, jid, ONTOLOGY, timeout_s=timeout_s)

    _ingest = Operation(RagEndpoint.ingest, WRITE, timeout_s=INGEST_TIMEOUT_S)
    # RESUME: continued after a restart; documents already ingested are recognised by their hash.
    _ingest_path = Operation(RagEndpoint.ingest_path, RESUME, max_time_s=MAX_TIME_S)
    _ingest_url = Operation(RagEndpoint.ingest_url, RESUME, max_time_s=MAX_TIME_S)
    _reindex = Operation(RagEndpoint.reindex, RESUME, max_time_s=MAX_TIME_S)
    _retrieve = Operation(RagEndpoint.retrieve)
    _answer = Operation(RagEndpoint.answer, timeout_s=ANSWER_TIMEOUT_S)
    _namespaces = Operation(RagEndpoint.namespaces)
    stats = Operation(Catalogue.stats, READ, "stats")
    _documents = Operation(RagEndpoint.documents)
    delete = Operation(Catalogue.delete, WRITE, "count")
    grant = Operation(Sharing.grant, WRITE)
    _revoke = Operation(RagEndpoint.revoke, WRITE, "count")
    _grants = Operation(RagEndpoint.grants)

    @staticmethod
    def fits_one_message(document: SourceDocument, splitting: Splitting | None = None) -> bool:
        """Check whether `ingest` can send this document; a larger one is uploaded."""
        return RagClient._ingest.body(document, splitting).fits_one_message

    async def ingest(
        self, document: SourceDocument, *, splitting: Splitting | None = None
    ) -> Ingested:
        return (await self._ingest(document, splitting)).documents[0]

    async def ingest_path(
        self,
        path: str,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        is_recursive: bool = True,
        only: PathKind | None = None,
        splitting: Splitting | None = None,
        on_progress: OnProgress | None = None,
    ) -> Sequence[Ingested]:
        """Results with the files left out first, as many as fit into one answer; `add_path` has the
        totals."""
        report = await self.add_path(
            path,
            namespace=namespace,
            is_recursive=is_recursive,
            only=only,
            splitting=splitting,
            on_progress=on_progress,
        )
        return report.documents

    async def add_path(
        self,
        path: str,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        is_recursive: bool = True,
        only: PathKind | None = None,
        splitting: Splitting | None = None,
        on_progress: OnProgress | None = None,
        id: str | None = None,
    ) -> IngestReport:
        """Ingest like `ingest_path`, and return a report with the totals of all files. Cancelling
        the call cancels it in the RAG agent.

        Requests with the same id get the same answer; one that still runs continues.
        """
        body = RagClient._ingest_path.body(path, namespace, is_recursive, only, splitting)
        return await self._watch(body, IngestReport, on_progress, id)

    async def ingest_url(
        self,
        url: str,
        *,
        source: str = "",
        namespace: str = DEFAULT_NAMESPACE,
        splitting: Splitting | None = None,
        id: str | None = None,
    ) -> Ingested:
        """Ingest a file that `upload` put on the server of the RAG agent, which fetches it once.
        Cancelling the call cancels it there. Requests with the same id get the same answer."""
        body = RagClient._ingest_url.body(url, source, namespace, splitting)
        return (await self._watch(body, IngestReport, None, id)).documents[0]

    async def reindex(
        self,
        *,
        namespace: str | None = None,
        on_progress: OnProgress | None = None,
        id: str | None = None,
    ) -> int:
        body = RagClient._reindex.body(namespace)
        return (await self._watch(body, DocumentCount, on_progress, id)).count

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

    async def _watch(
        self, body: Body, answer: type[A], on_progress: OnProgress | None, id: str | None
    ) -> A:
        async def tell(part: ProgressPart) -> None:
            # A heartbeat before the first document has no total yet.
            if on_progress is not None and part.progress.total:
                await on_progress(part.progress)

        return await self.watch(
            body, answer, ProgressPart, tell, id=id, timeout_s=TIMEOUT_S, silence_s=SILENCE_S
        )


_JOBS = frozenset(one.op for one in operations(RagClient) if one.effect is RESUME)
"""Operations that wait in a queue, and are resumed by another replica."""

if TYPE_CHECKING:

    def _is_what_the_local_library_is(client: RagClient) -> OwnerDocuments:
        return client
