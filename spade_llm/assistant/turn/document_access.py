"""Document access of a turn: shared, personal and granted namespaces of one person."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from spade_llm.core.errors import InvalidArguments
from spade_llm.rag.contract import RetrievalOptions
from spade_llm.rag.names import (
    is_named_by,
    is_personal_namespace,
    parse_address,
    personal_namespace,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from spade_llm.rag.contract import DocumentPage, NamespaceSummary, Retrieval, Retriever


class DocumentListing(Protocol):
    """The part of a Catalogue (rag/contract.py) that only reads."""

    async def namespaces(self) -> Sequence[NamespaceSummary]: ...

    async def documents(
        self, *, namespace: str | None = None, limit: int = 100, offset: int = 0
    ) -> DocumentPage: ...


class PersonDocumentRetriever:
    """Satisfies Retriever. A plain name among `namespaces` is the agent's, and the person's."""

    def __init__(self, retriever: Retriever, *, person: str) -> None:
        """Create the retriever. `person`: a bare JID; empty: the turn belongs to no person, and no
        personal files are visible."""
        self._retriever = retriever
        self._person = person
        self._mine = _namespace_of(person)

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        """Raises InvalidArguments, too, for what another person gave. What is not there, or was not
        granted, is no error in a person's turn."""
        options = options or RetrievalOptions()
        check_namespace_access(options.namespaces, person=self._person)
        seen = replace(options, personal=self._mine, person=self._person)
        # None would mean whatever any owner has granted to the agent.
        if self._person and options.shared is None:
            seen = replace(seen, shared=())
        found = await self._retriever.retrieve(query, k=k, options=seen)
        # Once more: a RAG agent of an earlier version knows no personal namespaces.
        chunks = (one for one in found.chunks if _is_visible(one.chunk.namespace, self._mine))
        return replace(found, chunks=tuple(chunks))


class PersonDocumentListing:
    """DocumentListing of one person: own, shared and granted namespaces."""

    def __init__(
        self, listing: DocumentListing, *, person: str, shared: Collection[str] | None = None
    ) -> None:
        """Create the listing. `shared`: documents of other owners that every person may see, as in
        TrustedDocumentRetriever. None: none of them; outside a person's turn, all."""
        self._listing = listing
        is_limited = shared is not None or bool(person)
        self._trusted = {*(shared or ()), person.lower()} if is_limited else None
        self._mine = _namespace_of(person)

    async def namespaces(self) -> Sequence[NamespaceSummary]:
        names = await self._listing.namespaces()
        return [one for one in names if self._is_seen(one.name)]

    async def documents(
        self, *, namespace: str | None = None, limit: int = 100, offset: int = 0
    ) -> DocumentPage:
        if namespace is not None:
            _check(namespace, self._mine)
            if not self._is_seen(namespace):
                raise InvalidArguments("namespace: there is none that is called so")
        page = await self._listing.documents(namespace=namespace, limit=limit, offset=offset)
        seen = (one for one in page.documents if self._is_seen(one.namespace))
        return replace(page, documents=tuple(seen))

    def _is_seen(self, namespace: str) -> bool:
        if self._trusted is None or "/" not in namespace:
            return _is_visible(namespace, self._mine)
        address = parse_address(namespace, asker="")
        return is_named_by(address, self._trusted) and _is_visible(namespace, self._mine)


def check_namespace_access(namespaces: Iterable[str], *, person: str) -> None:
    """Raises InvalidArguments if one of them holds what another person gave the agent."""
    for name in namespaces:
        _check(name, _namespace_of(person))


def _namespace_of(person: str) -> str:
    return personal_namespace(person) if person else ""


def _check(namespace: str, mine: str) -> None:
    if not _is_visible(namespace, mine):
        raise InvalidArguments("namespaces: this one holds what another person shared")


def _is_visible(namespace: str, mine: str) -> bool:
    """True unless the namespace holds another person's files. The owner's JID in front of the name
    is ignored."""
    name = namespace.rpartition("/")[2]
    return name == mine or not is_personal_namespace(name)


class TrustedDocumentRetriever:
    """Satisfies Retriever."""

    def __init__(self, retriever: Retriever, *, shared: tuple[str, ...]) -> None:
        """`shared`: `owner@domain` or `owner@domain/name`."""
        self._retriever = retriever
        self._shared = shared

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        trusted = replace(options or RetrievalOptions(), shared=self._shared)
        return await self._retriever.retrieve(query, k=k, options=trusted)
