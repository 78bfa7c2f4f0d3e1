"""The tool agent among others, on both servers: its rules, its groups and its log."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import ToolAgent
from spade_llm.core.errors import ConfigurationError, Unauthorised
from spade_llm.tools import LocalToolbox, Terms, ToolGroup, ToolRules, tool
from spade_llm.tools.call_log import read_calls
from spade_llm.tools.remote import ToolsClient
from spade_llm.tools.toolbox import CallContext
from tests.integration.network import jid_of
from tests.tools.contract import repeat

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tests.integration.network import Network


@tool
def far() -> str:
    """Of another toolbox."""
    return "far"


async def tool_agent(
    network: Network, *, groups: Sequence[ToolGroup] = (), rules: ToolRules | None = None
) -> ToolAgent:
    jid = await network.account("tools")
    agent = ToolAgent(
        jid,
        network.passwords[jid],
        tools=[repeat],
        groups=groups,
        rules=rules,
        options=network.options(jid),
    )
    return await network.start(agent)


async def test_only_allowed_callers_may_call_and_all_calls_are_logged(network: Network) -> None:
    friend, other = await network.program("friend"), await network.program("other")
    rules = ToolRules(terms_of={"repeat": Terms(allowed=frozenset({jid_of(friend)}))})
    agent = await tool_agent(network, rules=rules)
    mine, others = (ToolsClient(one.node.requester, jid_of(agent)) for one in (friend, other))
    context = CallContext(on_behalf_of="ada@localhost")

    assert [spec.name for spec in await mine.list()][0] == "repeat"
    assert await others.list() == ()
    assert (await mine.call("repeat", {"text": "a"}, context=context)).text == "aa"
    with pytest.raises(Unauthorised):
        await others.call("repeat", {"text": "a"})

    data = agent.options.data
    assert data is not None
    calls = read_calls(data / "calls", last=9)
    assert [(one.begun.caller, one.ended and one.ended.outcome) for one in calls] == [
        (jid_of(friend), "done"),
        (jid_of(other), "refused: unauthorised"),
    ]
    assert calls[0].begun.on_behalf_of == "ada@localhost"


async def test_a_group_is_opened_before_the_first_call_and_closed_after_the_last(
    network: Network, caplog: pytest.LogCaptureFixture
) -> None:
    states: list[str] = []

    @asynccontextmanager
    async def resource() -> AsyncIterator[None]:
        states.append("open")
        yield
        states.append("closed")

    group = ToolGroup(name="far", toolbox=LocalToolbox([far]), resource=resource())
    rules = ToolRules(terms_of={"later": Terms()})
    with caplog.at_level(logging.WARNING):
        agent = await tool_agent(network, groups=[group], rules=rules)
    program = await network.program()

    result = await ToolsClient(program.node.requester, jid_of(agent)).call("far", {})
    status = await program.status(jid_of(agent))
    await agent.stop()

    assert result.text == "far"
    assert status.summary == "2 tools: 1 local, 1 far"
    assert states == ["open", "closed"]
    assert "[tools.later]: unknown tool; its rules have no effect now" in caplog.text


async def test_a_rule_for_a_tool_that_is_not_there_is_an_error(network: Network) -> None:
    with pytest.raises(ConfigurationError, match=r"\[tools\.repaet\]: unknown tool"):
        await tool_agent(network, rules=ToolRules(terms_of={"repaet": Terms()}))
