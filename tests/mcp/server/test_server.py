"""What a client sees of any offer: lists, results, refusals, and nothing of what failed inside."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent

from spade_llm.core.errors import ApprovalRequired, RequestTimeout, UnknownTool
from spade_llm.mcp.server.offered_tools import (
    ADDS,
    EFFECTS,
    READS,
    ForwardedTools,
    McpMemoryTools,
    McpToolResult,
    OfferedTool,
    ToolRegistry,
    build_result,
)
from spade_llm.mcp.server.server import MAX_CALLS, RunningCalls, build_server
from spade_llm.memory.remote import MemoryClient
from spade_llm.messaging import Requester
from spade_llm.providers.model import ToolSpec
from spade_llm.tools.toolbox import NO_CONTEXT, CallContext, ToolResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp_types import CallToolResult

    from spade_llm.mcp.server.offered_tools import ReportProgress
    from spade_llm.messaging import AclMessage

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}}
MODES = ["legacy", "2026-07-28"]


def tool(
    name: str, run: Callable[[Mapping[str, object], ReportProgress], Awaitable[McpToolResult]]
) -> OfferedTool:
    spec = ToolSpec(name=name, description=f"Does {name}.", parameters=SCHEMA)
    return OfferedTool(spec=spec, effects=ADDS, run=run)


def client_of(offer: ToolRegistry, mode: str) -> Client:
    return Client(build_server(RunningCalls(offer), "ada@localhost"), mode=mode)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def nowhere(_message: AclMessage) -> None:
    raise AssertionError("nothing is to be sent")


def test_every_memory_tool_has_effects_and_no_other_name_has() -> None:
    client = MemoryClient(Requester(nowhere), "memory@localhost")
    tools = McpMemoryTools(client, "ada@localhost")

    offered = [*tools.specified_tools(), *tools.further_tools(), *tools.owner_tools()]

    assert sorted(one.spec.name for one in offered) == sorted(EFFECTS)
    assert len(tools.specified_tools()) == 11
    assert all(EFFECTS[name] == READS for name in ("memory_search", "memory_get", "memory_list"))
    assert not any(EFFECTS[name].read_only for name in ("memory_store", "memory_decay_run"))


@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_is_listed_with_its_own_schema_and_called_with_what_was_sent(
    mode: str,
) -> None:
    async def echo(arguments: Mapping[str, object], _report: ReportProgress) -> McpToolResult:
        return build_result({"got": dict(arguments), "none": None})

    async with client_of(ToolRegistry([tool("echo", echo)]), mode) as client:
        (listed,) = (await client.list_tools()).tools
        result = await client.call_tool("echo", {"n": [1, {"a": None}]})

    assert (listed.name, listed.description, listed.input_schema) == ("echo", "Does echo.", SCHEMA)
    assert result.structured_content == {"got": {"n": [1, {"a": None}]}, "none": None}
    assert json.loads(text_of(result)) == result.structured_content


@pytest.mark.parametrize("mode", MODES)
async def test_internal_errors_are_not_disclosed(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_arguments: Mapping[str, object], _report: ReportProgress) -> McpToolResult:
        raise OSError("/home/ada/secret")

    async with client_of(ToolRegistry([tool("fail", fail)]), mode) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("fail", {})

    assert (raised.value.code, raised.value.message) == (-32603, "internal error")
    assert "/home/ada/secret" in caplog.text


@pytest.mark.thorough
async def test_more_calls_than_may_be_at_work_are_refused_and_then_welcome() -> None:
    at_work, is_open = asyncio.Semaphore(0), asyncio.Event()

    async def wait(_arguments: Mapping[str, object], _report: ReportProgress) -> McpToolResult:
        at_work.release()
        await is_open.wait()
        return build_result({})

    async with (
        client_of(ToolRegistry([tool("wait", wait)]), "legacy") as client,
        asyncio.timeout(5),
    ):
        calls = [asyncio.create_task(client.call_tool("wait", {})) for _ in range(MAX_CALLS)]
        for _ in calls:
            await at_work.acquire()
        refused = await client.call_tool("wait", {})
        is_open.set()
        done = await asyncio.gather(*calls)
        again = await client.call_tool("wait", {})

    assert json.loads(text_of(refused))["error_type"] == "BusyError"
    assert not any(one.is_error for one in [*done, again])


async def test_an_answer_that_is_longer_than_a_model_reads_has_fewer_items_in_both_forms() -> None:
    called = build_result({"results": [{"content": "x" * 9000} for _ in range(20)], "total": 20})

    answer: Any = called.answer
    assert len(called.text) <= 60_000
    assert 0 < len(answer["results"]) < 20
    assert answer["total"] == 20
    assert json.loads(called.text) == answer


class FarToolbox:
    """A tool agent's, as its client shows it: a message away, and perhaps not there."""

    def __init__(self) -> None:
        self.is_there = True

    async def list(self) -> list[ToolSpec]:
        self._reach()
        return [
            ToolSpec(name="add", description="Adds.", parameters=SCHEMA),
            ToolSpec(name="pay", description="Pays.", parameters=SCHEMA, needs_approval=True),
            ToolSpec(name="mine", description="Another.", parameters=SCHEMA),
        ]

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        self._reach()
        if name == "pay":
            raise ApprovalRequired("pay: a person must say yes first")
        if name != "add":
            raise UnknownTool(f"{name}: of an inner name")
        return ToolResult(text="3", is_error=not arguments)

    def _reach(self) -> None:
        if not self.is_there:
            raise RequestTimeout("tools@localhost did not answer in time", peer="tools@localhost")


async def own(_arguments: Mapping[str, object], _report: ReportProgress) -> McpToolResult:
    return build_result({"ours": True})


async def test_a_far_tool_that_needs_a_yes_is_neither_offered_nor_called() -> None:
    offer = ToolRegistry([tool("mine", own)], ForwardedTools(FarToolbox()))
    async with client_of(offer, "legacy") as client:
        listed = [one.name for one in (await client.list_tools()).tools]
        paid = await client.call_tool("pay", {"n": 1})

    assert listed == ["mine", "add"]
    assert json.loads(text_of(paid))["error_type"] == "PermissionError"


async def test_ours_hides_a_far_tool_of_the_same_name() -> None:
    offer = ToolRegistry([tool("mine", own)], ForwardedTools(FarToolbox()))
    async with client_of(offer, "legacy") as client:
        assert (await client.call_tool("mine", {})).structured_content == {"ours": True}
        assert (await client.call_tool("add", {})).is_error
        assert text_of(await client.call_tool("add", {"n": 3})) == "3"


async def test_without_the_tool_agent_the_rest_is_offered() -> None:
    far = FarToolbox()
    far.is_there = False
    offer = ToolRegistry([tool("mine", own)], ForwardedTools(far))
    async with client_of(offer, "legacy") as client:
        listed = [one.name for one in (await client.list_tools()).tools]
        called = await client.call_tool("add", {})
        far.is_there = True
        with pytest.raises(MCPError, match="unknown tool 'nothing'"):
            await client.call_tool("nothing", {})

    assert listed == ["mine"]
    assert json.loads(text_of(called)) == {
        "error": True,
        "error_type": "UnavailableError",
        "message": "tools@localhost did not answer in time",
    }
