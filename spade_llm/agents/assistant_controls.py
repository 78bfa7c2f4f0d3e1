"""Controls of a running assistant: tools, guardrails, conversations, context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.assistant.tool_discovery import bind_tools
from spade_llm.core.errors import ConfigurationError
from spade_llm.tools.local import LocalToolbox
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from spade_llm.agents.interaction_memory import AgentInteractionMemory
    from spade_llm.agents.local_memory import LocalMemory
    from spade_llm.assistant.delegation.expert_questions import ExpertQuestions
    from spade_llm.assistant.history.conversation_cache import ConversationCache
    from spade_llm.assistant.middleware.guardrails import GuardrailMiddleware
    from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
    from spade_llm.context import ContextManagement, ContextStats
    from spade_llm.guardrails import Guardrail
    from spade_llm.memory.agent_memory import AgentBaseMemory
    from spade_llm.messaging.outgoing_messages import OutgoingMessages
    from spade_llm.providers.model import ContextMessage
    from spade_llm.tools import Tool


ALL = "all"


class LiveContext:
    """A conversation is named by its key (`peer`, `peer#thread`), or by its thread alone."""

    def __init__(self, conversations: ConversationCache) -> None:
        self._conversations = conversations

    def get_active_conversations(self) -> list[str]:
        """Least recently used first."""
        return self._conversations.keys()

    def get_conversation_history(self, conversation_id: str) -> list[ContextMessage]:
        found = self._conversations.find(conversation_id)
        return list(found.messages) if found else []

    def clear(self, conversation_id: str) -> None:
        """Forget what was said, here and not in memory; `all`: everywhere."""
        found = self._conversations.find(conversation_id)
        named = [found.key] if found else []
        for key in self._conversations.keys() if conversation_id == ALL else named:
            self._conversations.drop(key)


class AssistantControls(XmppAgent):
    """An assistant as a program looks at it and changes it while it runs; LLMAgent builds it."""

    letters: OutgoingMessages
    experts: ExpertQuestions
    llm_behaviour: LLMBehaviour
    _own_tools: list[Tool]
    _guardrails: GuardrailMiddleware
    _program_memory: LocalMemory

    def add_tool(self, tool: Tool) -> None:
        """Add a tool, offered from the next turn on. Raises ConfigurationError: name in use."""
        if tool.spec.name in (known.spec.name for known in self._own_tools):
            raise ConfigurationError(
                f"duplicate tool name {tool.spec.name!r}; rename one of the tools"
            )
        bind_tools(self, [tool])
        self._own_tools.append(tool)
        self.llm_behaviour.shared_tools.add(LocalToolbox([tool]))

    def get_tools(self) -> list[Tool]:
        """Tools of this process, without those of tool agents."""
        return list(self._own_tools)

    @property
    def tools(self) -> list[Tool]:
        """Tools of this process; `add_tool` adds one."""
        return self.get_tools()

    @property
    def interaction_memory(self) -> AgentInteractionMemory | None:
        return self._program_memory.interaction_memory

    @property
    def agent_base_memory(self) -> AgentBaseMemory | None:
        return self._program_memory.agent_base_memory

    @property
    def input_guardrails(self) -> list[Guardrail]:
        """Input guardrails of the next turn; the list can be changed, and each guardrail
        disabled."""
        return self._guardrails.input_guardrails

    @property
    def output_guardrails(self) -> list[Guardrail]:
        return self._guardrails.output_guardrails

    def add_input_guardrail(self, guardrail: Guardrail) -> None:
        """Append an input guardrail, used from the next turn on."""
        self._guardrails.input_guardrails.append(guardrail)

    def add_output_guardrail(self, guardrail: Guardrail) -> None:
        self._guardrails.output_guardrails.append(guardrail)

    def reset_conversation(self, conversation_id: str) -> bool:
        """Reopen a conversation that has ended, and reset its answer count; its messages stay.
        False if it is not in RAM."""
        conversation = self.llm_behaviour.conversations.find(conversation_id)
        if conversation is not None:
            conversation.begin_anew()
        return conversation is not None

    def get_conversation_state(self, conversation_id: str) -> dict[str, object] | None:
        """`state` (`active`, or why it is over), `interaction_count`; None if it is not in RAM."""
        conversation = self.llm_behaviour.conversations.find(conversation_id)
        if conversation is None:
            return None
        state = conversation.ended or "active"
        return {"state": state, "interaction_count": conversation.interactions}

    @property
    def context(self) -> LiveContext:
        return LiveContext(self.llm_behaviour.conversations)

    def update_context_management(self, context_management: ContextManagement) -> None:
        """Use another strategy from the next turn on."""
        self.llm_behaviour.strategy = context_management

    def get_context_stats(self, conversation_id: str | None = None) -> ContextStats:
        """Size of a conversation as the strategy sees it; default: the longest in RAM. A
        conversation that is not in RAM has no messages."""
        return self.llm_behaviour.context_stats(conversation_id)
