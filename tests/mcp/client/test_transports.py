"""What an MCP server offers and answers, over each of the three transports."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import UnknownTool
from spade_llm.mcp.client import HttpEndpoint, McpServerSettings, McpToolbox
from spade_llm.tools.toolbox import ToolResult
from tests.mcp.client.conftest import QUICK, Servers, Transport, eventually, free_port
from tests.mcp.mcp_servers.plain import TOGETHER

if TYPE_CHECKING:
    from pathlib import Path

ALL = ("stdio", *(pytest.param(one, marks=pytest.mark.thorough) for one in ("http", "sse")))


@pytest.mark.parametrize("transport", ALL)
async def test_tools_are_listed_under_the_servers_name(
    servers: Servers, transport: Transport
) -> None:
    box = await servers.toolbox("plain", transport=transport)

    result = await box.call("srv_add", {"a": 2, "b": 3})
    specs = {spec.name: spec for spec in await box.list()}

    assert result == ToolResult(text="5")
    assert specs["srv_add"].description == "[MCP server srv says:] Add two numbers."
    assert specs["srv_add"].parameters["required"] == ["a", "b"]


@pytest.mark.parametrize("transport", ALL)
async def test_an_error_of_the_tool_is_a_result_that_says_so(
    servers: Servers, transport: Transport
) -> None:
    box = await servers.toolbox("plain", transport=transport)

    result = await box.call("srv_fail", {"why": "no reason"})

    assert result.is_error
    assert "fail" in result.text


@pytest.mark.parametrize("transport", ALL)
async def test_many_calls_run_at_once_in_one_session(
    servers: Servers, transport: Transport
) -> None:
    box = await servers.toolbox("plain", transport=transport)

    results = await asyncio.gather(*(box.call("srv_meet", {}) for _ in range(TOGETHER)))

    assert {result.text for result in results} == {"met"}


@pytest.mark.parametrize("transport", ALL)
async def test_a_call_past_its_deadline_is_cancelled_at_the_server(
    servers: Servers, transport: Transport, tmp_path: Path
) -> None:
    box = await servers.toolbox("plain", transport=transport)
    note = tmp_path / "note"
    await box.call("srv_echo", {"text": "first"})

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await box.call("srv_wait", {"seconds": 60, "note": str(note)})

    async def is_cancelled() -> bool:
        return note.exists() and note.read_text(encoding="utf-8") == "cancelled"

    await eventually(is_cancelled)
    assert await box.call("srv_echo", {"text": "alive"}) == ToolResult(text="alive")


async def test_the_servers_own_deadline_gives_an_error_that_a_model_reads(
    servers: Servers,
) -> None:
    box = await servers.toolbox("hostile", "hang_in_call", timeout_s=1.5)

    result = await box.call("srv_work", {})

    assert result.is_error
    assert "did not finish within 1.5 s" in result.text


@pytest.mark.thorough
async def test_pictures_links_and_resources_are_named_in_text(servers: Servers) -> None:
    box = await servers.toolbox("plain")

    picture = await box.call("srv_picture", {})
    mixed = await box.call("srv_mixed", {})

    assert picture.text == "[image/png image, 8 bytes, not shown]"
    assert mixed.text == (
        "first\n[link to the resource log: file:///tmp/log]\n[resource note://1]\ninside"
    )


@pytest.mark.thorough
async def test_arguments_that_do_not_fit_are_the_servers_to_refuse(servers: Servers) -> None:
    box = await servers.toolbox("plain")

    result = await box.call("srv_add", {"a": "two"})

    assert result.is_error
    assert "valid integer" in result.text


@pytest.mark.thorough
async def test_only_the_tools_that_the_operator_names_are_offered(servers: Servers) -> None:
    box = await servers.toolbox("plain", tools=frozenset({"add"}))
    await box.call("srv_add", {"a": 1, "b": 1})

    assert [spec.name for spec in await box.list()] == ["srv_add"]
    with pytest.raises(UnknownTool):
        await box.call("srv_echo", {"text": "hello"})


@pytest.mark.thorough
async def test_a_misspelt_tool_is_in_the_log(
    servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    box = await servers.toolbox("plain", tools=frozenset({"add", "ehco"}))

    await box.call("srv_add", {"a": 1, "b": 1})

    assert "MCP server srv: tool ehco is withheld: the server has no such tool" in caplog.text


async def test_a_server_that_is_not_there_is_away_and_the_call_says_which(
    servers: Servers,
) -> None:
    where = HttpEndpoint(url=f"http://127.0.0.1:{free_port()}/mcp")
    server = McpServerSettings(name="far", endpoint=where)
    box = await servers.stack.enter_async_context(McpToolbox(server, servers.pins, timeouts=QUICK))

    result = await box.call("far_anything", {})

    assert result.is_error
    assert "'far' is unavailable (it cannot be reached)" in result.text
    assert box.state() == "unavailable: it cannot be reached"
    assert await box.list() == ()
