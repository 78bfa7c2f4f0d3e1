"""The tools by which a coordinator's model asks its sub-agents. Knows no wire."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.errors import RequestError, ToolFailed
from spade_llm.tools.llm_tool import LLMTool
from spade_llm.tools.toolbox import current_context

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.services.subagents import SubAgents
    from spade_llm.tools.llm_tool import Tool

MARGIN_S = 15.0
"""Beside the time for an answer: the agent's silence is told, not the tool's."""
MAX_TASKS = 20
"""That one call gives out at once."""
MAX_MESSAGE_CHARS = 30_000


def coordination_tools(agents: SubAgents) -> tuple[Tool, ...]:
    tasks = _Tasks(agents)
    task = _task_of(agents.jids)
    limit_s = agents.timeout_s + MARGIN_S
    return (
        LLMTool(
            "send_to_agent",
            "Give a task to one agent and wait for its answer.",
            task,
            tasks.send,
            timeout_s=limit_s,
            asks_others=True,
        ),
        LLMTool(
            "send_to_agents_parallel",
            "Give tasks to several agents at once and wait for all answers: for tasks that do not"
            " need each other's results.",
            _object(tasks={"type": "array", "minItems": 1, "maxItems": MAX_TASKS, "items": task}),
            tasks.send_all,
            timeout_s=limit_s,
            asks_others=True,
        ),
        LLMTool(
            "list_subagents",
            "List the agents that can be asked, and whether each is idle, working, away, or did"
            " not answer in time.",
            _object(),
            tasks.list,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Tasks:
    agents: SubAgents

    async def send(self, agent_id: str, message: str) -> str:
        try:
            return await self._answer(agent_id, message)
        except RequestError as error:
            raise ToolFailed(f"no answer from {agent_id}: {error.detail}") from error

    async def send_all(self, tasks: Sequence[Mapping[str, str]]) -> str:
        """What went wrong with one of them stands beside the others' answers."""
        return "\n\n".join(await asyncio.gather(*map(self._line, tasks)))

    async def list(self) -> str:
        states = (await self.agents.states()).items()
        lines = "\n".join(f"- {jid}: {state}" for jid, state in states)
        return f"Agents of the session {self.agents.session}:\n{lines}"

    async def _line(self, task: Mapping[str, str]) -> str:
        try:
            return await self._answer(task["agent_id"], task["message"])
        except RequestError as error:
            return f"No answer from {task['agent_id']}: {error.detail}"

    async def _answer(self, agent_id: str, message: str) -> str:
        asker = current_context.get().on_behalf_of
        answer = await self.agents.ask(agent_id, message, asker=asker)
        return f"Response from {agent_id}: {answer}"


def _task_of(jids: Sequence[str]) -> dict[str, object]:
    return _object(
        agent_id={"type": "string", "enum": list(jids), "description": "Which agent."},
        message={
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_MESSAGE_CHARS,
            "description": "The whole task: the agent sees nothing of the conversation.",
        },
    )


def _object(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties)}
