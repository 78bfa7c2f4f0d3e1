"""Keywords of assistants; controls of a running one: tools, guardrails, conversations, context."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, TypeVar

from spade_llm.agents.local_memory import LocalMemory, MemoryOption, open_local_memory
from spade_llm.assistant.config import AssistantConfig
from spade_llm.assistant.tool_discovery import bind_tools
from spade_llm.context import ContextManagement
from spade_llm.core.arguments import as_tuple, check_keywords, check_methods, check_type, wrong_type
from spade_llm.core.errors import ConfigurationError
from spade_llm.tools.local import LocalToolbox
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spade_llm.agents.interaction_memory import AgentInteractionMemory
    from spade_llm.assistant.delegation.expert_questions import ExpertQuestions
    from spade_llm.assistant.history.conversation_cache import ConversationCache
    from spade_llm.assistant.middleware.guardrails import GuardrailMiddleware
    from spade_llm.assistant.middleware.routing import RoutingFunction
    from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
    from spade_llm.context import ContextStats
    from spade_llm.guardrails import Guardrail
    from spade_llm.guardrails.chain import OnTrigger
    from spade_llm.mcp.server_configs import MCPServerConfig
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


T = TypeVar("T")


class SharedKeywords(TypedDict, total=False):
    """Keywords of LLMAgent and CoordinatorAgent, which override the same settings in `conduct`."""

    tools: Sequence[Tool] | None
    mcp_servers: Sequence[MCPServerConfig] | None
    termination_markers: Sequence[str] | None
    max_interactions_per_conversation: int | None
    on_conversation_end: Callable[[str, str], Awaitable[None] | None] | None
    input_guardrails: Sequence[Guardrail] | None
    output_guardrails: Sequence[Guardrail] | None
    on_guardrail_trigger: OnTrigger | None
    interaction_memory: MemoryOption
    agent_base_memory: MemoryOption
    output_schema: type[BaseModel] | None
    reply_to: str | None
    verify_security: bool


class AssistantKeywords(SharedKeywords, total=False):
    """Keyword arguments of LLMAgent."""

    routing_function: RoutingFunction | None


def memory_from_keywords(jid: str, keywords: AssistantKeywords) -> LocalMemory:
    """Raises ConfigurationError: what is said of it is wrong, or a file is unreadable."""
    return open_local_memory(
        jid,
        interaction_memory=keywords.get("interaction_memory", False),
        agent_base_memory=keywords.get("agent_base_memory", False),
    )


def config_from_keywords(
    keywords: AssistantKeywords, conduct: AssistantConfig | None, memory: LocalMemory
) -> AssistantConfig:
    own = conduct or AssistantConfig()
    return replace(
        own,
        tools=(*_given_tuple_or("tools", keywords.get("tools"), own.tools), *memory.tools),
        notes=memory.notes_about if memory.interaction_memory else own.notes,
        termination_markers=_given_tuple_or(
            "termination_markers", keywords.get("termination_markers"), own.termination_markers
        ),
        max_interactions_per_conversation=_given_or(
            keywords.get("max_interactions_per_conversation"), own.max_interactions_per_conversation
        ),
        on_conversation_end=_given_or(keywords.get("on_conversation_end"), own.on_conversation_end),
        input_guardrails=_given_tuple_or(
            "input_guardrails", keywords.get("input_guardrails"), own.input_guardrails
        ),
        output_guardrails=_given_tuple_or(
            "output_guardrails", keywords.get("output_guardrails"), own.output_guardrails
        ),
        on_guardrail_trigger=_given_or(
            keywords.get("on_guardrail_trigger"), own.on_guardrail_trigger
        ),
        output_schema=_given_or(keywords.get("output_schema"), own.output_schema),
        reply_to=_given_or(keywords.get("reply_to"), own.reply_to),
        routing_function=_given_or(keywords.get("routing_function"), own.routing_function),
    )


def _given_or(value: T | None, otherwise: T) -> T:
    # Not `value or otherwise`: 0 and "" are given on purpose.
    return otherwise if value is None else value


def _given_tuple_or(
    name: str, value: Sequence[T] | None, otherwise: tuple[T, ...]
) -> tuple[T, ...]:
    return otherwise if value is None else as_tuple(value, of=name)


def check_assistant_arguments(
    of: Callable[..., object],
    provider: object,
    context_management: object,
    system_prompt: object,
    *,
    settings: Mapping[str, tuple[object, type]],
    keywords: AssistantKeywords,
) -> None:
    """Raise TypeError with the name of the invalid argument and the fix. `of`: the agent's class.
    `settings`: the other arguments with their classes; None stands for the default. The fourth
    parameter of spade_llm 0.2/0.3 was `reply_to`: a JID in place of a strategy is reported."""
    check_keywords(keywords, AssistantKeywords, of=of)
    if isinstance(provider, str):  # Not shown: it may be the password.
        raise TypeError(
            "LLMAgent: provider is a text: create a model, such as LLMProvider('ollama/llama3.2')"
        )
    fix = "give a model, such as LLMProvider('ollama/llama3.2') or OfflineProvider()"
    check_methods(provider, ("name", "complete", "stream"), of="LLMAgent: provider", fix=fix)
    if context_management is not None and not isinstance(context_management, ContextManagement):
        raise wrong_type(
            context_management,
            of="LLMAgent: context_management",
            fix="give a strategy of spade_llm.context; reply_to is given by keyword, and so is"
            " system_prompt",
        )
    for name, (value, kind) in {"system_prompt": (system_prompt, str), **settings}.items():
        if value is not None:
            check_type(value, kind, of=f"LLMAgent: {name}", fix=f"give {_an(kind)}")


def _an(kind: type) -> str:
    return "a text" if kind is str else f"an object of {kind.__name__}"
