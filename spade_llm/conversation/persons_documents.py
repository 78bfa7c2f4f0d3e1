"""What one person's turns may see of an agent's documents: what is for everybody, and what this
person gave the agent. Knows no wire.

The library looks through no personal namespace that is not named; here nobody else's can be.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from spade_llm.errors import InvalidArguments
from spade_llm.rag.names import is_personal, personal_namespace
from spade_llm.rag.retriever import RetrievalOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.rag.documents import DocumentPage, NamespaceSummary
    from spade_llm.rag.retriever import Retrieval, Retriever


class Listing(Protocol):
    """The part of a Catalogue (rag/documents.py) that only reads."""

    async def namespaces(self) -> Sequence[NamespaceSummary]: ...

    async def documents(
        self, *, namespace: str | None = None, limit: int = 100, offset: int = 0
    ) -> DocumentPage: ...


class PersonsDocuments:
    """Satisfies Retriever."""

    def __init__(self, retriever: Retriever, *, person: str) -> None:
        """`person`: a bare JID; empty: nobody's turn, and nobody's files."""
        self._retriever = retriever
        self._mine = _namespace_of(person)

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        """Raises InvalidArguments, too, for what another person gave."""
        options = options or RetrievalOptions()
        for name in options.namespaces:
            _check(name, self._mine)
        seen = replace(options, personal=self._mine)
        found = await self._retriever.retrieve(query, k=k, options=seen)
        chunks = (one for one in found.chunks if _is_seen(one.chunk.namespace, self._mine))
        return replace(found, chunks=tuple(chunks))


class PersonsListing:
    """Satisfies Listing."""

    def __init__(self, listing: Listing, *, person: str) -> None:
        self._listing = listing
        self._mine = _namespace_of(person)

    async def namespaces(self) -> Sequence[NamespaceSummary]:
        names = await self._listing.namespaces()
        return [one for one in names if _is_seen(one.name, self._mine)]

    async def documents(
        self, *, namespace: str | None = None, limit: int = 100, offset: int = 0
    ) -> DocumentPage:
        if namespace is not None:
            _check(namespace, self._mine)
        page = await self._listing.documents(namespace=namespace, limit=limit, offset=offset)
        seen = (one for one in page.documents if _is_seen(one.namespace, self._mine))
        return replace(page, documents=tuple(seen))


def _namespace_of(person: str) -> str:
    return personal_namespace(person) if person else ""


def _check(namespace: str, mine: str) -> None:
    if not _is_seen(namespace, mine):
        raise InvalidArguments("namespaces: this one holds what another person shared")


def _is_seen(namespace: str, mine: str) -> bool:
    """Also where it is named by its address: an owner may name its own by that, too."""
    name = namespace.rpartition("/")[2]
    return name == mine or not is_personal(name)
