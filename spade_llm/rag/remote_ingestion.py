"""Remote document ingestion: texts, files and uploads, with progress reports while it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, TypeVar

from pydantic import Field

from spade_llm.core.errors import InvalidArguments, Unauthorised
from spade_llm.messaging import Idempotency
from spade_llm.messaging.body import truncated_to_message
from spade_llm.rag.contract import DEFAULT_NAMESPACE, Ingested, PathKind, Progress, SourceDocument
from spade_llm.rag.loading.chunking import Splitting
from spade_llm.rag.remote_jobs import (
    MAX_TIME_S,
    SILENCE_S,
    TIMEOUT_S,
    DocumentCount,
    IngestionQueue,
    ProgressPart,
    RagBody,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from spade_llm.messaging import Body, Request
    from spade_llm.messaging.rpc import RpcClient, RpcService
    from spade_llm.rag.contract import OnProgress
    from spade_llm.rag.loading.fetcher import FetchedDocuments
    from spade_llm.rag.remote_jobs import LibraryOf

A = TypeVar("A", bound=RagBody)

MAX_TITLE_CHARS = 200
MAX_BEGINNING_CHARS = 6000
INGEST_TIMEOUT_S = 300.0
"""Timeout of one text in seconds; the text of one message has some hundred chunks at most."""


class IngestRequest(RagBody):
    op: ClassVar[str] = "ingest"
    document: SourceDocument
    splitting: Splitting | None = None


class IngestPathRequest(RagBody):
    """A file or folder below a document root of the RAG agent's own machine."""

    op: ClassVar[str] = "ingest_path"
    path: str = Field(min_length=1, max_length=1000)
    namespace: str = DEFAULT_NAMESPACE
    is_recursive: bool = True
    only: PathKind | None = None
    splitting: Splitting | None = None


class IngestUrlRequest(RagBody):
    """A file that was put on the RAG agent's own server (XEP-0363)."""

    op: ClassVar[str] = "ingest_url"
    url: str
    source: str = ""
    """Name for citations; its extension decides how the file is read. Empty means the file name of
    the URL."""
    namespace: str = DEFAULT_NAMESPACE
    splitting: Splitting | None = None


class ReindexRequest(RagBody):
    op: ClassVar[str] = "reindex"
    namespace: str | None = None


class IngestReport(RagBody):
    """Report of an ingestion."""

    documents: tuple[Ingested, ...]
    """Those left out first; as many as fit into one message."""
    total: int
    added: int = 0
    """New, or changed."""
    unchanged: int = 0
    left_out: int = 0
    chunks: int = 0

    @classmethod
    def of(cls, done: Sequence[Ingested], shown: Sequence[Ingested]) -> IngestReport:
        left_out = sum(bool(one.left_out) for one in done)
        unchanged = sum(one.was_unchanged for one in done)
        return cls(
            documents=tuple(shown),
            total=len(done),
            added=len(done) - left_out - unchanged,
            unchanged=unchanged,
            left_out=left_out,
            chunks=sum(one.chunks for one in done),
        )


