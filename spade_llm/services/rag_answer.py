"""Answers with sources, of `spade-llm.rag/1`: bodies, handler and client."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from spade_llm.rag.answering import MODEL_TIMEOUT_S, Answerer, SourcedAnswer
from spade_llm.rag.retriever import RetrievalOptions
from spade_llm.services.rag_body import RagBody
from spade_llm.services.service import fitting

if TYPE_CHECKING:
    from spade_llm.acl import Body
    from spade_llm.providers.model import ChatModel
    from spade_llm.runtime import Request
    from spade_llm.services.rag_body import LibraryOf
    from spade_llm.services.service import Peer, Service

ANSWER_TIMEOUT_S = MODEL_TIMEOUT_S + 30


class AskAnswer(RagBody):
    op: ClassVar[str] = "answer"
    question: str
    k: int = 5
    options: RetrievalOptions = RetrievalOptions()


class Answered(RagBody):
    answer: SourcedAnswer


class AnswerService:
    """`model=None`: the best passages are the answer."""

    def __init__(self, library_of: LibraryOf, model: ChatModel | None) -> None:
        self._library = library_of
        self._model = model

    def attach(self, service: Service) -> None:
        service.on(AskAnswer, self._answer)

    async def _answer(self, request: Request, body: AskAnswer) -> Body:
        if self._model is not None:
            await request.agree()
        answerer = Answerer(self._library(request), self._model)
        answer = await answerer.answer(body.question, k=body.k, options=body.options)
        return fitting(
            answer.citations,
            lambda some: Answered(answer=replace(answer, citations=tuple(some))),
        )


class AnswerClient:
    """The same, asked of another agent."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def answer(
        self, question: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> SourcedAnswer:
        body = AskAnswer(question=question, k=k, options=options or RetrievalOptions())
        return (await self._peer.ask(body, Answered, timeout_s=ANSWER_TIMEOUT_S)).answer
