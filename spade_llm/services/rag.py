"""`spade-llm.rag/1`: documents, kept and searched by the RAG agent. The owner is who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from pydantic import Field

from spade_llm.acl import Body
from spade_llm.rag.documents import Document, Ingested, Library, Progress
from spade_llm.rag.retriever import DEFAULT_NAMESPACE, Retrieval, RetrievalOptions
from spade_llm.rag.splitter import Splitting
from spade_llm.runtime import Effect
from spade_llm.services.service import Peer, Service, fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.rag.documents import OnProgress
    from spade_llm.runtime import Dispatcher, Request, Requester

ONTOLOGY = "spade-llm.rag/1"
INGEST_TIMEOUT_S = 300.0


class Retrieve(Body):
    op: ClassVar[str] = "retrieve"
    query: str = Field(min_length=1, max_length=4000)
    k: int = Field(default=5, ge=1, le=20)
    namespaces: tuple[str, ...] = ()


class Ingest(Body):
    op: ClassVar[str] = "ingest"
    document: Document
    splitting: Splitting | None = None


class IngestPath(Body):
    """A file or folder below a document root of the RAG agent's own machine."""

    op: ClassVar[str] = "ingest_path"
    path: str = Field(min_length=1, max_length=1000)
    namespace: str = DEFAULT_NAMESPACE
    is_recursive: bool = True
    splitting: Splitting | None = None


class Retrieved(Body):
    retrieval: Retrieval


class IngestedDocuments(Body):
    documents: tuple[Ingested, ...]
    total: int
    """How many there were, where not all reports fit into one message."""


class LibraryBackend(Protocol):
    def for_owner(self, owner: str) -> Library: ...


class RagService:
    def __init__(self, backend: LibraryBackend) -> None:
        self._backend = backend

    def attach(self, dispatcher: Dispatcher) -> None:
        service = Service(ONTOLOGY)
        service.on(Retrieve, self._retrieve)
        service.on(Ingest, self._ingest, effect=Effect.WRITE)
        service.on(IngestPath, self._ingest_path, effect=Effect.WRITE)
        service.attach(dispatcher)

    def _library(self, request: Request) -> Library:
        return self._backend.for_owner(request.message.owner)

    async def _retrieve(self, request: Request, body: Retrieve) -> Body:
        found = await self._library(request).retrieve(
            body.query, k=body.k, options=RetrievalOptions(namespaces=body.namespaces)
        )
        return fitting(
            found.chunks,
            lambda some: Retrieved(
                retrieval=Retrieval(chunks=tuple(some), degraded=found.degraded)
            ),
        )

    async def _ingest(self, request: Request, body: Ingest) -> IngestedDocuments:
        done = await self._library(request).ingest(body.document, splitting=body.splitting)
        return IngestedDocuments(documents=(done,), total=1)

    async def _ingest_path(self, request: Request, body: IngestPath) -> Body:
        await request.agree()
        done = await self._library(request).ingest_path(
            body.path,
            namespace=body.namespace,
            is_recursive=body.is_recursive,
            splitting=body.splitting,
        )
        return fitting(done, lambda some: IngestedDocuments(documents=tuple(some), total=len(done)))


class RagClient:
    """A Library in another agent."""

    def __init__(self, requester: Requester, jid: str, *, timeout_s: float = 10.0) -> None:
        self.jid = jid
        self._peer = Peer(requester, jid, ONTOLOGY, timeout_s=timeout_s)

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        body = Retrieve(query=query, k=k, namespaces=options.namespaces if options else ())
        return (await self._peer.ask(body, Retrieved)).retrieval

    async def ingest(self, document: Document, *, splitting: Splitting | None = None) -> Ingested:
        answer = await self._peer.ask(
            Ingest(document=document, splitting=splitting),
            IngestedDocuments,
            timeout_s=INGEST_TIMEOUT_S,
        )
        return answer.documents[0]

    async def ingest_path(
        self,
        path: str,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        is_recursive: bool = True,
        splitting: Splitting | None = None,
        on_progress: OnProgress | None = None,
    ) -> Sequence[Ingested]:
        """`on_progress` is called once, in the end: the service does not tell more yet."""
        body = IngestPath(
            path=path, namespace=namespace, is_recursive=is_recursive, splitting=splitting
        )
        answer = await self._peer.ask(body, IngestedDocuments, timeout_s=INGEST_TIMEOUT_S)
        if on_progress is not None:
            await on_progress(_whole(answer))
        return answer.documents


def _whole(answer: IngestedDocuments) -> Progress:
    chunks = sum(done.chunks for done in answer.documents)
    return Progress(done=answer.total, total=answer.total, chunks=chunks)
