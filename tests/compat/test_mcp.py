"""MCP servers as programs written for spade_llm 0.2/0.3 use them: described, started, called."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import LLMAgent
from spade_llm.core.errors import ConfigurationError, ToolFailed
from spade_llm.mcp import (
    MCPServerConfig,
    MCPSession,
    SseServerConfig,
    StdioServerConfig,
    StreamableHttpServerConfig,
    get_all_mcp_tools,
    get_mcp_server_tools,
    get_mcp_tool,
)
from spade_llm.mcp.client import HttpEndpoint
from spade_llm.mcp.server_configs import mcp_server, mcp_servers
from spade_llm.providers import ScriptedProvider
from tests.cli.program import ROOT
from tests.integration.network import answer_to, calling, next_message

if TYPE_CHECKING:
    from tests.integration.network import Network

SERVER = Path(__file__).parent.parent / "mcp" / "mcp_servers" / "handmade.py"
PROGRAM_S = 60.0


def handmade(
    note: Path, *, name: str = "MathService", env: dict[str, str] | None = None
) -> StdioServerConfig:
    return StdioServerConfig(
        name=name,
        command=sys.executable,
        args=[str(SERVER), str(note)],
        env=env,
        cache_tools=True,
    )


def starts(note: Path) -> int:
    return len(note.read_text(encoding="utf-8").split())


async def test_an_agent_has_the_tools_of_its_servers_from_its_first_turn_on(
    network: Network, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    model = ScriptedProvider(
        [calling("MathService_multiply", '{"a": 6, "b": 7}'), "42", calling("nothing"), "no"]
    )
    jid = await network.account("mathematician")
    agent = LLMAgent(
        jid,
        network.passwords[jid],
        model,
        mcp_servers=[handmade(note)],
        options=network.options(jid),
    )
    await network.start(agent)
    ada = await network.person()

    assert await answer_to(ada, agent, "six times seven?") == "42"
    ada.send(jid, "and now?")
    await next_message(ada)

    assert "42" in str(model.requests[1].messages[-1]["content"])
    assert "MathService_greeting" in {tool.name for tool in model.requests[0].tools}
    assert starts(note) == 1
    assert (network.directory / jid.partition("@")[0] / "mcp.db").is_file()


async def test_a_server_that_is_not_there_costs_its_own_tools_only(
    network: Network, tmp_path: Path
) -> None:
    model = ScriptedProvider(["hello"])
    jid = await network.account("assistant")
    gone = StdioServerConfig(name="gone", command=str(tmp_path / "nothing"))
    agent = LLMAgent(
        jid,
        network.passwords[jid],
        model,
        mcp_servers=[gone, handmade(tmp_path / "note", name="here")],
        options=network.options(jid),
    )
    await network.start(agent)

    assert await answer_to(await network.person(), agent, "hi") == "hello"
    assert {tool.name for tool in model.requests[0].tools} >= {"here_multiply", "here_greeting"}


async def test_tools_of_a_server_are_tools_of_one_process(tmp_path: Path) -> None:
    note = tmp_path / "note"
    tools = {tool.name: tool for tool in await get_mcp_server_tools(handmade(note))}

    product = await tools["MathService_multiply"].execute(a=6, b=7)
    again = await get_mcp_tool(handmade(note), "multiply")

    assert product == "42"
    assert again is not None
    assert await again.execute(a=2, b=2) == "4"
    assert await get_mcp_tool(handmade(note), "divide") is None
    assert starts(note) == 1


async def test_a_call_that_the_server_declines_fails(tmp_path: Path) -> None:
    tool = await get_mcp_tool(handmade(tmp_path / "note"), "multiply")

    assert tool is not None
    with pytest.raises(ToolFailed, match="missing: 'b'"):
        await tool.execute(a=6)


async def test_unavailable_servers_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gone = StdioServerConfig(name="gone", command=str(tmp_path / "nothing"))

    tools = await get_all_mcp_tools([gone, handmade(tmp_path / "note", name="here")])

    assert [tool.name for tool in tools] == ["here_multiply", "here_greeting"]
    assert "without the tools of a server: the MCP server 'gone' is unavailable" in caplog.text


async def test_a_session_passes_its_environment_on_and_ends_when_it_is_closed(
    tmp_path: Path,
) -> None:
    note = tmp_path / "note"

    async with MCPSession(handmade(note, env={"GREETED": "Ada"})) as session:
        result = await session.call_tool("greeting", {})
        process = int(note.read_text(encoding="utf-8"))

    assert result.text == "hello Ada"
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.thorough
async def test_a_program_that_ends_leaves_no_server_behind(tmp_path: Path) -> None:
    note = tmp_path / "note"
    code = (
        "import asyncio, sys\n"
        "from spade_llm.mcp import StdioServerConfig, get_mcp_tool\n"
        "async def main():\n"
        f"    config = StdioServerConfig('m', command=sys.executable, args=[{str(SERVER)!r},"
        f" {str(note)!r}])\n"
        "    tool = await get_mcp_tool(config, 'multiply')\n"
        "    print(await tool.execute(a=6, b=7))\n"
        "asyncio.run(main())\n"
    )

    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "default::ResourceWarning", "-c", code),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    out, err = await asyncio.wait_for(program.communicate(), PROGRAM_S)

    assert (out, err) == (b"42\n", b"")
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text(encoding="utf-8")), 0)


def test_servers_that_run_already_are_reached_by_their_address() -> None:
    sse = mcp_server(SseServerConfig("web", url="http://h/mcp", headers={"X-Key": "k"}))
    http = mcp_server(StreamableHttpServerConfig("my web!", True, "https://h/mcp", timeout=90.0))

    assert sse.endpoint == HttpEndpoint(url="http://h/mcp", transport="sse", headers={"X-Key": "k"})
    assert http.endpoint == HttpEndpoint(url="https://h/mcp", transport="http")
    assert (http.name, http.timeout_s) == ("my_web_", 90.0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: StdioServerConfig("s"), "command is missing"),
        (lambda: StdioServerConfig("s", command="c", encoding="latin-1"), "MCP uses UTF-8 only"),
        (lambda: SseServerConfig("s", url="h/mcp"), "http:// or https://"),
        (lambda: mcp_server(MCPServerConfig("s")), "use StdioServerConfig"),
        (lambda: mcp_server(StdioServerConfig("", command="c")), "name is missing"),
        (
            lambda: mcp_servers([StdioServerConfig(n, command="c") for n in ("a", "a_b")]),
            "tool names of 'a_b' and 'a' would be ambiguous",
        ),
    ],
)
def test_errors_in_a_description_are_named(make: object, said: str) -> None:
    assert callable(make)
    with pytest.raises(ConfigurationError, match=said):
        make()


def test_secrets_of_a_description_are_not_shown(tmp_path: Path) -> None:
    shown = repr(handmade(tmp_path, env={"KEY": "sk-secret"}))

    assert "sk-secret" not in shown