class IngestService:
    """`only`: the names of the namespaces that this agent takes documents for; empty: any.
    `fetched`: what reads addresses; None: nothing does."""

    def __init__(
        self,
        library_of: LibraryOf,
        *,
        only: Collection[str] = (),
        fetched: FetchedDocuments | None = None,
    ) -> None:
        self._library = library_of
        self._fetched = fetched
        self._only = frozenset(only)
        self._long = IngestionQueue()

    def attach(self, service: RpcService) -> None:
        service.on(IngestRequest, self._ingest, effect=Idempotency.WRITE)
        # RESUME: taken up again after a restart; what is there already is known by its hash.
        service.on(
            IngestPathRequest, self._ingest_path, effect=Idempotency.RESUME, max_time_s=MAX_TIME_S
        )
        service.on(
            IngestUrlRequest, self._ingest_url, effect=Idempotency.RESUME, max_time_s=MAX_TIME_S
        )
        service.on(ReindexRequest, self._reindex, effect=Idempotency.RESUME, max_time_s=MAX_TIME_S)

    async def _ingest(self, request: Request, body: IngestRequest) -> IngestReport:
        self._check(body.document.namespace)
        library = self._library(request)
        done = [await library.ingest(body.document, splitting=body.splitting)]
        return IngestReport.of(done, done)

    async def _ingest_path(self, request: Request, body: IngestPathRequest) -> Body:
        self._check(body.namespace)
        async with self._long.turn(request) as reporter:
            done = await self._library(request).ingest_path(
                body.path,
                namespace=body.namespace,
                is_recursive=body.is_recursive,
                only=body.only,
                splitting=body.splitting,
                on_progress=reporter.tell,
            )
        return _report(done)

    async def _ingest_url(self, request: Request, body: IngestUrlRequest) -> Body:
        self._check(body.namespace)
        if self._fetched is None:
            raise InvalidArguments("url: this agent fetches nothing; send the text, or a path")
        async with self._long.turn(request, body.namespace) as reporter:
            document = await self._fetched.get(
                body.url, source=body.source, namespace=body.namespace
            )
            done = await self._library(request).ingest(document, splitting=body.splitting)
            done = _described(done, document)
            await reporter.tell(Progress(done=1, total=1, chunks=done.chunks, source=done.source))
        return _report([done])

    async def _reindex(self, request: Request, body: ReindexRequest) -> DocumentCount:
        async with self._long.turn(request) as reporter:
            library = self._library(request)
            chunks = await library.reindex(namespace=body.namespace, on_progress=reporter.tell)
        return DocumentCount(count=chunks)

    def _check(self, namespace: str) -> None:
        name = namespace.rpartition("/")[2]
        if self._only and name not in self._only:
            known = ", ".join(sorted(self._only))
            raise Unauthorised(f"namespace {name[:80]!r} is not kept by this agent: use {known}")


class IngestClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
        self._peer = peer

    async def ingest(
        self, document: SourceDocument, *, splitting: Splitting | None = None
    ) -> Ingested:
        body = IngestRequest(document=document, splitting=splitting)
        answer = await self._peer.ask(body, IngestReport, timeout_s=INGEST_TIMEOUT_S)
        return answer.documents[0]

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
        """Those left out first, and as many as fit into one answer; `add_path` has all figures."""
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
        body = IngestPathRequest(
            path=path,
            namespace=namespace,
            is_recursive=is_recursive,
            only=only,
            splitting=splitting,
        )
        return await self._watched(body, IngestReport, on_progress, id)

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
        body = IngestUrlRequest(url=url, source=source, namespace=namespace, splitting=splitting)
        return (await self._watched(body, IngestReport, None, id)).documents[0]

    async def reindex(
        self,
        *,
        namespace: str | None = None,
        on_progress: OnProgress | None = None,
        id: str | None = None,
    ) -> int:
        body = ReindexRequest(namespace=namespace)
        return (await self._watched(body, DocumentCount, on_progress, id)).count

    async def _watched(
        self, body: Body, answer: type[A], on_progress: OnProgress | None, id: str | None
    ) -> A:
        async def tell(part: ProgressPart) -> None:
            # A heartbeat before the first document has no total yet.
            if on_progress is not None and part.progress.total:
                await on_progress(part.progress)

        return await self._peer.watch(
            body, answer, ProgressPart, tell, id=id, timeout_s=TIMEOUT_S, silence_s=SILENCE_S
        )


def _described(done: Ingested, document: SourceDocument) -> Ingested:
    title = " ".join(str(document.metadata.get("title", "")).split())[:MAX_TITLE_CHARS]
    text = document.text
    return replace(done, title=title, characters=len(text), beginning=text[:MAX_BEGINNING_CHARS])


def _report(done: Sequence[Ingested]) -> Body:
    # If one message cannot hold all of them, the failures matter most.
    left_out_first = sorted(done, key=lambda one: not one.left_out)
    return truncated_to_message(left_out_first, lambda some: IngestReport.of(done, some))
