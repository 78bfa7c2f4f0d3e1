"""The tools of all tool agents of a network, as one list. Knows no HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.providers.model import ToolSpec
    from spade_llm.services.tools import ToolsClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    tools: dict[str, tuple[ToolSpec, ToolsClient]]
    """By name, in the agents' order; the first agent that offers a name has it."""
    away: tuple[str, ...]
    """Names of agents that did not say."""


async def offered_by(agents: Sequence[ToolsClient]) -> Offered:
    """Raises RequestError if none of them answers."""
    answers = await asyncio.gather(*map(_listed, agents))
    tools: dict[str, tuple[ToolSpec, ToolsClient]] = {}
    failures: dict[str, RequestError] = {}
    for agent, answer in zip(agents, answers, strict=True):
        if isinstance(answer, RequestError):
            failures[agent.jid.partition("@")[0]] = answer
            continue
        for spec in answer:
            tools.setdefault(spec.name, (spec, agent))
    if failures and len(failures) == len(agents):
        raise next(iter(failures.values()))
    return Offered(tools=tools, away=tuple(failures))


async def _listed(agent: ToolsClient) -> Sequence[ToolSpec] | RequestError:
    try:
        return await agent.list()
    except RequestError as error:
        return error
