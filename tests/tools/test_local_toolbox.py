"""The local toolbox keeps what every Toolbox promises, and its own bounds."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from datetime import date
from typing import TYPE_CHECKING

import pytest

from spade_llm.errors import ConfigurationError
from spade_llm.tools import CombinedToolbox, LLMTool, LocalToolbox, ToolResult, tool
from tests.tools.contract import PROMISES, SAMPLE_TOOLS, repeat

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spade_llm.tools import Toolbox

NO_PARAMETERS: dict[str, object] = {"type": "object", "properties": {}}
WAIT_S = 5.0


@pytest.fixture(params=["local", "combined"])
def toolbox(request: pytest.FixtureRequest) -> Toolbox:
    local = LocalToolbox(SAMPLE_TOOLS)
    return local if request.param == "local" else CombinedToolbox([local])


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_the_toolbox_keeps(
    promise: Callable[[Toolbox], Awaitable[None]], toolbox: Toolbox
) -> None:
    await promise(toolbox)


def _plain(name: str, func: Callable[..., object]) -> LLMTool:
    return LLMTool(name=name, description="", parameters=NO_PARAMETERS, func=func)


async def test_a_slow_coroutine_is_stopped_at_its_limit() -> None:
    stopped = asyncio.Event()

    @tool(timeout_s=0.05)
    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    result = await LocalToolbox([wait]).call("wait", {})

    assert result == ToolResult(text="'wait' did not finish within 0.05 s.", is_error=True)
    assert stopped.is_set()


async def test_a_hanging_function_keeps_its_place_and_no_other() -> None:
    release = threading.Event()
    box = LocalToolbox(
        [_plain("hang", lambda: release.wait(WAIT_S)), repeat], timeout_s=0.05, max_concurrent=2
    )

    hung = await box.call("hang", {})
    beside = await box.call("repeat", {"text": "a"})
    await box.call("hang", {})
    full = await box.call("repeat", {"text": "a"})
    release.set()

    assert hung.is_error
    assert beside.text == "aa"
    assert full.is_error
    async with asyncio.timeout(WAIT_S):
        while (await box.call("repeat", {"text": "a"})).is_error:
            pass


async def test_functions_run_off_the_event_loop_with_the_callers_context() -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who")
    who.set("ann")
    box = LocalToolbox([_plain("where", lambda: [threading.current_thread().name, who.get()])])

    assert (await box.call("where", {})).text == '["tool-call","ann"]'


async def test_no_more_calls_run_at_once_than_stated() -> None:
    running = most = 0

    async def count() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    box = LocalToolbox([_plain("count", count)], max_concurrent=3)

    await asyncio.gather(*(box.call("count", {}) for _ in range(20)))

    assert most == 3


async def test_too_many_waiting_calls_are_told_so_at_once() -> None:
    go = asyncio.Event()
    box = LocalToolbox([_plain("wait", go.wait)], max_concurrent=1)
    calls = [asyncio.create_task(box.call("wait", {})) for _ in range(300)]
    done, _ = await asyncio.wait(calls, timeout=WAIT_S, return_when=asyncio.FIRST_COMPLETED)
    go.set()
    results = await asyncio.gather(*calls)

    assert all("try again later" in call.result().text for call in done)
    assert sum(result.is_error for result in results) == 300 - 257


async def test_cancelling_a_call_passes_and_frees_the_place() -> None:
    begun = asyncio.Event()

    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    box = LocalToolbox([_plain("wait", wait), repeat], max_concurrent=1)
    call = asyncio.create_task(box.call("wait", {}))
    await asyncio.wait_for(begun.wait(), WAIT_S)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await box.call("repeat", {"text": "a"})).text == "aa"


async def test_a_long_result_is_cut_with_a_note() -> None:
    box = LocalToolbox([_plain("long", lambda: "x" * 200_000)], max_result_chars=1000)

    text = (await box.call("long", {})).text

    assert len(text) <= 1000
    assert text.endswith("of 200000 characters]")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ([1, "é"], '[1,"é"]'),
        (date(2026, 11, 3), '"2026-11-03"'),
        (ToolResult(text="own", is_error=True), "own"),
    ],
)
async def test_results_are_written_as_json(value: object, text: str) -> None:
    assert (await LocalToolbox([_plain("give", lambda: value)]).call("give", {})).text == text


@pytest.mark.parametrize("error", [StopIteration, SystemExit, KeyboardInterrupt, TimeoutError])
async def test_whatever_a_function_raises_is_a_result_and_logged(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise error("inside")

    with caplog.at_level(logging.ERROR):
        result = await LocalToolbox([_plain("fail", fail)]).call("fail", {})

    assert result.is_error
    assert "failed" in result.text
    assert "inside" in caplog.text


async def test_a_result_that_json_cannot_hold_is_an_error() -> None:
    result = await LocalToolbox([_plain("give", lambda: object())]).call("give", {})

    assert result.is_error


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 65, "a.b", "a\n"])
def test_a_name_that_servers_refuse_is_a_configuration_error(name: str) -> None:
    with pytest.raises(ConfigurationError):
        _plain(name, print)


@pytest.mark.parametrize("schema", [{}, {"type": "array"}, {"type": "object", "required": 1}])
def test_a_wrong_schema_is_a_configuration_error(schema: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="'x'"):
        LLMTool(name="x", description="", parameters=schema, func=print)


def test_two_tools_of_one_name_are_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="two tools 'repeat'"):
        LocalToolbox([repeat, repeat])
