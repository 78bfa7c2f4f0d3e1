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
    """Where to look and what to bring. Without any: everything that the owner may see."""

    namespaces: tuple[str, ...] = ()
    """`name` of one of ours, or `owner@domain/name` of one that was granted to us."""
    shared: tuple[str, ...] | None = None
    """Of what others granted to us, only what these name (`owner@domain`, `owner@domain/name`),
    also where `namespaces` names it. None: all of it. Who lets us in decides what we find."""
    person: str = ""
    """Bare JID of the person that this is asked for. What they granted to us is looked through,
    too, and a `name` may be one of theirs; what is not there, or not granted, is passed over."""
    personal: str = ""
    """One of ours that holds what one person gave us (rag/names.py): looked through beside the
    others where `namespaces` names nothing. No other personal one ever is."""
    where: Mapping[str, Scalar] = field(default_factory=dict)
    """Only chunks of documents whose metadata has all of these values. `source`, `document`,
    `heading` and `page` may be asked for too."""
    min_score: float | None = None
    """0…1; None: what the library takes for relevant."""
    max_tokens: int | None = None
    """Of all texts together, estimated; what does not fit is left out."""
    merge_neighbours: bool = True
    """Chunks of one document that follow each other become one passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A passage of a document: one chunk, or several that follow each other."""

    text: str
    source: str
    namespace: str
    """As its reader addresses it: `name`, or `owner@domain/name` if it is another owner's."""
    index: int
    """Position of the first one among the document's chunks, from 0."""
    count: int = 1
    """Of chunks in a row."""
    start: int
    """Offset of the first character in the document's text."""
    end: int
    """Offset behind the last character."""
    heading: str = ""
    """Headings above it, outermost first, joined by ` > `."""
    page: int | None = None
    """On which it begins, from 1; None: the document has no pages."""
    document: str = ""
    """Id of the document."""
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    """Of the document."""


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
    """Why it may be poorer than usual (`no embeddings: keywords only`); empty if it isn't."""


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
    """Where it came from, as shown in citations: a relative path, a URL, a title."""
    namespace: str = DEFAULT_NAMESPACE
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    page_starts: tuple[int, ...] = ()
    """Offset of each page's first character, rising; empty: it has no pages."""
    is_markdown: bool | None = None
    """Whether `#` begins a heading; None: judged by the source's ending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of one document."""

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
    """Why this file was not taken (`not UTF-8 …`); empty if it was. Then `chunks` is 0."""
    title: str = ""
    """That it gives itself; known, as what follows, only of what was fetched from an address."""
    characters: int = 0
    """Of its text."""
    beginning: str = ""
    """Of its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a long ingest is."""

    done: int
    """Of documents, those left out included."""
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
    """One line of the list of what an owner may see."""

    name: str
    """As its reader addresses it."""
    documents: int
    chunks: int
    updated_at: datetime
    """UTC."""
    access: Access = Access.WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceStats:
    """One namespace, in figures. One that does not exist has zeros."""

    name: str
    exists: bool
    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    dimension: int | None = None
    model: str | None = None
    """Which embedder made its vectors; None while it has none."""
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
    """An owner lets somebody into one of its namespaces."""

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
    """What is there. Raises as Library; NotFound where something of this name must be there."""

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
        """One document, or the namespace with all of them and its grants; how many there were."""
        ...

    async def reindex(
        self, *, namespace: str | None = None, on_progress: OnProgress | None = None
    ) -> int:
        """Embed what is stored again, with today's model; how many chunks. Queries go on."""
        ...


class Sharing(Protocol):
    """Whom an owner lets in. Raises as Catalogue."""

    async def grant(self, namespace: str, *, to: str, access: Access = Access.READ) -> None:
        """Again with another access: that one holds from then on."""
        ...

    async def revoke(self, namespace: str, *, to: str) -> bool:
        """False: there was no such grant."""
        ...

    async def grants(self) -> Sequence[NamespaceGrant]:
        """Given by us, by namespace and grantee."""
        ...
