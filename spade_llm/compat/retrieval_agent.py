"""Retrieval agent and behaviour: answer `message_type=retrieval` with documents.

RAGAgent keeps documents per owner and speaks `spade-llm.rag/1`; this agent has a single collection
for all that may write to it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, TypedDict

from spade_llm.agents.default_connection import default_connection
from spade_llm.agents.keyword_checks import warn_about_verify_security
from spade_llm.compat.retrieval_tool import (
    RETRIEVAL,
    RETRIEVAL_ERROR,
    RETRIEVAL_RESPONSE,
    create_retrieval_response_body,
    error_body,
    fit_into_message,
    read_query,
)
from spade_llm.core.errors import InvalidArguments
from spade_llm.messaging import MESSAGE_TYPE
from spade_llm.xmpp.agent import XmppAgent
from spade_llm.xmpp.spade_adapters import Behaviour, SpadeMessage, SpadeTemplate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spade_llm.compat.documents import Document
    from spade_llm.compat.retrieval_tool import RetrievalQuery
    from spade_llm.compat.vector_store import BaseRetriever, RetrieveKeywords
    from spade_llm.xmpp.agent import AgentOptions

logger = logging.getLogger(__name__)

IDLE_S = 10.0
MAX_AT_ONCE = 16
RETRIEVAL_TIMEOUT_S = 60.0
MAX_SHOWN_QUERY = 500
"""Characters of the query that go back as metadata."""


class RetrievalStats(TypedDict):
    total_queries: int
    successful_retrievals: int
    failed_retrievals: int
    total_documents_retrieved: int
    average_retrieval_time: float
    """Seconds, of the successful ones."""
    last_query_time: float | None
    """Seconds since 1970."""


class RetrievalBehaviour(Behaviour):
    """Add it with a template of `message_type=retrieval`; RetrievalAgent does."""

    def __init__(
        self,
        retriever: BaseRetriever,
        reply_to: str | None = None,
        default_k: int = 4,
        on_retrieval_complete: Callable[[str, list[Document]], None] | None = None,
    ) -> None:
        """`reply_to`: JID that receives the answers instead of the sender of the query."""
        super().__init__()
        self.retriever = retriever
        self.reply_to = reply_to
        self.default_k = default_k
        self.on_retrieval_complete = on_retrieval_complete
        self._slots = asyncio.Semaphore(MAX_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._stats = RetrievalStats(
            total_queries=0,
            successful_retrievals=0,
            failed_retrievals=0,
            total_documents_retrieved=0,
            average_retrieval_time=0.0,
            last_query_time=None,
        )

    def update_retriever(self, new_retriever: BaseRetriever) -> None:
        self.retriever = new_retriever

    def set_default_k(self, k: int) -> None:
        self.default_k = k

    def get_stats(self) -> RetrievalStats:
        return self._stats.copy()

    async def run(self) -> None:
        # Before `receive`: what cannot be served yet stays in the behaviour's mailbox.
        await self._slots.acquire()
        # Without a timeout SPADE's `receive` returns at once, and the behaviour would spin.
        message = await self.receive(timeout=IDLE_S)
        if message is None:
            self._slots.release()
            return
        task = asyncio.create_task(self._serve(message))
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    async def on_end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._slots.release()
        if not task.cancelled() and (error := task.exception()):
            logger.error("an answer could not be sent", exc_info=error)

    async def _serve(self, message: SpadeMessage) -> None:
        self._stats["total_queries"] += 1
        self._stats["last_query_time"] = time.time()
        try:
            query = read_query(message.body or "")
        except InvalidArguments as error:
            await self._reply_error(message, str(error))
            return
        await self._answer(message, query)

    async def _answer(self, message: SpadeMessage, query: RetrievalQuery) -> None:
        """Retrieve and reply; an exception of the retriever is logged, and not sent to the peer."""
        begun = time.perf_counter()
        finding = asyncio.create_task(self._find(query))
        try:
            # Not `wait_for`, which waits on for a retriever that ignores its cancellation.
            await asyncio.wait([finding], timeout=RETRIEVAL_TIMEOUT_S)
        finally:
            # `cancel` returns False only for a task that is done.
            was_in_time = not finding.cancel()
        error = finding.exception() if was_in_time else TimeoutError()
        if error is not None:
            logger.error("a retrieval for %s failed", message.sender, exc_info=error)
            await self._reply_error(
                message, "the documents could not be searched; it has been logged"
            )
            return
        await self._reply_documents(message, query, finding.result(), time.perf_counter() - begun)

    async def _find(self, query: RetrievalQuery) -> list[Document]:
        more: RetrieveKeywords = {"search_type": query.search_type}
        if query.filters:
            more["filters"] = query.filters
        found = await self.retriever.retrieve(query.query, query.k or self.default_k, **more)
        if self.on_retrieval_complete is not None:
            self.on_retrieval_complete(query.query, found)
        return found

    async def _reply_documents(
        self, message: SpadeMessage, query: RetrievalQuery, found: list[Document], seconds: float
    ) -> None:
        sent = fit_into_message(found)
        self._count(len(sent), seconds)
        facts = {
            "query": query.query[:MAX_SHOWN_QUERY],
            "num_results": str(len(sent)),
            "retrieval_time": f"{seconds:.3f}",
        }
        await self._reply(message, RETRIEVAL_RESPONSE, create_retrieval_response_body(sent), facts)

    async def _reply_error(self, message: SpadeMessage, reason: str) -> None:
        self._stats["failed_retrievals"] += 1
        await self._reply(message, RETRIEVAL_ERROR, error_body(reason, message.body or ""), {})

    def _count(self, documents: int, seconds: float) -> None:
        stats = self._stats
        stats["successful_retrievals"] += 1
        stats["total_documents_retrieved"] += documents
        done, before = stats["successful_retrievals"], stats["average_retrieval_time"]
        stats["average_retrieval_time"] = before + (seconds - before) / done

    async def _reply(
        self, message: SpadeMessage, kind: str, body: str, facts: Mapping[str, str]
    ) -> None:
        reply = SpadeMessage(
            to=self.reply_to or str(message.sender),
            body=body,
            thread=message.thread,
            metadata={"performative": "inform", MESSAGE_TYPE: kind, **facts},
        )
        await self.send(reply)


class RetrievalAgent(XmppAgent):
    def __init__(
        self,
        jid: str,
        password: str,
        retriever: BaseRetriever,
        reply_to: str | None = None,
        default_k: int = 4,
        on_retrieval_complete: Callable[[str, list[Document]], None] | None = None,
        verify_security: bool | None = None,
        *,
        options: AgentOptions | None = None,
    ) -> None:
        find = None if options else default_connection
        super().__init__(jid, password, options=options, find_connection=find)
        warn_about_verify_security(str(self.jid), verify_security=verify_security)
        self.retrieval_behaviour = RetrievalBehaviour(
            retriever, reply_to, default_k, on_retrieval_complete
        )
        asked = SpadeTemplate(metadata={MESSAGE_TYPE: RETRIEVAL})
        self.add_behaviour(self.retrieval_behaviour, asked)

    @property
    def retriever(self) -> BaseRetriever:
        return self.retrieval_behaviour.retriever

    def update_retriever(self, new_retriever: BaseRetriever) -> None:
        self.retrieval_behaviour.update_retriever(new_retriever)

    def set_default_k(self, k: int) -> None:
        self.retrieval_behaviour.set_default_k(k)

    def get_retrieval_stats(self) -> RetrievalStats:
        return self.retrieval_behaviour.get_stats()
