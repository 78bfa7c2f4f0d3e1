"""Human interaction behaviour: asks a person one question, in any SPADE agent.

`response` is the answer, or None. An agent that is not of this package needs a template of
`thread=query_id`, and an expert with a client that answers in the thread.
"""

from __future__ import annotations

import logging
import time

from spade_llm.agents.bound_tools import MessagingAgent
from spade_llm.assistant.delegation.expert_question_log import expert_question_text
from spade_llm.assistant.delegation.expert_questions import ExpertQuestion
from spade_llm.compat.tools import query_metadata
from spade_llm.core.errors import RequestError
from spade_llm.messaging import bare, new_id
from spade_llm.tools.toolbox import NO_CONTEXT
from spade_llm.xmpp.spade_adapters import OneShotBehaviour, SpadeMessage

logger = logging.getLogger(__name__)


class HumanInteractionBehaviour(OneShotBehaviour):
    def __init__(
        self, human_jid: str, question: str, context: str | None = None, timeout: float = 300.0
    ) -> None:
        super().__init__()
        self.human_jid = human_jid
        self.question = question
        self.context = context
        self.timeout = timeout
        self.query_id = new_id()[:12]
        self.response: str | None = None

    async def run(self) -> None:
        if isinstance(self.agent, MessagingAgent):
            self.response = await self._ask_through_agent(self.agent)
        else:
            await self.send(self._message())
            self.response = await self._answer()
        if self.response is None:
            logger.warning("%s gave no answer to %s", self.human_jid, self.query_id)

    async def _ask_through_agent(self, agent: MessagingAgent) -> str | None:
        question = ExpertQuestion(
            expert=self.human_jid,
            text=self.question,
            background=self.context or "",
            seconds=self.timeout,
            id=self.query_id,
            metadata_of=query_metadata,
        )
        try:
            return await agent.experts.ask(question, context=NO_CONTEXT)
        except RequestError as error:
            logger.info("%s: %s", self.query_id, error)
            return None

    def _message(self) -> SpadeMessage:
        text = expert_question_text(
            self.question, self.context or "", asker="", seconds=self.timeout
        )
        metadata = query_metadata(self.query_id)
        return SpadeMessage(to=self.human_jid, body=text, thread=self.query_id, metadata=metadata)

    async def _answer(self) -> str | None:
        """Wait for the expert's answer, ignoring others in the thread; None at the timeout."""
        ends_at = time.monotonic() + self.timeout
        while (left_s := ends_at - time.monotonic()) > 0:
            message = await self.receive(timeout=left_s)
            if message is not None and bare(str(message.sender)) == bare(self.human_jid).lower():
                return str(message.body)
        return None
