"""Coordinator agent: an LLM agent that delegates tasks to sub-agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from spade_llm.agents.llm import LLMAgent, Services
from spade_llm.assistant.delegation.subagents import (
    TIMEOUT_S,
    PresenceTracker,
    SubAgents,
    coordination_tools,
)
from spade_llm.assistant.turn.prompt import prompt_template
from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.connection.jids import check_agent_jid

if TYPE_CHECKING:
    from spade_llm.agents.constructor_arguments import SharedKeywords
    from spade_llm.assistant.config import AssistantConfig, TurnLimits
    from spade_llm.assistant.middleware.routing import RoutingFunction
    from spade_llm.context import ContextManagement
    from spade_llm.providers.model import ChatModel
    from spade_llm.xmpp.agent import AgentOptions


MARKERS = ("<TASK_COMPLETE>", "<END>", "<DONE>")
"""Default termination markers: the coordinators' models of spade_llm 0.3 end their last answer with
them."""


class CoordinatorAgent(LLMAgent):
    """LLM agent that delegates tasks to sub-agents.

    All requests on behalf of one original sender share one session; answers reach that sender only.

    The first six parameters are those of spade_llm 0.3.
    """

    _goes_on_after_marker = True

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
        config: AssistantConfig | None = None,
        options: AgentOptions | None = None,
        **program: Unpack[SharedKeywords],
    ) -> None:
        self._subagents = _subagents(
            jid, subagent_ids, coordination_session, subagent_response_timeout
        )
        own = config or program.get("conduct")
        if not (own and own.termination_markers):
            # setdefault: an explicit None or () switches the markers off.
            program.setdefault("termination_markers", MARKERS)
        super().__init__(
            jid,
            password,
            provider,
            context_management,
            system_prompt or prompt_template("coordinator"),
            services=services,
            limits=limits,
            config=config,
            options=options,
            routing_function=routing_function,
            **program,
        )
        # After super().__init__: add_tool needs the turn handler.
        for tool in coordination_tools(self._subagents):
            self.add_tool(tool)
        standings = PresenceTracker(self, self._subagents.jids)
        self._subagents.join(self.node, self.letters, standings.of)

    @property
    def subagent_ids(self) -> frozenset[str]:
        """Bare JIDs of the sub-agents."""
        return frozenset(self._subagents.jids)

    @property
    def coordination_session(self) -> str:
        """Session name that every message to a sub-agent carries."""
        return self._subagents.session

    @property
    def subagent_response_timeout(self) -> float:
        """Maximum wait for a sub-agent's answer in seconds."""
        return self._subagents.timeout_s


def _subagents(
    jid: str, subagent_ids: Sequence[str], session: str | None, timeout_s: float
) -> SubAgents:
    # A string is a sequence, too: each character would be taken for a JID.
    if not subagent_ids or isinstance(subagent_ids, str):
        raise ConfigurationError(f"subagent_ids is {subagent_ids!r}: give a list of JIDs")
    for one in subagent_ids:
        check_agent_jid(one, of="subagent_ids")
    # Not `timeout_s <= 0`, which is false for NaN.
    if not timeout_s > 0:
        raise ConfigurationError(f"subagent_response_timeout is {timeout_s}: give seconds above 0")
    session = session or f"coordination_{jid.partition('@')[0]}"
    return SubAgents(subagent_ids, session=session, timeout_s=timeout_s)
