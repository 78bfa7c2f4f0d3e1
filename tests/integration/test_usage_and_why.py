"""What an assistant says of its turns on the wire: /why and /usage for people, ops for programs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import AssistantConfig, LLMAgent
from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.middleware.quota import PeerQuota
from spade_llm.core.errors import ConfigurationError, RequestRefused
from spade_llm.core.tracing import TracingConfig
from spade_llm.providers import ScriptedProvider
from tests.integration.network import answer_to, jid_of

if TYPE_CHECKING:
    from tests.integration.network import Network

pytestmark = pytest.mark.server


async def a_limited_assistant(network: Network, limits: PeerQuota) -> LLMAgent:
    jid = await network.account("assistant")
    agent = LLMAgent(
        jid,
        network.passwords[jid],
        ScriptedProvider.echo(),
        config=AssistantConfig(peer_limits=limits),
        options=network.options(jid),
    )
    return await network.start(agent)


async def test_a_person_asks_why_and_what_was_used(network: Network) -> None:
    assistant = await network.assistant()
    ada = await network.person("ada")

    await answer_to(ada, assistant, "hello")

    assert "Model: scripted" in await answer_to(ada, assistant, "/why")
    assert "Today – answers: 1, model calls: 1" in await answer_to(ada, assistant, "/usage")


async def test_a_program_gets_both_as_records_and_only_its_own(network: Network) -> None:
    assistant = await network.assistant()
    program, other = await asyncio.gather(network.program("one"), network.program("two"))
    mine = ChatClient(program.node.requester, jid_of(assistant))
    others = ChatClient(other.node.requester, jid_of(assistant))

    await mine.say("hello", conversation_id="c")
    why = await mine.why(conversation_id="c")
    report = await mine.usage(days=1)

    assert [call.model for call in why.record.models] == ["scripted"]
    assert why.record.read_messages == 1
    assert [(day.peer, day.spent.turns) for day in report.days] == [(jid_of(program), 1)]
    assert (await others.usage()).days == ()
    for client, conversation in ((others, "c"), (mine, "d")):
        with pytest.raises(RequestRefused) as refused:
            await client.why(conversation_id=conversation)
        assert refused.value.wire_code == "not-found"


async def test_an_exceeded_daily_quota_is_reported_to_people_and_programs(network: Network) -> None:
    assistant = await a_limited_assistant(network, PeerQuota(turns=1))
    ada, program = await asyncio.gather(network.person("ada"), network.program())
    client = ChatClient(program.node.requester, jid_of(assistant))
    await answer_to(ada, assistant, "hello")
    await client.say("hello")

    with pytest.raises(RequestRefused) as refused:
        await client.say("and again")

    assert refused.value.wire_code == "quota-reached"
    assert "share of today's answers" in await answer_to(ada, assistant, "and again")
    assert "Allowed: 1 answers a day" in await answer_to(ada, assistant, "/usage")
    assert (await client.usage()).limits == PeerQuota(turns=1)


async def test_variables_of_opentelemetry_that_fit_nothing_end_the_start_with_a_sentence(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1000000")
    jid = await network.account("assistant")
    options = replace(network.options(jid), telemetry=TracingConfig(endpoint="http://127.0.0.1:9"))
    agent = LLMAgent(jid, network.passwords[jid], ScriptedProvider.echo(), options=options)

    with pytest.raises(ConfigurationError, match="OTEL_….* max_export_batch_size"):
        await agent.start()
