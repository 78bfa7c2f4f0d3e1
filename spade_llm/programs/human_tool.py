"""HumanInTheLoopTool: spade_llm 0.3's name for a tool that asks one person by chat.

The question carries what programs for experts know it by: `type=human_query`, `query_id`, and a
thread that is the query's id. Any chat client can answer it, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import RequestError, RequestTimeout, ToolFailed
from spade_llm.services.expert_tool import MARGIN_S, PARAMETERS
from spade_llm.services.experts import ExpertQuestion
from spade_llm.tools.llm_tool import LLMTool
from spade_llm.tools.toolbox import current_context

if TYPE_CHECKING:
    from spade_llm.programs.bound_tools import Correspondent

DESCRIPTION = (
    "Ask a human expert by chat and wait for the answer: for what needs a person's judgement or"
    " knowledge, or what is not clear. One whole question at a time."
)


def query_metadata(id: str) -> dict[str, str]:
    return {"type": "human_query", "query_id": id}


class HumanInTheLoopTool(LLMTool):
    """An agent that takes it as one of its tools says `set_agent` itself."""

    def __init__(
        self,
        human_expert_jid: str,
        timeout: float = 300.0,
        name: str = "ask_human_expert",
        description: str | None = None,
    ) -> None:
        if not timeout > 0:
            raise ValueError(f"timeout is {timeout}: give seconds above 0")
        super().__init__(
            name,
            description or DESCRIPTION,
            PARAMETERS,
            self._ask_expert,
            timeout_s=timeout + MARGIN_S,
            asks_others=True,
        )
        self.human_expert_jid = human_expert_jid
        self.timeout = timeout
        self._agent: Correspondent | None = None

    def set_agent(self, agent_instance: Correspondent, /) -> None:
        self._agent = agent_instance

    async def _ask_expert(self, question: str, context: str | None = None) -> str:
        if self._agent is None:
            raise ToolFailed("Error: no agent uses this tool yet: it cannot ask anybody")
        asked = ExpertQuestion(
            expert=self.human_expert_jid,
            text=question,
            background=context or "",
            seconds=self.timeout,
            metadata_of=query_metadata,
        )
        try:
            return await self._agent.experts.ask(asked, context=current_context.get())
        except RequestTimeout as error:
            raise ToolFailed(f"Timeout: no answer within {self.timeout:g} s") from error
        except RequestError as error:
            raise ToolFailed(f"Error: the expert could not be asked: {error.detail}") from error
