"""What an agent asks of documents: the Retriever and Library roles and their records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Text with a name: what is split, embedded and indexed."""

    text: str
    source: str
    """Where it came from, as shown in citations: a relative path, a URL, a title."""
    namespace: str = DEFAULT_NAMESPACE
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A passage of a document."""

    text: str
    source: str
    namespace: str
    index: int
    """Position among the document's chunks, from 0."""
    start: int
    """Offset of the first character in the document's text."""
    end: int
    """Offset behind the last character."""
    heading: str = ""
    """Headings above it, outermost first, joined by ` > `."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of one document."""

    source: str
    namespace: str
    chunks: int
    was_unchanged: bool = False
    """True when its text was already there and nothing was embedded again."""
    left_out: str = ""
    """Why this file was not taken (`not UTF-8 …`); empty if it was. Then `chunks` is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSummary:
    """One line of the list of what an owner has stored."""

    name: str
    documents: int
    chunks: int
    updated_at: datetime
    """UTC."""


class Retriever(Protocol):
    async def retrieve(self, query: str, *, k: int = 5, namespace: str | None = None) -> Retrieval:
        """The k best chunks (1…20) of a namespace, or of all that the owner may see."""
        ...


class Library(Retriever, Protocol):
    """A retriever that also takes documents."""

    async def ingest(self, document: Document) -> Ingested:
        """Split, embed and index; the same source again replaces what was there."""
        ...

    async def ingest_path(
        self, path: str, *, namespace: str = DEFAULT_NAMESPACE
    ) -> Sequence[Ingested]:
        """A .txt or .md file, or a folder of them, below a document root of the *serving* agent.

        A file of the folder that could not be taken is in the answer too, with `left_out`.

        Raises:
            InvalidArguments: no such path, outside the roots, or nothing readable in it.
        """
        ...
