"""HTTP servers that go away, come back, and answer too much."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from tempfile import TemporaryDirectory

import pytest

from spade_llm.mcp.client import HttpEndpoint, McpServerSettings, McpToolbox
from spade_llm.mcp.client.flow_control import MAX_LINE_BYTES
from spade_llm.mcp.server_configs import ServerTimeouts
from spade_llm.tools.toolbox import ToolResult
from tests.mcp.client.conftest import (
    QUICK,
    START_S,
    Servers,
    Transport,
    eventually,
    free_port,
    kill,
)

pytestmark = pytest.mark.thorough
HELLO = ToolResult(text="hello")
DONE = ToolResult(text="done")


async def box_at(
    servers: Servers, url: str, transport: Transport = "http", *, timeouts: ServerTimeouts = QUICK
) -> McpToolbox:
    assert transport != "stdio"
    server = McpServerSettings(name="srv", endpoint=HttpEndpoint(url=url, transport=transport))
    box = McpToolbox(server, servers.pins, timeouts=timeouts)
    return await servers.stack.enter_async_context(box)


@pytest.mark.parametrize(("transport", "path"), [("http", "mcp"), ("sse", "sse")])
async def test_a_server_that_is_started_anew_is_used_again(
    servers: Servers, transport: Transport, path: str
) -> None:
    port = free_port()
    first = await servers.start_http("plain", transport, port)
    box = await box_at(servers, f"http://127.0.0.1:{port}/{path}", transport)
    before = await box.call("srv_echo", {"text": "hello"})

    await kill(first)
    gone = await box.call("srv_echo", {"text": "hello"})
    await servers.start_http("plain", transport, port)

    async def is_back() -> bool:
        return await box.call("srv_echo", {"text": "hello"}) == HELLO

    assert before == HELLO
    assert gone.is_error
    assert "'srv'" in gone.text
    await eventually(is_back, timeout_s=START_S)


@pytest.mark.parametrize(("transport", "path"), [("http", "mcp"), ("sse", "sse")])
async def test_a_server_that_takes_connections_and_says_nothing_is_away(
    servers: Servers, transport: Transport, path: str
) -> None:
    silent = await asyncio.start_server(_keep_open, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    timeouts = ServerTimeouts(connect_timeout_s=1.5, min_backoff_s=60)

    async with silent:
        url = f"http://127.0.0.1:{port}/{path}"
        box = await box_at(servers, url, transport, timeouts=timeouts)
        result = await box.call("srv_echo", {"text": "hello"})

    assert "'srv' is unavailable (it did not answer in time)" in result.text


async def _keep_open(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(4096):
        continue
    writer.close()


async def blunt(servers: Servers) -> McpToolbox:
    port = free_port()
    await servers.start_http("blunt", "http", port)
    return await box_at(servers, f"http://127.0.0.1:{port}/mcp")


async def test_an_answer_that_is_too_large_fails_alone(servers: Servers) -> None:
    box = await blunt(servers)

    large = await box.call("srv_work", {"how": "large"})

    assert large.is_error
    assert f"longer than {MAX_LINE_BYTES} bytes" in large.text
    assert await box.call("srv_work", {"how": "well"}) == DONE


async def test_an_http_error_is_a_result_that_a_model_reads(servers: Servers) -> None:
    box = await blunt(servers)

    result = await box.call("srv_work", {"how": "status"})

    assert result.is_error
    assert "'srv'" in result.text
    assert await box.call("srv_work", {"how": "well"}) == DONE


async def test_a_compressed_answer_is_not_unpacked(servers: Servers) -> None:
    box = await blunt(servers)

    result = await box.call("srv_work", {"how": "packed"})

    async def is_back() -> bool:
        return await box.call("srv_work", {"how": "well"}) == DONE

    assert result.is_error
    await eventually(is_back, timeout_s=START_S)


def test_a_tool_agent_without_servers_loads_no_sdk() -> None:
    code = (
        "import sys, json, spade_llm.tools.mcp, spade_llm.mcp.client.mcp_toolbox;"
        "print(json.dumps([one for one in ('mcp', 'httpx2', 'starlette') if one in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)

    assert json.loads(done.stdout) == []


def test_a_toolbox_imports_the_sdk_before_the_program_runs() -> None:
    # Two threads that import packages at once may each find those of the other half imported.
    code = (
        "import json, sys;"
        "from spade_llm.mcp.client import McpServerSettings, McpToolbox, Pins, StdioEndpoint;"
        "from pathlib import Path;"
        "server = McpServerSettings(name='shop', endpoint=StdioEndpoint(command=('true',)));"
        "McpToolbox(server, Pins(Path(sys.argv[1]) / 'pins.db'));"
        "print(json.dumps('spade_llm.mcp.client.server_connection' in sys.modules))"
    )
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", code, folder]
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)

    assert json.loads(done.stdout) is True
