"""Asker, tool agent and MCP server, each in a process of its own, behind a real Prosody."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.messaging.agent_status import ask_status
from spade_llm.tools.remote import ToolsClient
from tests.cli.program import ROOT
from tests.mcp.client.conftest import START_S, command, eventually
from tests.openai_server import Call, Say
from tests.processes.deployment import Deployment, running_deployment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.agents import ChatAgent

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

DEADLINE_S = 30.0
TOOLS = f"""
[mcp.plain]
command = {list(command("plain"))}
tools = ["add", "echo"]

[mcp.changing]
command = {list(command("changing"))}

[mcp.gone]
command = ["/no/such/program"]

[mcp.shut]
command = {list(command("plain"))}
allowed = ["admin@localhost"]
approval = "ask"
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    directory = tmp_path_factory.mktemp("mcp")
    async with running_deployment(directory, names=("memory", "rag", "assistant")) as running:
        await running.make_agent("tools", more=TOOLS, files={})
        yield running


def tools_of(program: ChatAgent) -> ToolsClient:
    return ToolsClient(program.node.requester, "tools@localhost", timeout_s=DEADLINE_S)


async def names(tools: ToolsClient) -> set[str]:
    return {spec.name for spec in await tools.list()}


async def test_a_plain_asker_sees_and_calls_the_tools_of_a_server(deployment: Deployment) -> None:
    tools = tools_of(await deployment.program("asker"))

    async def are_there() -> bool:
        return {"plain_add", "plain_echo", "changing_read"} <= await names(tools)

    await eventually(are_there, timeout_s=START_S)
    result = await tools.call("plain_add", {"a": 2, "b": 40})

    assert result.text == "42"
    assert not any(name.startswith(("gone", "shut")) for name in await names(tools))


async def test_a_person_gets_what_a_server_answered(deployment: Deployment) -> None:
    ada = await deployment.person("ada")
    call = Call(name="plain_echo", arguments='{"text": "said by the server"}')
    deployment.model.enqueue(Say(calls=(call,)), Say(text="It says hello."))

    ada.send("assistant@localhost", "let the server say something")
    answer = await asyncio.wait_for(ada.messages.get(), DEADLINE_S)

    assert answer["body"] == "It says hello."
    assert "said by the server" in str(deployment.model.requests[-1])


async def test_an_unavailable_server_is_shown_and_others_go_on_working(
    deployment: Deployment,
) -> None:
    asker = await deployment.program("watcher")

    status = await ask_status(asker.node.requester, "tools@localhost", timeout_s=DEADLINE_S)

    assert "gone: unavailable: its program cannot be started" in status.notes
    assert "plain: 2 tools" in status.notes
    assert "gone: unavailable" in status.summary
    assert "2 plain" in status.summary


async def test_a_changed_definition_is_reviewed_while_the_agent_runs(
    deployment: Deployment,
) -> None:
    tools = tools_of(await deployment.program("reviewer"))
    await tools.call("changing_change", {"description": "Read it all.", "announced": False})

    withheld = await tools.call("changing_read", {"path": "x"})
    await _review(deployment, "--accept", "changing_read")
    allowed = await tools.call("changing_read", {"path": "x"})

    assert "withheld: changed since it was accepted" in withheld.text
    assert allowed.text == "content of x"


async def test_servers_end_with_a_killed_tool_agent_and_pins_outlive_it(
    deployment: Deployment,
) -> None:
    tools = tools_of(await deployment.program("survivor"))
    await tools.call("plain_echo", {"text": "hello"})
    servers = _descendants(deployment.processes["tools"].pid)

    await deployment.kill("tools")

    async def are_gone() -> bool:
        return not any(map(_lives, servers))

    await eventually(are_gone, timeout_s=START_S)
    await deployment.start("tools")
    again = await tools.call("changing_read", {"path": "x"})

    assert len(servers) >= 4
    assert "withheld: changed since it was accepted" in again.text


async def _review(deployment: Deployment, *arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "spade_llm.cli", "tools", "review"),
        *("--data", str(deployment.directory / "data"), *arguments),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert await asyncio.wait_for(process.wait(), DEADLINE_S) == 0


def _descendants(pid: int) -> list[int]:
    children = (Path("/proc") / str(pid) / "task" / str(pid) / "children").read_text()
    found = [int(child) for child in children.split()]
    return found + [one for child in found for one in _descendants(child)]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
