"""Remote document endpoint: operations that are served otherwise than by the library's method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from spade_llm.messaging.body import truncated_to_message
from spade_llm.rag.answers import Answerer, SourcedAnswer
from spade_llm.rag.contract import (
    DocumentPage,
    NamespaceGrant,
    NamespaceSummary,
    Retrieval,
    RetrievalOptions,
)
from spade_llm.rag.remote_jobs import RagBody

if TYPE_CHECKING:
    from spade_llm.messaging import Request
    from spade_llm.providers.model import ChatModel
    from spade_llm.rag.contract import DocumentSummary
    from spade_llm.rag.remote_jobs import OwnerDocuments

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


class RagEndpoint:
    """One owner's documents as they are served to a request. Signatures are those of the wire; what
    is not here is served by the library. Long answers are truncated to one message.

    `model`: writes answers; None: the best passages are the answer.
    """

    def __init__(self, library: OwnerDocuments, request: Request, model: ChatModel | None) -> None:
        self._library = library
        self._request = request
        self._model = model

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
        if self._model is not None:
            # A model may take a minute; this tells the asker that the request has been taken.
            await self._request.agree()
        answer = await Answerer(self._library, self._model).answer(question, k=k, options=options)
        return truncated_to_message(
            answer.citations,
            lambda some: SourcedAnswerResponse(answer=replace(answer, citations=tuple(some))),
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
