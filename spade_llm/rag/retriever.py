"""Finding passages: the Retriever role and its records. Knows no store and no wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

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
