"""Retrieval agent: searches documents for other agents; and the tool that asks it.

RAGAgent keeps documents per owner, with ontology `spade-llm.rag/1`. This agent has a single
collection for all its peers.

`message_type=retrieval`: the body is JSON `{query, k, filters, search_type}`, or the query as text.
`retrieval_response`: `{"documents": [{content, metadata}]}`; `retrieval_error`: `{error, query}`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spade_llm.agents.constructor_arguments import default_connection, warn_about_verify_security
from spade_llm.core.errors import InvalidArguments, RequestError, ToolFailed
from spade_llm.messaging import MESSAGE_TYPE, new_id
from spade_llm.messaging.body import MAX_BODY_BYTES
from spade_llm.messaging.outgoing_messages import chat_message
from spade_llm.tools.llm_tool import LLMTool
from spade_llm.xmpp.agent import AgentOptions, XmppAgent
from spade_llm.xmpp.spade_adapters import Behaviour, SpadeMessage, SpadeTemplate

if TYPE_CHECKING:
    from spade_llm.assistant.tool_discovery import MessagingAgent
    from spade_llm.compat.documents import Document
    from spade_llm.compat.vector_store import BaseRetriever, RetrieveKeywords

logger = logging.getLogger(__name__)

RETRIEVAL, RETRIEVAL_RESPONSE, RETRIEVAL_ERROR = (
    "retrieval",
    "retrieval_response",
    "retrieval_error",
)
"""Values of the metadata `message_type`."""
MAX_K = 100
MAX_TOOL_K = 20
DESCRIPTION = (
    "Search the knowledge base for passages that help to answer. Use words of the question;"
    " the passages come back with where they are from."
)

IDLE_S = 10.0
MAX_AT_ONCE = 16
RETRIEVAL_TIMEOUT_S = 60.0
MAX_SHOWN_QUERY = 500
"""Maximum length of the query in the metadata of the answer."""


class RetrievalQuery(BaseModel):
    model_config = ConfigDict(frozen=True)

    query: str = Field(min_length=1, max_length=100_000)
    k: int | None = Field(default=None, ge=1, le=MAX_K)
    filters: dict[str, object] | None = None
    search_type: Literal["similarity", "mmr"] = "similarity"


def read_query(body: str) -> RetrievalQuery:
    """Raises InvalidArguments, naming the field."""
    try:
        fields = json.loads(body)
    except ValueError:
        fields = None
    try:
        return RetrievalQuery.model_validate(
            fields if isinstance(fields, dict) else {"query": body}
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidArguments(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def format_documents_for_response(results: Sequence[Document]) -> list[dict[str, object]]:
    return [{"content": one.text, "metadata": dict(one.metadata)} for one in results]


def create_retrieval_response_body(results: Sequence[Document]) -> str:
    return json.dumps({"documents": format_documents_for_response(results)}, default=str)


def fit_into_message(results: Sequence[Document]) -> Sequence[Document]:
    """The best documents, as many as fit into one message."""
    while results and len(create_retrieval_response_body(results).encode()) > MAX_BODY_BYTES:
        results = results[:-1]
    return results


class RetrievalStats(TypedDict):
    total_queries: int
    successful_retrievals: int
    failed_retrievals: int
    total_documents_retrieved: int
    average_retrieval_time: float
    """Seconds; successful retrievals only."""
    last_query_time: float | None
    """Seconds since 1970."""


class RetrievalBehaviour(Behaviour):
    """Behaviour that answers retrieval queries. RetrievalAgent adds it; elsewhere add it with a
    template of `message_type=retrieval`."""

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
        """Replace the retriever, from the next query on."""
        self.retriever = new_retriever

    def set_default_k(self, k: int) -> None:
        """Set the number of documents for queries without `k`."""
        self.default_k = k

    def get_stats(self) -> RetrievalStats:
        """Return a copy of the statistics since the start."""
        return self._stats.copy()

    async def run(self) -> None:
        # Before `receive`: messages that cannot be served yet stay in the behaviour's mailbox.
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
        """Cancel the running queries (SPADE calls it)."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._slots.release()
        if not task.cancelled() and (error := task.exception()):
            logger.error("an answer could not be sent", exc_info=error)

    async def _serve(self, message: SpadeMessage) -> None:
        """Retrieve and reply; an exception of the retriever is logged, and not sent to the peer."""
        self._stats["total_queries"] += 1
        self._stats["last_query_time"] = time.time()
        try:
            query = read_query(message.body or "")
        except InvalidArguments as error:
            await self._reply_error(message, str(error))
            return
        begun = time.perf_counter()
        finding = asyncio.create_task(self._find(query))
        try:
            # Not `wait_for`, which waits on for a retriever that ignores its cancellation.
            await asyncio.wait([finding], timeout=RETRIEVAL_TIMEOUT_S)
        finally:
            # `cancel` returns False only for a task that is done.
            was_in_time = not finding.cancel()
        failure = finding.exception() if was_in_time else TimeoutError()
        if failure is not None:
            logger.error("a retrieval for %s failed", message.sender, exc_info=failure)
            await self._reply_error(message, "the search failed; the reason is in the log")
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
        stats = self._stats
        stats["successful_retrievals"] += 1
        stats["total_documents_retrieved"] += len(sent)
        done, before = stats["successful_retrievals"], stats["average_retrieval_time"]
        stats["average_retrieval_time"] = before + (seconds - before) / done
        facts = {
            "query": query.query[:MAX_SHOWN_QUERY],
            "num_results": str(len(sent)),
            "retrieval_time": f"{seconds:.3f}",
        }
        await self._reply(message, RETRIEVAL_RESPONSE, create_retrieval_response_body(sent), facts)

    async def _reply_error(self, message: SpadeMessage, reason: str) -> None:
        self._stats["failed_retrievals"] += 1
        query = (message.body or "")[: MAX_BODY_BYTES // 16]
        body = json.dumps({"error": reason, "query": query})
        await self._reply(message, RETRIEVAL_ERROR, body, {})

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
    """Agent that answers retrieval queries from a retriever (spade_llm 0.3)."""

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
        """Retriever in use."""
        return self.retrieval_behaviour.retriever

    def update_retriever(self, new_retriever: BaseRetriever) -> None:
        """Replace the retriever, from the next query on."""
        self.retrieval_behaviour.update_retriever(new_retriever)

    def set_default_k(self, k: int) -> None:
        """Set the number of documents for queries without `k`."""
        self.retrieval_behaviour.set_default_k(k)

    def get_retrieval_stats(self) -> RetrievalStats:
        """Return a copy of the statistics since the start."""
        return self.retrieval_behaviour.get_stats()


class _ResponseDocument(BaseModel):
    content: str
    metadata: dict[str, object] = {}


class _ResponseBody(BaseModel):
    documents: list[_ResponseDocument]


class RetrievalTool(LLMTool):
    """Tool that searches the documents of a retrieval agent. LLMAgent calls `set_agent`; other
    programs call it themselves."""

    def __init__(
        self,
        retrieval_agent_jid: str,
        agent_instance: MessagingAgent | None = None,
        default_k: int = 4,
        timeout: float = 30,
        name: str = "retrieve_documents",
        description: str | None = None,
        *,
        k: int | None = None,
    ) -> None:
        """`k`: alias of `default_k`, used in the guides."""
        default_k = k or default_k
        if not 1 <= default_k <= MAX_TOOL_K:
            raise ValueError(f"default_k is {default_k}: give 1 to {MAX_TOOL_K}")
        if not timeout > 0:
            raise ValueError(f"timeout is {timeout}: give seconds above 0")
        super().__init__(
            name,
            description or DESCRIPTION,
            _parameters(default_k),
            self._retrieve,
            timeout_s=timeout + 1,
            asks_others=True,
        )
        self.retrieval_agent_jid = retrieval_agent_jid
        self.agent_instance = agent_instance
        self.default_k = default_k
        self.timeout = timeout

    def set_agent(self, agent_instance: MessagingAgent) -> None:
        """Set the agent that sends the queries."""
        self.agent_instance = agent_instance

    async def _retrieve(
        self, query: str, k: int | None = None, filters: Mapping[str, object] | None = None
    ) -> str:
        if self.agent_instance is None:
            raise ToolFailed("this tool has no agent yet: call set_agent first")
        fields = {"query": query, "k": k or self.default_k}
        body = json.dumps({**fields, **({"filters": dict(filters)} if filters else {})})
        # A thread of its own distinguishes the answer of a SPADE agent from other messages.
        metadata = {MESSAGE_TYPE: RETRIEVAL}
        message = chat_message(self.retrieval_agent_jid, body, thread=new_id(), metadata=metadata)
        try:
            answer = await self.agent_instance.letters.ask(message, timeout_s=self.timeout)
        except RequestError as error:
            raise ToolFailed(f"the documents cannot be searched now: {error}") from error
        if answer.extra.get(MESSAGE_TYPE) == RETRIEVAL_ERROR:
            raise ToolFailed("the search failed for this query; try other words")
        try:
            found = _ResponseBody.model_validate_json(answer.content)
        except ValidationError as error:
            raise ToolFailed("the retrieval agent sent an invalid response") from error
        return json.dumps([one.model_dump() for one in found.documents])


def _parameters(default_k: int) -> dict[str, object]:
    count = {"type": "integer", "minimum": 1, "maximum": MAX_TOOL_K, "default": default_k}
    return {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "What to look for"},
            "k": {**count, "description": f"How many passages; {default_k} if left out"},
            "filters": {"type": "object", "description": "Values that the metadata must have"},
        },
        "required": ["query"],
    }
