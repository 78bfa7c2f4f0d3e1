"""Document library contract: Retriever, Library, Catalogue and Sharing roles, and records."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from spade_llm.rag.loading.chunking import Splitting

DEFAULT_NAMESPACE = "default"
MAX_QUERY_CHARS = 10_000
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalOptions:
    """Options of a retrieval: the namespaces to search and what to return. The defaults search
    everything that the owner may read."""

    namespaces: tuple[str, ...] = ()
    """`name` of one of ours, or `owner@domain/name` of one that was granted to us."""
    shared: tuple[str, ...] | None = None
    """Restriction of the namespaces granted by other owners to those named here (`owner@domain` or
    `owner@domain/name`); it also applies to `namespaces`. None means no restriction: then every
    owner that grants access adds to the results."""
    person: str = ""
    """Bare JID of the person that this is asked for. What they granted to us is looked through,
    too, and a `name` may be one of theirs; what is not there, or not granted, is passed over."""
    personal: str = ""
    """Personal namespace of the caller with the documents of one person (rag/names.py). It is
    searched in addition to the others if `namespaces` is empty; no other personal namespace is."""
    where: Mapping[str, Scalar] = field(default_factory=dict)
    """Metadata conditions: only chunks of documents with all of these values are returned. The keys
    `source`, `document`, `heading` and `page` are also allowed."""
    min_score: float | None = None
    """0…1; None: what the library takes for relevant."""
    max_tokens: int | None = None
    """Maximum number of tokens of all texts together, estimated; passages that do not fit are left
    out."""
    merge_neighbours: bool = True
    """Chunks of one document that follow each other become one passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A passage of a document: one chunk, or several that follow each other."""

    text: str
    source: str
    namespace: str
    """Namespace as its reader addresses it: `name`, or `owner@domain/name` if it belongs to another
    owner."""
    index: int
    """Position of the first one among the document's chunks, from 0."""
    count: int = 1
    """Number of consecutive chunks."""
    start: int
    """Offset of the first character in the document's text."""
    end: int
    """Offset behind the last character."""
    heading: str = ""
    """Headings above it, outermost first, joined by ` > `."""
    page: int | None = None
    """Page on which it begins, from 1; None if the document has no pages."""
    document: str = ""
    """Id of the document."""
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    """Metadata of the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredChunk:
    chunk: Chunk
    score: float
    """0…1, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Chunks, best first, and whether something was missing while they were found."""

    chunks: tuple[ScoredChunk, ...]
    degraded: str = ""
    """Reason why the result may be poorer than usual (`no embeddings: keywords only`); empty if it
    is not."""


class Retriever(Protocol):
    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        """The k best passages (1…20). Nothing found is an empty answer, and no error.

        Raises:
            InvalidArguments: a field is wrong; the message names it.
            Unauthorised: a namespace of another owner that was not granted to us, or that is not.
        """
        ...


MAX_PAGE = 1000
"""Documents of one listing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDocument:
    """Text with a name: what is split, embedded and indexed."""

    text: str
    source: str
    """Origin as shown in citations: a relative path, a URL or a title."""
    namespace: str = DEFAULT_NAMESPACE
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    page_starts: tuple[int, ...] = ()
    """Offset of each page's first character, rising; empty: it has no pages."""
    is_markdown: bool | None = None
    """True if `#` begins a heading; None means that the extension of the source decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """Result of the ingestion of one document."""

    source: str
    namespace: str
    chunks: int
    id: str = ""
    """The same for the same namespace and source; empty if it was left out."""
    version: int = 0
    """1 at first, and one more with each change of its content."""
    was_unchanged: bool = False
    """True when its text was already there and nothing was embedded again."""
    left_out: str = ""
    """Reason why this file was skipped (`not UTF-8 …`), and `chunks` is 0; empty if it was
    ingested."""
    title: str = ""
    """Title from the document itself. This field and the following ones are set only for a document
    that was fetched from a URL."""
    characters: int = 0
    """Length of the text in characters."""
    beginning: str = ""
    """Beginning of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of a long ingestion."""

    done: int
    """Number of documents done, including those left out."""
    total: int
    chunks: int
    """Stored so far."""
    source: str = ""
    """The last one that was done."""


OnProgress = Callable[[Progress], Awaitable[None]]
PathKind = Literal["file", "folder"]


class Access(StrEnum):
    READ = "read"
    WRITE = "write"
    """Reading too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSummary:
    """Entry in the list of the namespaces that an owner may read."""

    name: str
    """Name as its reader addresses it."""
    documents: int
    chunks: int
    updated_at: datetime
    """UTC."""
    access: Access = Access.WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceStats:
    """Statistics of a namespace; all zero if it does not exist."""

    name: str
    exists: bool
    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    dimension: int | None = None
    model: str | None = None
    """Name of the embedder that made its vectors; None while it has none."""
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSummary:
    """A document as it is listed."""

    id: str
    source: str
    namespace: str
    chunks: int
    version: int
    updated_at: datetime
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    preview: str = ""
    """The beginning of its text; empty: an older agent, which does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """Part of a list, in the order of namespace and source."""

    documents: tuple[DocumentSummary, ...]
    total: int
    limit: int
    offset: int
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceGrant:
    """Access to one namespace of an owner, granted to a JID or a domain."""

    namespace: str
    to: str
    """A bare JID, or a domain."""
    access: Access
    created_at: datetime


class Library(Retriever, Protocol):
    """A retriever that also takes documents.

    Raises (every method): InvalidArguments naming the field; Unauthorised for a namespace of
    another owner that may not be written to.
    """

    async def ingest(
        self, document: SourceDocument, *, splitting: Splitting | None = None
    ) -> Ingested:
        """Split, embed and index; the same source again replaces what was there in one step."""
        ...

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
        """A file, or a folder of them, below a document root of the *serving* agent.

        A file of the folder that could not be taken is in the answer too, with `left_out`. Raises
        PathNotFound also where there is one that is not what `only` says.
        """
        ...


class Catalogue(Protocol):
    """Document catalogue: lists namespaces and documents, deletes and reindexes them. Raises the
    errors of Library, and NotFound if a named item does not exist."""

    async def namespaces(self) -> Sequence[NamespaceSummary]:
        """Ours by name, then those granted to us."""
        ...

    async def stats(self, namespace: str) -> NamespaceStats: ...

    async def documents(
        self, *, namespace: str | None = None, limit: int = 100, offset: int = 0
    ) -> DocumentPage:
        """`limit` 1…1000; without a namespace, those of all that are ours and not personal."""
        ...

    async def delete(self, *, namespace: str, source: str | None = None) -> int:
        """Delete one document, or the namespace with all its documents and grants. Returns the
        number of deleted documents."""
        ...

    async def reindex(
        self, *, namespace: str | None = None, on_progress: OnProgress | None = None
    ) -> int:
        """Embed what is stored again, with today's model; how many chunks. Queries go on."""
        ...


class Sharing(Protocol):
    """Access grants of an owner. Raises the errors of Catalogue."""

    async def grant(self, namespace: str, *, to: str, access: Access = Access.READ) -> None:
        """Again with another access: that one holds from then on."""
        ...

    async def revoke(self, namespace: str, *, to: str) -> bool:
        """False: there was no such grant."""
        ...

    async def grants(self) -> Sequence[NamespaceGrant]:
        """Given by us, by namespace and grantee."""
        ...
