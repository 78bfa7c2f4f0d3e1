"""Remote document search: passage retrieval, and answers with sources."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from spade_llm.messaging.body import truncated_to_message
from spade_llm.rag.answers import MODEL_TIMEOUT_S, Answerer, SourcedAnswer
from spade_llm.rag.contract import Retrieval, RetrievalOptions
from spade_llm.rag.remote_jobs import RagBody

if TYPE_CHECKING:
    from spade_llm.messaging import Body, Request
    from spade_llm.messaging.rpc import RpcClient, RpcService
    from spade_llm.providers.model import ChatModel
    from spade_llm.rag.remote_jobs import LibraryOf


class RetrievePassagesRequest(RagBody):
    op: ClassVar[str] = "retrieve"
    query: str
    k: int = 5
    options: RetrievalOptions = RetrievalOptions()
    namespaces: tuple[str, ...] = ()
    """As `namespace`: how the first programs said what is now in `options`."""
    namespace: str | None = None

    def as_options(self) -> RetrievalOptions:
        named = (self.namespace,) if self.namespace is not None else ()
        return replace(
            self.options, namespaces=(*self.options.namespaces, *self.namespaces, *named)
        )


class PassagesResponse(RagBody):
    retrieval: Retrieval


class RetrievalService:
    """The best passages, from the first on, as many as fit into one message."""

    def __init__(self, library_of: LibraryOf) -> None:
        self._library = library_of

    def attach(self, service: RpcService) -> None:
        service.on(RetrievePassagesRequest, self._retrieve)

    async def _retrieve(self, request: Request, body: RetrievePassagesRequest) -> Body:
        library = self._library(request)
        found = await library.retrieve(body.query, k=body.k, options=body.as_options())
        return truncated_to_message(
            found.chunks,
            lambda some: PassagesResponse(retrieval=replace(found, chunks=tuple(some))),
        )


class RetrievalClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
        self._peer = peer

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        body = RetrievePassagesRequest(query=query, k=k, options=options or RetrievalOptions())
        return (await self._peer.ask(body, PassagesResponse)).retrieval


ANSWER_TIMEOUT_S = MODEL_TIMEOUT_S + 30


class AnswerRequest(RagBody):
    op: ClassVar[str] = "answer"
    question: str
    k: int = 5
    options: RetrievalOptions = RetrievalOptions()


class SourcedAnswerResponse(RagBody):
    answer: SourcedAnswer


class AnswerService:
    """`model=None`: the best passages are the answer."""

    def __init__(self, library_of: LibraryOf, model: ChatModel | None) -> None:
        self._library = library_of
        self._model = model

    def attach(self, service: RpcService) -> None:
        service.on(AnswerRequest, self._answer)

    async def _answer(self, request: Request, body: AnswerRequest) -> Body:
        if self._model is not None:
            await request.agree()
        answerer = Answerer(self._library(request), self._model)
        answer = await answerer.answer(body.question, k=body.k, options=body.options)
        return truncated_to_message(
            answer.citations,
            lambda some: SourcedAnswerResponse(answer=replace(answer, citations=tuple(some))),
        )


class AnswerClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
        self._peer = peer

    async def answer(
        self, question: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> SourcedAnswer:
        body = AnswerRequest(question=question, k=k, options=options or RetrievalOptions())
        return (
            await self._peer.ask(body, SourcedAnswerResponse, timeout_s=ANSWER_TIMEOUT_S)
        ).answer
