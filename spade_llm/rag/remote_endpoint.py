"""Remote document endpoint: operations that are served otherwise than by the library's method."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from spade_llm.core.errors import InvalidArguments, Unauthorised
from spade_llm.messaging.body import truncated_to_message
from spade_llm.providers.model import language_model
from spade_llm.rag.cited_answers import Answerer, SourcedAnswer
from spade_llm.rag.contract import (
    DEFAULT_NAMESPACE,
    DocumentPage,
    Ingested,
    NamespaceGrant,
    NamespaceSummary,
    PathKind,
    Progress,
    Retrieval,
    RetrievalOptions,
    SourceDocument,
)
from spade_llm.rag.loading.chunking import Splitting
from spade_llm.rag.remote_jobs import RagBody

if TYPE_CHECKING:
    from spade_llm.messaging import Request
    from spade_llm.providers.model import ChatModel
    from spade_llm.rag.contract import DocumentSummary
    from spade_llm.rag.loading.fetcher import FetchedDocuments
    from spade_llm.rag.remote_jobs import IngestionQueue, OwnerDocuments

MAX_TITLE_CHARS = 200
MAX_BEGINNING_CHARS = 6000
_NO_OPTIONS = RetrievalOptions()


class PassagesResponse(RagBody):
    retrieval: Retrieval


class SourcedAnswerResponse(RagBody):
    answer: SourcedAnswer


class DocumentPageResponse(RagBody):
    page: DocumentPage


class NamespacesResponse(RagBody):
    namespaces: tuple[NamespaceSummary, ...]
    left: int = 0
    """Number of namespaces that did not fit into this message."""


class NamespaceGrantsResponse(RagBody):
    grants: tuple[NamespaceGrant, ...]
    left: int = 0
    """Number of grants that did not fit into this message."""


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
    def of(cls, done: Sequence[Ingested]) -> IngestReport:
        left_out = sum(bool(one.left_out) for one in done)
        unchanged = sum(one.was_unchanged for one in done)

        def report(shown: Sequence[Ingested]) -> IngestReport:
            return cls(
                documents=tuple(shown),
                total=len(done),
                added=len(done) - left_out - unchanged,
                unchanged=unchanged,
                left_out=left_out,
                chunks=sum(one.chunks for one in done),
            )

        # If one message cannot hold all of them, the failures matter most.
        return truncated_to_message(sorted(done, key=lambda one: not one.left_out), report)


class DocumentCount(RagBody):
    count: int


class RagEndpoint:
    """The documents of an owner as they are served to a request. Signatures are those of the wire;
    what is not here is served by the library. Long answers are truncated to one message.

    `only`: names of the namespaces that accept documents; empty: any. `model`: writes
    answers; None, or rules: the best passages are the answer. `fetched`: downloads URLs; None: not
    supported.
    """

    def __init__(
        self,
        library: OwnerDocuments,
        request: Request,
        queue: IngestionQueue,
        *,
        only: Collection[str],
        model: ChatModel | None,
        fetched: FetchedDocuments | None,
    ) -> None:
        self._library = library
        self._request = request
        self._queue = queue
        self._only = only
        self._model = model
        self._fetched = fetched

    def __getattr__(self, name: str) -> object:
        return getattr(self._library, name)

    async def retrieve(
        self,
        query: str,
        k: int = 5,
        options: RetrievalOptions = _NO_OPTIONS,
        namespaces: Annotated[
            tuple[str, ...],
            Field(
                description="As `namespace`: how the first programs said what is now in `options`."
            ),
        ] = (),
        namespace: str | None = None,
    ) -> PassagesResponse:
        named = (namespace,) if namespace is not None else ()
        options = replace(options, namespaces=(*options.namespaces, *namespaces, *named))
        found = await self._library.retrieve(query, k=k, options=options)
        return truncated_to_message(
            found.chunks,
            lambda some: PassagesResponse(retrieval=replace(found, chunks=tuple(some))),
        )

    async def answer(
        self, question: str, k: int = 5, options: RetrievalOptions = _NO_OPTIONS
    ) -> SourcedAnswerResponse:
        model = language_model(self._model)
        if model is not None:
            # A model may take a minute; this tells the asker that the request has been taken.
            await self._request.agree()
        answer = await Answerer(self._library, model).answer(question, k=k, options=options)
        return truncated_to_message(
            answer.citations,
            lambda some: SourcedAnswerResponse(answer=replace(answer, citations=tuple(some))),
        )

    async def ingest(
        self, document: SourceDocument, splitting: Splitting | None = None
    ) -> IngestReport:
        self._check_namespace(document.namespace)
        return IngestReport.of([await self._library.ingest(document, splitting=splitting)])

    async def ingest_path(
        self,
        path: Annotated[str, Field(min_length=1, max_length=1000)],
        namespace: str = DEFAULT_NAMESPACE,
        is_recursive: bool = True,
        only: PathKind | None = None,
        splitting: Splitting | None = None,
    ) -> IngestReport:
        """Ingest a file or folder below a document root of the RAG agent's own machine."""
        self._check_namespace(namespace)
        async with self._queue.turn(self._request) as reporter:
            done = await self._library.ingest_path(
                path,
                namespace=namespace,
                is_recursive=is_recursive,
                only=only,
                splitting=splitting,
                on_progress=reporter.tell,
            )
        return IngestReport.of(done)

    async def ingest_url(
        self,
        url: str,
        source: Annotated[
            str,
            Field(
                description="Name for citations; its extension decides how the file is read. Empty"
                " means the file name of the URL."
            ),
        ] = "",
        namespace: str = DEFAULT_NAMESPACE,
        splitting: Splitting | None = None,
    ) -> IngestReport:
        """Ingest a file that was uploaded to the RAG agent's own server (XEP-0363)."""
        self._check_namespace(namespace)
        if self._fetched is None:
            raise InvalidArguments("url: this agent fetches no URLs; send the text or a path")
        async with self._queue.turn(self._request, namespace) as reporter:
            document = await self._fetched.get(url, source=source, namespace=namespace)
            done = await self._library.ingest(document, splitting=splitting)
            title = " ".join(str(document.metadata.get("title", "")).split())
            done = replace(
                done,
                title=title[:MAX_TITLE_CHARS],
                characters=len(document.text),
                beginning=document.text[:MAX_BEGINNING_CHARS],
            )
            await reporter.tell(Progress(done=1, total=1, chunks=done.chunks, source=done.source))
        return IngestReport.of([done])

    async def reindex(self, namespace: str | None = None) -> DocumentCount:
        async with self._queue.turn(self._request) as reporter:
            chunks = await self._library.reindex(namespace=namespace, on_progress=reporter.tell)
        return DocumentCount(count=chunks)

    def _check_namespace(self, namespace: str) -> None:
        name = namespace.rpartition("/")[2]
        if self._only and name not in self._only:
            known = ", ".join(sorted(self._only))
            raise Unauthorised(
                f"this agent takes no documents for namespace {name[:80]!r}; use {known}"
            )

    async def namespaces(
        self,
        skip: Annotated[int, Field(description="Number of namespaces already received.")] = 0,
    ) -> NamespacesResponse:
        left = (await self._library.namespaces())[max(skip, 0) :]
        return truncated_to_message(
            left,
            lambda some: NamespacesResponse(namespaces=tuple(some), left=len(left) - len(some)),
        )

    async def documents(
        self, namespace: str | None = None, limit: int = 100, offset: int = 0
    ) -> DocumentPageResponse:
        page = await self._library.documents(namespace=namespace, limit=limit, offset=offset)

        def cut(some: Sequence[DocumentSummary]) -> DocumentPageResponse:
            has_more = page.has_more or len(some) < len(page.documents)
            return DocumentPageResponse(
                page=replace(page, documents=tuple(some), has_more=has_more)
            )

        return truncated_to_message(page.documents, cut)

    async def revoke(self, namespace: str, to: str) -> int:
        return int(await self._library.revoke(namespace, to=to))

    async def grants(
        self, skip: Annotated[int, Field(description="Number of grants already received.")] = 0
    ) -> NamespaceGrantsResponse:
        left = (await self._library.grants())[max(skip, 0) :]
        return truncated_to_message(
            left,
            lambda some: NamespaceGrantsResponse(grants=tuple(some), left=len(left) - len(some)),
        )
