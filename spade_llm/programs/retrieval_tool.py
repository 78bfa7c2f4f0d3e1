"""RetrievalTool: the model searches what a retrieval agent has, ours or one of spade_llm 0.3."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spade_llm.acl import MESSAGE_TYPE, new_id
from spade_llm.errors import RequestError, ToolFailed
from spade_llm.programs.retrieval_body import ASKED, FAILED, query_body, read_found
from spade_llm.services.correspondence import chat_message
from spade_llm.tools.llm_tool import LLMTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.programs.bound_tools import Correspondent

MAX_K = 20
DESCRIPTION = (
    "Search the knowledge base for passages that help to answer. Use words of the question;"
    " the passages come back with where they are from."
)


class RetrievalTool(LLMTool):
    """LLMAgent gives it itself; elsewhere say `set_agent`."""

    def __init__(
        self,
        retrieval_agent_jid: str,
        agent_instance: Correspondent | None = None,
        default_k: int = 4,
        timeout: float = 30,
        name: str = "retrieve_documents",
        description: str | None = None,
        *,
        k: int | None = None,
    ) -> None:
        """`k`: another name of `default_k`, as the guides have it."""
        default_k = k or default_k
        if not 1 <= default_k <= MAX_K:
            raise ValueError(f"default_k is {default_k}: give 1 to {MAX_K}")
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

    def set_agent(self, agent_instance: Correspondent) -> None:
        self.agent_instance = agent_instance

    async def _retrieve(
        self, query: str, k: int | None = None, filters: Mapping[str, object] | None = None
    ) -> str:
        if self.agent_instance is None:
            raise ToolFailed("no agent uses this tool yet: it cannot ask anybody")
        body = query_body(query, k or self.default_k, filters)
        # The thread is this question's own: by it a SPADE agent's answer is told from others.
        metadata = {MESSAGE_TYPE: ASKED}
        message = chat_message(self.retrieval_agent_jid, body, thread=new_id(), metadata=metadata)
        try:
            answer = await self.agent_instance.letters.ask(message, timeout_s=self.timeout)
        except RequestError as error:
            raise ToolFailed(f"the documents cannot be searched now: {error}") from error
        if answer.extra.get(MESSAGE_TYPE) == FAILED:
            raise ToolFailed("the documents could not be searched for this; try other words")
        return json.dumps(read_found(answer.content))


def _parameters(default_k: int) -> dict[str, object]:
    count = {"type": "integer", "minimum": 1, "maximum": MAX_K, "default": default_k}
    return {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "What to look for"},
            "k": {**count, "description": f"How many passages; {default_k} if left out"},
            "filters": {"type": "object", "description": "Values that the metadata must have"},
        },
        "required": ["query"],
    }
