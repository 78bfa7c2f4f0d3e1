"""A coordinator with sub-agents of both kinds: ours, and plain SPADE programs."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from spade.behaviour import CyclicBehaviour

from spade_llm.agents import CoordinatorAgent
from spade_llm.core.errors import ConfigurationError
from spade_llm.providers.model import Completion
from spade_llm.providers.scripted import ScriptedProvider
from tests.integration.network import answer_to, calling, eventually, jid_of
from tests.integration.test_spade_agents import plain_agent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.providers.model import ContextMessage, ToolSpec
    from tests.integration.network import Network


class Worker(CyclicBehaviour):  # type: ignore[misc]  # SPADE has no types
    """A plain SPADE program: answers by SPADE's own `make_reply`, last come, first served."""

    def __init__(self, batch: int) -> None:
        super().__init__()
        self.batch = batch
        self.heard: list[Any] = []

    async def run(self) -> None:
        waiting: list[Any] = []
        while len(waiting) < self.batch:
            if message := await self.receive(timeout=1):
                waiting.append(message)
        self.heard.extend(waiting)
        for message in reversed(waiting):
            reply = message.make_reply()
            reply.body = f"plain: {message.body}"
            await self.send(reply)


def model_for(jids: Sequence[str]) -> ScriptedProvider:
    """Gives what it is told to all sub-agents at once, and says what they answered."""

    def think(messages: Sequence[ContextMessage], _tools: Sequence[ToolSpec]) -> Completion:
        last = messages[-1]
        text = str(last["content"])
        if last["role"] == "tool":
            return Completion(text=text)
        if text == "list":
            return calling("list_subagents")
        tasks = [{"agent_id": jid, "message": text} for jid in jids]
        return calling("send_to_agents_parallel", json.dumps({"tasks": tasks}))

    return ScriptedProvider([think] * 100)


async def coordinator_of(network: Network, jids: Sequence[str]) -> CoordinatorAgent:
    jid = await network.account("coordinator")
    agent = CoordinatorAgent(
        jid,
        network.passwords[jid],
        list(jids),
        "city",
        provider=model_for(jids),
        options=network.options(jid),
    )
    return await network.start(agent)


async def test_askers_get_the_answers_to_their_own_tasks_from_both_kinds(
    network: Network,
) -> None:
    plain, ours = await plain_agent(network), await network.assistant()
    worker = Worker(batch=2)
    plain.add_behaviour(worker)
    jids = [str(plain.jid), jid_of(ours)]
    coordinator = await coordinator_of(network, jids)
    ada, bob = await network.person("ada"), await network.person("bob")

    answers = await asyncio.gather(
        answer_to(ada, coordinator, "count the cars"),
        answer_to(bob, coordinator, "count the trams"),
    )

    for answer, task in zip(answers, ("count the cars", "count the trams"), strict=True):
        assert f"Response from {jids[0]}: plain: {task}" in answer
        assert f"Response from {jids[1]}: {task}" in answer
    assert {one.get_metadata("coordination_session") for one in worker.heard} == {"city"}
    assert {one.get_metadata("message_type") for one in worker.heard} == {"llm"}


async def test_a_sub_agent_that_has_left_is_said_to_be_away(network: Network) -> None:
    ours = await network.assistant()
    coordinator = await coordinator_of(network, [jid_of(ours)])
    ada = await network.person("ada")
    assert "hello" in await answer_to(ada, coordinator, "hello")

    await ours.stop()

    async def is_away() -> bool:
        return "away" in await answer_to(ada, coordinator, "list")

    await eventually(is_away)
    assert await answer_to(ada, coordinator, "hello") == (
        f"No answer from {jid_of(ours)}: {jid_of(ours)} is away"
    )


def test_a_coordinator_without_sub_agents_is_an_error_that_says_so() -> None:
    with pytest.raises(ConfigurationError, match="subagent_ids"):
        CoordinatorAgent("c@x", "p", [], provider=ScriptedProvider.echo())
    with pytest.raises(ConfigurationError, match="subagent_ids is 'maths agent@x'"):
        CoordinatorAgent("c@x", "p", ["maths agent@x"], provider=ScriptedProvider.echo())
