"""Bound tools: tools that send messages as the agent that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spade_llm.assistant.delegation.expert_questions import ExpertQuestions
    from spade_llm.messaging.outgoing_messages import OutgoingMessages


@runtime_checkable
class MessagingAgent(Protocol):
    """An agent that asks others by chat messages: LLMAgent, ToolAgent."""

    @property
    def letters(self) -> OutgoingMessages: ...

    @property
    def experts(self) -> ExpertQuestions: ...


@runtime_checkable
class BoundTool(Protocol):
    def set_agent(self, agent_instance: MessagingAgent, /) -> None:
        """Set the agent that the tool sends messages as."""
        ...


def bind_tools(agent: MessagingAgent, tools: Iterable[object]) -> None:
    for tool in tools:
        if isinstance(tool, BoundTool):
            tool.set_agent(agent)
