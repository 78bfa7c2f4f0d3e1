"""Document library contract: Retriever, Library, Catalogue and Sharing roles, and records."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol

from spade_llm.search.query_vector import QueryVector

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
    """Namespaces to search: `name` of an own one, or `owner@domain/name` of a granted one."""
    shared: tuple[str, ...] | None = None
    """Restriction of the namespaces granted by other owners to those named here (`owner@domain` or
    `owner@domain/name`); it also applies to `namespaces`. None means no restriction: then every
    owner that grants access adds to the results."""
    person: str = ""
    """Bare JID of the person on whose behalf the caller asks. Namespaces that this person granted
    are searched, too, and a `name` may be theirs; missing or not granted ones are skipped."""
    personal: str = ""
    """Personal namespace of the caller with the documents of one person (rag/names.py). It is
    searched in addition to the others if `namespaces` is empty; no other personal namespace is."""
    where: Mapping[str, Scalar] = field(default_factory=dict)
    """Metadata conditions: only chunks of documents with all of these values are returned. The keys
    `source`, `document`, `heading` and `page` are also allowed."""
    min_score: float | None = None
    """Minimum score, 0…1; None: the default of the library."""
    max_tokens: int | None = None
    """Maximum number of tokens of all texts together, estimated; passages that do not fit are left
    out."""
    merge_neighbours: bool = True
    """True: consecutive chunks of a document are merged into one passage."""
    vector: QueryVector | None = None
    """Vector of the query's text; None: the library computes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Passage of a document: one chunk, or several consecutive ones."""

    text: str
    source: str
    namespace: str
    """Namespace as its reader addresses it: `name`, or `owner@domain/name` if it belongs to another
    owner."""
    index: int
    """Position of the first chunk in the document, from 0."""
    count: int = 1
    """Number of consecutive chunks."""
    start: int
    """Offset of the first character in the document's text."""
    end: int
    """Offset after the last character."""
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
    """Passage that a search found."""

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
    """Read access to the documents of one owner (protocol)."""

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        """Find the k (1…20) best passages; the result is empty if nothing was found.

        Raises:
            InvalidArguments: a field is wrong; the message names it.
            Unauthorised: a namespace of another owner was not granted, or does not exist.
        """
        ...


MAX_PAGE = 1000
"""Maximum number of documents of one listing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDocument:
    """Text with a name, to be split, embedded and indexed."""

    text: str
    source: str
    """Origin as shown in citations: a relative path, a URL or a title."""
    namespace: str = DEFAULT_NAMESPACE
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    page_starts: tuple[int, ...] = ()
    """Offset of the first character of each page, ascending; empty: no pages."""
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
    """Number of the version, from 1; incremented with each change of its content."""
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
    """Number of chunks stored so far."""
    source: str = ""
    """Source of the last document done."""


OnProgress = Callable[[Progress], Awaitable[None]]
PathKind = Literal["file", "folder"]


class Access(StrEnum):
    """Right that a grant gives."""

    READ = "read"
    WRITE = "write"
    """Includes reading."""


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
    """Entry in a list of documents."""

    id: str
    source: str
    namespace: str
    chunks: int
    version: int
    updated_at: datetime
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    preview: str = ""
    """The beginning of its text; empty if an older agent does not send it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """Page of a list of documents, ordered by namespace and source."""

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
    """Bare JID or domain."""
    access: Access
    created_at: datetime


class Library(Retriever, Protocol):
    """Retriever that also accepts documents.

    Raises (every method): InvalidArguments naming the field; Unauthorised for a namespace of
    another owner that may not be written to.
    """

    async def ingest(
        self, document: SourceDocument, *, splitting: Splitting | None = None
    ) -> Ingested:
        """Split, embed and index a document; one with the same source is replaced atomically."""
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
        """Ingest a file or folder below a document root of the *serving* agent.

        Files of a folder that were skipped are in the result too, with `left_out`. Raises
        PathNotFound also if the path is not of the kind `only`.
        """
        ...


class Catalogue(Protocol):
    """Document catalogue: lists namespaces and documents, deletes and reindexes them. Raises the
    errors of Library, and NotFound if a named item does not exist."""

    async def namespaces(self) -> Sequence[NamespaceSummary]:
        """List the own namespaces by name, then the granted ones."""
        ...

    async def stats(self, namespace: str) -> NamespaceStats:
        """Return counts of one namespace."""
        ...

    async def documents(
        self, *, namespace: str | None = None, limit: int = 100, offset: int = 0
    ) -> DocumentPage:
        """List documents. `limit`: 1…1000. `namespace`: None means all own ones that are not
        personal."""
        ...

    async def delete(self, *, namespace: str, source: str | None = None) -> int:
        """Delete one document, or the namespace with all its documents and grants. Returns the
        number of deleted documents."""
        ...

    async def reindex(
        self, *, namespace: str | None = None, on_progress: OnProgress | None = None
    ) -> int:
        """Embed the stored chunks again with the current model; returns their number. Queries are
        served meanwhile."""
        ...


class Sharing(Protocol):
    """Access grants of an owner. Raises the errors of Catalogue."""

    async def grant(self, namespace: str, *, to: str, access: Access = Access.READ) -> None:
        """Grant access to a namespace; replaces an earlier grant to the same JID or domain."""
        ...

    async def revoke(self, namespace: str, *, to: str) -> bool:
        """Revoke a grant; returns False if there was none."""
        ...

    async def grants(self) -> Sequence[NamespaceGrant]:
        """List the grants given, by namespace and grantee."""
        ...
