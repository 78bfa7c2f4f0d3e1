"""Replicas of an assistant, as its gateway shows them: `/metrics`, and the console's agents."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx
import pytest

from spade_llm.agents import GatewayAgent, LLMAgent
from spade_llm.core.database import DatabaseUrl
from spade_llm.gateway.agent_clients import AgentAddresses
from spade_llm.gateway.metrics import Metrics
from spade_llm.gateway.options import HttpOptions
from spade_llm.messaging.agent_status import AgentStatus, ReplicaLoad
from spade_llm.providers.scripted import ScriptedProvider
from tests.gateway.web import TIMEOUT_S
from tests.integration.network import Network, answer_to, eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Provisioner
    from tests.postgres_server import PostgresProcess

ASSISTANT = AgentStatus(
    kind="assistant",
    summary="answers",
    replicas=(
        ReplicaLoad(name="one", conversations=3, takeovers=2),
        ReplicaLoad(name="two", conversations=1, is_leaving=True),
    ),
)
MEMORY = AgentStatus(kind="memory", summary="remembers")


def test_metrics_have_a_series_for_each_living_replica() -> None:
    metrics = Metrics()

    before = metrics.text({"assistant@home": ASSISTANT, "memory@home": MEMORY}).decode()
    after = metrics.text({"assistant@home": None, "memory@home": MEMORY}).decode()

    assert [line for line in before.splitlines() if line.startswith("spade_llm_replica")] == [
        'spade_llm_replica_conversations{agent="assistant",replica="one"} 3.0',
        'spade_llm_replica_conversations{agent="assistant",replica="two"} 1.0',
        'spade_llm_replica_takeovers_total{agent="assistant",replica="one"} 2.0',
        'spade_llm_replica_takeovers_total{agent="assistant",replica="two"} 0.0',
    ]
    assert "# TYPE spade_llm_replica_takeovers_total counter" in before
    assert 'spade_llm_agent_replicas{agent="assistant"} 2.0' in before
    assert 'spade_llm_agent_replicas{agent="memory"}' not in before
    assert 'spade_llm_agent_available{agent="assistant"} 0.0' in after
    assert 'replica="one"' not in after
    assert [ASSISTANT.share_of(one) for one in ASSISTANT.replicas] == [0.75, 0.25]


@pytest.mark.thorough
async def test_a_gateway_shows_the_replicas_of_its_assistant(
    prosody: Provisioner, postgres: PostgresProcess, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        network = Network(server=prosody, directory=tmp_path, stack=stack)
        jid, own = await network.account("assistant"), await network.account("gateway")
        network.gateways = (own,)
        replicas = [_replica(network, jid, postgres, tmp_path / name) for name in "ab"]
        for one in replicas:
            await network.start(one)
        http = await _gateway(network, own, jid)
        people = [await network.person(name) for name in ("ada", "bob", "cleo")]
        for person in people:
            await answer_to(person, replicas[0], "hello")

        async def all_are_counted() -> bool:
            return _total(await _metrics(http), "replica_conversations") == len(people)

        async def one_is_left() -> bool:
            return _total(await _metrics(http), "agent_replicas") == 1

        await eventually(all_are_counted)
        (agent,) = (await http.get("/api/v0/agents")).json()["agents"]
        text = await _metrics(http)
        await replicas[1].stop()
        await eventually(one_is_left)

    assert _total(text, "agent_replicas") == 2
    assert len(re.findall("^spade_llm_replica_takeovers_total", text, re.M)) == 2
    assert sum(one["conversations"] for one in agent["replicas"]) == len(people)
    assert sum(one["share"] for one in agent["replicas"]) == pytest.approx(1, abs=0.01)


def _replica(network: Network, jid: str, postgres: PostgresProcess, data: Path) -> LLMAgent:
    data.mkdir()
    options = replace(
        network.options(jid), data=data, database=DatabaseUrl(postgres.url()), is_replica=True
    )
    return LLMAgent(jid, network.passwords[jid], ScriptedProvider.echo(), options=options)


async def _gateway(network: Network, own: str, assistant: str) -> httpx.AsyncClient:
    agent = GatewayAgent(
        own,
        network.passwords[own],
        addresses=AgentAddresses(assistants=(assistant,)),
        http=HttpOptions(port=0, local_principal=own),
        options=network.options(own),
    )
    await network.start(agent)
    client = httpx.AsyncClient(base_url=agent.url, timeout=TIMEOUT_S, trust_env=False)
    return await network.stack.enter_async_context(client)


async def _metrics(http: httpx.AsyncClient) -> str:
    return (await http.get("/metrics")).text


def _total(text: str, name: str) -> float:
    """Sum of the series of a metric."""
    return sum(float(one) for one in re.findall(rf"^spade_llm_{name}\{{.*\}} (.+)$", text, re.M))
