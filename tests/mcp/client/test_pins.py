"""A definition is pinned at first sight; what changes is withheld until an operator says yes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import NotFound
from spade_llm.mcp.server_configs import ServerTimeouts
from spade_llm.tools.toolbox import ToolResult
from tests.mcp.client.conftest import START_S, Servers, Transport, eventually

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.mcp.client import McpToolbox

pytestmark = pytest.mark.thorough
ALL: Sequence[Transport] = ("stdio", "http", "sse")
CONTENT = ToolResult(text="content of x")


async def names(box: McpToolbox) -> set[str]:
    return {spec.name for spec in await box.list()}


@pytest.mark.parametrize("transport", ALL)
async def test_a_description_that_is_swapped_silently_is_noticed_before_the_next_call(
    servers: Servers, transport: Transport
) -> None:
    box = await servers.toolbox("changing", transport=transport)
    before = await box.call("srv_read", {"path": "x"})

    await box.call("srv_change", {"description": "Read, and send it on.", "announced": False})
    after = await box.call("srv_read", {"path": "x"})

    assert before == CONTENT
    assert after.is_error
    assert "withheld: changed since it was accepted" in after.text
    assert await names(box) == {"srv_change", "srv_grow"}
    assert box.state() == "2 tools, 1 waiting for review"


@pytest.mark.parametrize("transport", ALL)
async def test_a_change_that_is_announced_is_followed_without_a_call(
    servers: Servers, transport: Transport
) -> None:
    box = await servers.toolbox("changing", transport=transport)

    await box.call("srv_change", {"description": "Read, and send it on.", "announced": True})

    async def is_withheld() -> bool:
        return "srv_read" not in await names(box)

    await eventually(is_withheld)


async def test_a_tool_that_a_known_server_adds_waits_for_review(servers: Servers) -> None:
    box = await servers.toolbox("changing")

    await box.call("srv_grow", {})
    result = await box.call("srv_send", {"path": "x"})

    assert "withheld: added after the server's first listing" in result.text
    assert "srv_send" not in await names(box)


async def test_accepted_tools_are_offered_at_once(servers: Servers) -> None:
    box = await servers.toolbox("changing")
    await box.call("srv_change", {"description": "Read aloud.", "announced": False})
    await box.call("srv_read", {"path": "x"})

    [waiting] = await asyncio.to_thread(servers.pins.waiting)
    await asyncio.to_thread(servers.pins.accept, waiting)
    specs = {spec.name: spec.description for spec in await box.list()}

    assert specs["srv_read"] == "[MCP server srv says:] Read aloud."
    assert await box.call("srv_read", {"path": "x"}) == CONTENT


async def test_rejected_tools_stay_withheld(servers: Servers) -> None:
    box = await servers.toolbox("changing")
    await box.call("srv_change", {"description": "Read aloud.", "announced": False})
    await box.call("srv_read", {"path": "x"})

    [waiting] = await asyncio.to_thread(servers.pins.waiting)
    await asyncio.to_thread(servers.pins.reject, waiting)
    result = await box.call("srv_read", {"path": "x"})

    assert "withheld: rejected" in result.text


async def test_only_what_was_shown_can_be_accepted(servers: Servers) -> None:
    box = await servers.toolbox("hostile", "swap")
    await box.call("srv_work", {})
    await box.call("srv_work", {})
    [shown] = await asyncio.to_thread(servers.pins.waiting)

    await asyncio.to_thread(servers.pins.accept, shown)
    await box.call("srv_work", {})
    with pytest.raises(NotFound, match="has changed since it was shown"):
        await asyncio.to_thread(servers.pins.accept, shown)


async def test_a_definition_is_still_pinned_after_a_restart(servers: Servers) -> None:
    first = await servers.toolbox("changing")
    await first.call("srv_read", {"path": "x"})
    await first.call("srv_change", {"description": "Read, and more.", "announced": False})
    await first.call("srv_read", {"path": "x"})
    await first.__aexit__(None, None, None)

    second = await servers.toolbox("changing")
    back = await second.call("srv_read", {"path": "x"})
    await second.call("srv_change", {"description": "Read, and more.", "announced": False})
    swapped = await second.call("srv_read", {"path": "x"})

    assert back == CONTENT
    assert "withheld: changed" in swapped.text


async def test_known_tools_are_offered_while_the_server_is_starting(servers: Servers) -> None:
    first = await servers.toolbox("plain", tools=frozenset({"add", "echo"}))
    await first.call("srv_echo", {"text": "hello"})
    await first.__aexit__(None, None, None)

    patience = ServerTimeouts(connect_timeout_s=START_S, start_wait_s=START_S)
    second = await servers.toolbox("plain", tools=frozenset({"echo"}), patience=patience)

    assert await names(second) == {"srv_echo"}
    assert await second.call("srv_echo", {"text": "hello"}) == ToolResult(text="hello")
