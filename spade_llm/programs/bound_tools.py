"""Tools that speak with others themselves: they need the agent that they run in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spade_llm.services.correspondence import Correspondence
    from spade_llm.services.experts import Experts


@runtime_checkable
class Correspondent(Protocol):
    """An agent that asks others by chat messages: LLMAgent, ToolAgent."""

    @property
    def letters(self) -> Correspondence: ...

    @property
    def experts(self) -> Experts: ...


@runtime_checkable
class BoundTool(Protocol):
    def set_agent(self, agent_instance: Correspondent, /) -> None:
        """From now on it speaks as this agent."""
        ...


def bind_tools(agent: Correspondent, tools: Iterable[object]) -> None:
    for tool in tools:
        if isinstance(tool, BoundTool):
            tool.set_agent(agent)
