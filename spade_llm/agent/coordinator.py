"""CoordinatorAgent: an assistant whose model gives tasks to other agents. Composition only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from spade_llm.agent.llm import LLMAgent, Services
from spade_llm.agent.standing import Standings
from spade_llm.behaviour.ending import Ending
from spade_llm.conversation.prompt_files import prompt_text
from spade_llm.errors import ConfigurationError
from spade_llm.services.coordination_tools import coordination_tools
from spade_llm.services.subagents import TIMEOUT_S, SubAgents
from spade_llm.xmpp.jids import is_jid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.behaviour.conduct import Conduct
    from spade_llm.context import ContextManagement
    from spade_llm.conversation.turn import TurnLimits
    from spade_llm.programs.assistant import SharedKeywords
    from spade_llm.providers.model import ChatModel
    from spade_llm.routing import RoutingFunction
    from spade_llm.xmpp.agent import AgentOptions


MARKERS = ("<TASK_COMPLETE>", "<END>", "<DONE>")
"""What the models of spade_llm 0.3's coordinators end their last answer with, if nothing else is
named."""


class CoordinatorAgent(LLMAgent):
    """What is asked for one original asker is one session; answers reach that asker only.

    The first six parameters are those of spade_llm 0.3.
    """

    def __init__(
        self,
        jid: str,
        password: str,
        subagent_ids: Sequence[str],
        coordination_session: str | None = None,
        routing_function: RoutingFunction | None = None,
        subagent_response_timeout: float = TIMEOUT_S,
        *,
        provider: ChatModel,
        context_management: ContextManagement | None = None,
        system_prompt: str | None = None,
        services: Services | None = None,
        limits: TurnLimits | None = None,
        conduct: Conduct | None = None,
        options: AgentOptions | None = None,
        **program: Unpack[SharedKeywords],
    ) -> None:
        self._subagents = _subagents(
            jid, subagent_ids, coordination_session, subagent_response_timeout
        )
        if not (conduct and conduct.termination_markers):
            program.setdefault("termination_markers", MARKERS)
        super().__init__(
            jid,
            password,
            provider,
            context_management,
            system_prompt or prompt_text("coordinator"),
            services=services,
            limits=limits,
            conduct=conduct,
            options=options,
            routing_function=routing_function,
            **program,
        )
        for tool in coordination_tools(self._subagents):
            self.add_tool(tool)
        standings = Standings(self, self._subagents.jids)
        self._subagents.join(self.node, self.letters, standings.of)

    def _ending(self, conduct: Conduct) -> Ending:
        """A marker ends a task, and the next one may follow."""
        return Ending(
            max_interactions=conduct.max_interactions_per_conversation,
            on_end=conduct.on_conversation_end,
            goes_on=True,
        )

    @property
    def subagent_ids(self) -> frozenset[str]:
        return frozenset(self._subagents.jids)

    @property
    def coordination_session(self) -> str:
        """What every message to a sub-agent names."""
        return self._subagents.session

    @property
    def subagent_response_timeout(self) -> float:
        return self._subagents.timeout_s


def _subagents(
    jid: str, subagent_ids: Sequence[str], session: str | None, timeout_s: float
) -> SubAgents:
    if not subagent_ids or isinstance(subagent_ids, str):
        raise ConfigurationError(f"subagent_ids is {subagent_ids!r}: give a list of JIDs")
    for one in subagent_ids:
        if not is_jid(one):
            raise ConfigurationError(f"subagent_ids: {one!r} is no JID: write name@domain")
    if not timeout_s > 0:
        raise ConfigurationError(f"subagent_response_timeout is {timeout_s}: give seconds above 0")
    session = session or f"coordination_{jid.partition('@')[0]}"
    return SubAgents(subagent_ids, session=session, timeout_s=timeout_s)
