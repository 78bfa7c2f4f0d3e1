"""Retrieval tool and message bodies: searches the documents of a retrieval agent.

`message_type=retrieval`: the body is JSON `{query, k, filters, search_type}`, or the query as text.
`retrieval_response`: `{"documents": [{content, metadata}]}`; `retrieval_error`: `{error, query}`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spade_llm.core.errors import InvalidArguments, RequestError, ToolFailed
from spade_llm.messaging import MESSAGE_TYPE, new_id
from spade_llm.messaging.body import MAX_BODY_BYTES
from spade_llm.messaging.outgoing_messages import chat_message
from spade_llm.tools.llm_tool import LLMTool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.agents.bound_tools import MessagingAgent
    from spade_llm.compat.documents import Document

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


class RetrievalQuery(BaseModel):
    model_config = ConfigDict(frozen=True)

    query: str = Field(min_length=1, max_length=100_000)
    k: int | None = Field(default=None, ge=1, le=MAX_K)
    filters: dict[str, object] | None = None
    search_type: Literal["similarity", "mmr"] = "similarity"


def read_query(body: str) -> RetrievalQuery:
    """Raises InvalidArguments; names the field."""
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    try:
        return RetrievalQuery.model_validate(said if isinstance(said, dict) else {"query": body})
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidArguments(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def query_body(query: str, k: int, filters: Mapping[str, object] | None) -> str:
    return json.dumps({"query": query, "k": k, **({"filters": dict(filters)} if filters else {})})


def read_response(body: str) -> list[dict[str, object]]:
    """The documents of a response. Raises ToolFailed: it holds none that can be read."""
    try:
        found = _ResponseBody.model_validate_json(body)
    except ValidationError as error:
        raise ToolFailed("the retrieval agent answered with something else") from error
    return [one.model_dump() for one in found.documents]


def format_documents_for_response(results: Sequence[Document]) -> list[dict[str, object]]:
    return [{"content": one.text, "metadata": dict(one.metadata)} for one in results]


def create_retrieval_response_body(results: Sequence[Document]) -> str:
    return json.dumps({"documents": format_documents_for_response(results)}, default=str)


def fit_into_message(results: Sequence[Document]) -> Sequence[Document]:
    """The best of them, as many as one message carries."""
    while results and len(create_retrieval_response_body(results).encode()) > MAX_BODY_BYTES:
        results = results[:-1]
    return results


def error_body(reason: str, query: str) -> str:
    return json.dumps({"error": reason, "query": query[: MAX_BODY_BYTES // 16]})


class RetrievalTool(LLMTool):
    """LLMAgent gives it itself; elsewhere say `set_agent`."""

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
        """`k`: another name of `default_k`, as the guides have it."""
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
        self.agent_instance = agent_instance

    async def _retrieve(
        self, query: str, k: int | None = None, filters: Mapping[str, object] | None = None
    ) -> str:
        if self.agent_instance is None:
            raise ToolFailed("no agent uses this tool yet: it cannot ask anybody")
        body = query_body(query, k or self.default_k, filters)
        # The thread is this question's own: by it a SPADE agent's answer is told from others.
        metadata = {MESSAGE_TYPE: RETRIEVAL}
        message = chat_message(self.retrieval_agent_jid, body, thread=new_id(), metadata=metadata)
        try:
            answer = await self.agent_instance.letters.ask(message, timeout_s=self.timeout)
        except RequestError as error:
            raise ToolFailed(f"the documents cannot be searched now: {error}") from error
        if answer.extra.get(MESSAGE_TYPE) == RETRIEVAL_ERROR:
            raise ToolFailed("the documents could not be searched for this; try other words")
        return json.dumps(read_response(answer.content))


class _ResponseDocument(BaseModel):
    content: str
    metadata: dict[str, object] = {}


class _ResponseBody(BaseModel):
    documents: list[_ResponseDocument]


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
