"""Two servers of two domains: agents of one use those of the other, as far as they are let."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import fromstring

import pytest
import pytest_asyncio

from spade_llm.agents import AgentOptions, ChatAgent, Services, ToolAgent
from spade_llm.core.errors import PeerUnavailable, RequestRefused, RequestTimeout, Unauthorised
from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.search.memory_query import MemoryFilter
from spade_llm.tools.remote import ToolsClient
from spade_llm.tools.toolbox import Terms, ToolRules
from spade_llm.xmpp.features import bounced_answers
from tests.conftest import PASSWORD
from tests.integration.federated import ONE, TWO, Member, federated_servers
from tests.integration.network import (
    PATIENCE_S,
    Network,
    answer_to,
    calling,
    context_of,
    eventually,
    jid_of,
    next_message,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

QUICKLY_S = 10.0
"""Far below a request's deadline: the server says no, nobody waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    one: Network
    two: Network
    members: dict[str, Member]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def members(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[str, Member]]:
    async with federated_servers(tmp_path_factory.mktemp("federation")) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def pair(members: dict[str, Member], tmp_path: Path) -> AsyncIterator[Pair]:
    for name in (ONE, TWO):
        (tmp_path / name).mkdir()
    async with AsyncExitStack() as stack:
        one, two = (
            Network(server=members[name].provisioner, directory=tmp_path / name, stack=stack)
            for name in (ONE, TWO)
        )
        yield Pair(one=one, two=two, members=members)


async def tools_for(network: Network, *allowed: str) -> ToolAgent:
    """Its tools may be called by these, and by nobody else."""
    jid = await network.account("tools")
    rules = ToolRules(defaults=Terms(allowed=frozenset(allowed)))
    agent = ToolAgent(jid, network.passwords[jid], rules=rules, options=network.options(jid))
    return await network.start(agent)


def memory_of(program: ChatAgent, jid: str, *, timeout_s: float = PATIENCE_S) -> MemoryClient:
    return MemoryClient(program.node.requester, jid, timeout_s=timeout_s)


async def namesake(network: Network) -> ChatAgent:
    """There is a `sam` on each server."""
    jid = f"sam@{network.server.endpoint.domain}"
    await network.server.server.create_account(jid, PASSWORD)
    options = AgentOptions(connection=network.connection())
    return await network.start(ChatAgent(jid, PASSWORD, options=options))


async def test_an_assistant_uses_memory_and_tools_of_another_server(pair: Pair) -> None:
    memory = jid_of(await pair.two.memory())
    tools = jid_of(await tools_for(pair.two, ONE))
    model = ScriptedProvider(
        [
            calling("store_memory", '{"category": "fact", "content": "Ada likes green tea"}'),
            calling("calculator", '{"expression": "12 * 12"}'),
            "Done.",
            "Tea.",
        ]
    )
    assistant = await pair.one.assistant(model, services=Services(memory=memory, tools=(tools,)))
    ada = await pair.one.person()

    ada.send(jid_of(assistant), "I like green tea, and what is 12 * 12?")
    first = str((await next_message(ada))["body"])
    ada.send(jid_of(assistant), "Which drink was it, green or black?")
    await next_message(ada)

    assert first == "Done."
    assert "144" in context_of(model.requests[2].messages)
    assert "Ada likes green tea" in context_of(model.requests[3].messages)


async def test_jids_without_permission_are_refused_with_a_reason(pair: Pair) -> None:
    tools = jid_of(await tools_for(pair.two, TWO))
    stranger = await pair.one.program()
    client = ToolsClient(stranger.node.requester, tools, timeout_s=PATIENCE_S)

    with pytest.raises(Unauthorised, match=f"{jid_of(stranger)} may not call 'calculator'"):
        await client.call("calculator", {"expression": "1 + 1"})

    assert list(await client.list()) == []


async def test_memories_belong_to_the_whole_jid_and_are_shared_by_grant_only(pair: Pair) -> None:
    memory = jid_of(await pair.two.memory())
    near, far = await namesake(pair.two), await namesake(pair.one)
    await memory_of(near, memory).add(MemoryDraft(content="The near one keeps a black cat"))

    before = (await memory_of(far, memory).list()).entries
    with pytest.raises(RequestRefused):
        await memory_of(far, memory).list(MemoryFilter(of=jid_of(near)))
    await memory_of(near, memory).grant(jid_of(far))
    after = (await memory_of(far, memory).list(MemoryFilter(of=jid_of(near)))).entries

    assert list(before) == []
    assert [entry.content for entry in after] == ["The near one keeps a black cat"]


async def test_a_server_that_is_down_is_said_at_once_and_found_again_by_itself(pair: Pair) -> None:
    memory = jid_of(await pair.two.memory())
    assistant = await pair.one.assistant(services=Services(memory=memory))
    program, ada = await pair.one.program(), await pair.one.person()
    await memory_of(program, memory).add(MemoryDraft(content="kept before the outage"))
    server = pair.members[TWO].server
    assert server.pid is not None

    os.kill(server.pid, signal.SIGKILL)
    await server.wait_failed()
    async with asyncio.timeout(QUICKLY_S):
        with pytest.raises(PeerUnavailable):
            await memory_of(program, memory).list()
    ada.send(jid_of(assistant), "are you there?")
    meanwhile = str((await next_message(ada))["body"])
    await server.start()

    async def is_back() -> bool:
        try:
            found = (await memory_of(program, memory).list()).entries
        except PeerUnavailable:
            return False
        return [entry.content for entry in found] == ["kept before the outage"]

    await eventually(is_back)
    assert "are you there?" in meanwhile


async def test_an_answer_that_found_the_other_server_away_is_said_again(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounced_answers, "FIRST_PAUSE_S", 0.01)
    ada, assistant = await pair.two.person(), await pair.one.assistant()
    assert await answer_to(ada, assistant, "hello") == "hello"
    ada.send(jid_of(assistant), "are you there?")
    first = await next_message(ada)
    returned = fromstring(
        f"<message xmlns='jabber:client' type='error' from='{ada.jid}' id='{first['id']}'>"
        "<error type='wait'><remote-server-timeout"
        " xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>"
    )

    assert any(take(returned) for take in assistant.message_filters)
    again = await next_message(ada)

    assert (again["id"], again["body"]) == (first["id"], "are you there?")
    assert ada.waiting() == []


async def test_messages_over_a_dead_federation_link_are_processed_once_later(
    pair: Pair,
) -> None:
    memory = jid_of(await pair.two.memory())
    program = await pair.one.program()
    await memory_of(program, memory).add(MemoryDraft(content="said before"))
    line = pair.members[TWO].line

    line.hold()
    adding = asyncio.create_task(
        memory_of(program, memory).add(MemoryDraft(content="said into it"), key="once")
    )
    await asyncio.wait_for(line.holds_something.wait(), PATIENCE_S)
    with pytest.raises(RequestTimeout):
        await memory_of(program, memory, timeout_s=1).list()
    line.cut()
    line.let_go()
    with suppress(PeerUnavailable):  # what a server cannot deliver it returns; asked again:
        await adding
    await memory_of(program, memory).add(MemoryDraft(content="said into it"), key="once")

    entries = (await memory_of(program, memory).list()).entries
    assert sorted(entry.content for entry in entries) == ["said before", "said into it"]
