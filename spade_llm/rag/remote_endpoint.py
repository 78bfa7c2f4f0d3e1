"""Remote document endpoint: operations that are served otherwise than by the library's method."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Protocol, Self

from pydantic import Field

from spade_llm.core.errors import Busy, InvalidArguments, RequestError, Unauthorised
from spade_llm.messaging import Body, Request
from spade_llm.messaging.body import truncated_to_message
from spade_llm.providers.model import language_model
from spade_llm.rag.cited_answers import Answerer, SourcedAnswer
from spade_llm.rag.contract import (
    DEFAULT_NAMESPACE,
    Catalogue,
    DocumentPage,
    Ingested,
    Library,
    NamespaceGrant,
    NamespaceSummary,
    PathKind,
    Progress,
    Retrieval,
    RetrievalOptions,
    Sharing,
    SourceDocument,
)
from spade_llm.rag.loading.chunking import Splitting
from spade_llm.rag.names import is_personal_namespace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from spade_llm.messaging import Request
    from spade_llm.providers.model import ChatModel
    from spade_llm.rag.contract import DocumentSummary
    from spade_llm.rag.loading.fetcher import FetchedDocuments

ONTOLOGY = "spade-llm.rag/1"


class OwnerDocuments(Library, Catalogue, Sharing, Protocol):
    """Documents of one owner, with all roles of rag/contract.py."""


class LibraryBackend(Protocol):
    """Libraries of several owners."""

    def for_owner(self, owner: str) -> OwnerDocuments: ...


class RagBody(Body):
    """Records travel without their defaults, which are therefore a part of this version."""

    skips_defaults: ClassVar[bool] = True


logger = logging.getLogger(__name__)

MAX_TIME_S = 6 * 3600.0
"""Maximum duration of one request, with its wait in the queue; its partial results are kept."""
TIMEOUT_S = MAX_TIME_S + 60
"""Timeout of the caller."""
MAX_RUNNING = 4
"""Maximum number of requests of all queues that run at a time."""
MAX_PER_QUEUE = 4
"""Maximum number of requests in one queue, running or waiting; further ones are refused (Busy)."""
MAX_PER_OWNER = 32
"""Maximum number of requests in all queues of one owner."""
MAX_TOTAL = 64
"""Maximum number of requests of all owners."""
PROGRESS_EVERY_S = 0.5
"""Minimum time between two progress reports; the last one is always sent."""
HEARTBEAT_S = 30.0
SILENCE_S = 300.0
"""Time without a report after which the caller gives up."""
DISCONNECTED_S = 15.0
"""Time between two reports while the network is down; the work goes on."""


class ProgressPart(RagBody):
    progress: Progress


@dataclass(slots=True)
class _OwnerQueue:
    """Queue of one owner, or of one person with a personal namespace."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0


class IngestionQueue:
    """Fair queue of long requests: in order for each owner and person, some of them at a time."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, str], _OwnerQueue] = {}
        self._held: Counter[str] = Counter()
        """Number of requests by owner."""
        self._running = asyncio.Semaphore(MAX_RUNNING)

    @asynccontextmanager
    async def turn(self, request: Request, namespace: str = "") -> AsyncIterator[ProgressStream]:
        """Agree, wait, and run the block. Each personal `namespace` has its own queue, so that the
        files of one person do not delay those of another.

        Raises:
            Busy: MAX_PER_QUEUE, MAX_PER_OWNER or MAX_TOTAL is reached.
        """
        person = namespace if is_personal_namespace(namespace) else ""
        with self._place(request.message.owner, person) as queue:
            # In this order: heartbeats while it waits, and no shared slot taken before its turn.
            async with ProgressStream(request) as reporter, queue.turn, self._running:
                yield reporter

    @contextmanager
    def _place(self, owner: str, person: str) -> Iterator[_OwnerQueue]:
        queue = self._queues.get((owner, person)) or _OwnerQueue()
        if (
            queue.length >= MAX_PER_QUEUE
            or self._held[owner] >= MAX_PER_OWNER
            or self._held.total() >= MAX_TOTAL
        ):
            raise Busy("too many long requests are waiting; try again when one has ended")
        # Only now, so that a refused request leaves no queue behind.
        self._queues[owner, person] = queue
        queue.length += 1
        self._held[owner] += 1
        try:
            yield queue
        finally:
            queue.length -= 1
            # In-place subtraction drops counts of 0, so that the table stays bounded.
            self._held -= Counter((owner,))
            if not queue.length:
                del self._queues[owner, person]


class ProgressStream:
    """Progress reports to the caller of a request; a report that cannot be sent is skipped.

    Within its block, the last report is repeated every HEARTBEAT_S.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._last = Progress(done=0, total=0, chunks=0)
        self._has_news = asyncio.Event()
        self._pause_s = PROGRESS_EVERY_S
        self._heartbeat: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        with self._tolerate_errors():
            await self._request.agree()
        self._heartbeat = asyncio.create_task(self._send_reports())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()
            await asyncio.gather(self._heartbeat, return_exceptions=True)

    async def tell(self, progress: Progress) -> None:
        """Report progress (an OnProgress); call it after each document."""
        self._last = progress
        self._has_news.set()
        if progress.done >= progress.total:
            await self._send()

    async def _send_reports(self) -> None:
        """Send news, at most every PROGRESS_EVERY_S, and heartbeats."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._has_news.wait()
            await self._send()
            await asyncio.sleep(self._pause_s)

    async def _send(self) -> None:
        self._has_news.clear()
        self._pause_s = PROGRESS_EVERY_S
        with self._tolerate_errors():
            await self._request.part(ProgressPart(progress=self._last).encode())

    @contextmanager
    def _tolerate_errors(self) -> Iterator[None]:
        try:
            yield
        except RequestError as error:
            self._pause_s = DISCONNECTED_S
            logger.info(
                "progress could not be reported to %s: %s", self._request.message.sender, error
            )


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
