"""The local toolbox keeps what every Toolbox promises, and its own bounds."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import threading
from datetime import date
from typing import TYPE_CHECKING, Annotated

import pytest
from pydantic import AfterValidator

from spade_llm.core import concurrency
from spade_llm.core.errors import Busy, ConfigurationError
from spade_llm.tools import CombinedToolbox, LLMTool, LocalToolbox, ToolResult, tool
from spade_llm.tools.toolbox import Terms
from tests.tools.contract import PROMISES, SAMPLE_TOOLS, repeat

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spade_llm.tools import Toolbox
    from spade_llm.tools.llm_tool import ToolKeywords

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


def _plain(name: str, func: Callable[..., object], *, timeout_s: float | None = None) -> LLMTool:
    return LLMTool(
        name=name, description="", parameters=NO_PARAMETERS, func=func, timeout_s=timeout_s
    )


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
        [_plain("hang", lambda: release.wait(WAIT_S), timeout_s=0.05), repeat],
        timeout_s=1,
        max_threads=2,
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
    results = await asyncio.gather(*calls, return_exceptions=True)

    assert all(isinstance(call.exception(), Busy) for call in done)
    assert sum(isinstance(result, Busy) for result in results) == 300 - 257


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
async def test_exceptions_of_a_function_are_results_and_logged(
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


@pytest.mark.parametrize(
    "schema", [{"type": "string"}, {"type": "array"}, {"type": "object", "required": 1}]
)
def test_a_wrong_schema_is_a_configuration_error(schema: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="'x'"):
        LLMTool(name="x", description="", parameters=schema, func=print)


def test_two_tools_of_one_name_are_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="two tools 'repeat'"):
        LocalToolbox([repeat, repeat])


async def test_a_coroutine_that_will_not_be_cancelled_is_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrency, "CANCEL_TIMEOUT_S", 0.05)
    go = asyncio.Event()

    async def stubborn() -> None:
        while not go.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await go.wait()

    box = LocalToolbox([_plain("stubborn", stubborn, timeout_s=0.05), repeat], max_concurrent=2)
    stuck = await asyncio.wait_for(box.call("stubborn", {}), WAIT_S)
    beside = await box.call("repeat", {"text": "a"})
    go.set()

    assert "did not finish" in stuck.text
    assert beside.text == "aa"


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
async def test_a_coroutine_does_not_end_the_process(error: type[BaseException]) -> None:
    async def leave() -> None:
        raise error("now")

    result = await LocalToolbox([_plain("leave", leave)]).call("leave", {})

    assert result.is_error


async def test_a_tool_has_its_own_number_of_places() -> None:
    running = most = 0

    @tool(max_concurrent=2)
    async def count() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    box = LocalToolbox([count])

    await asyncio.gather(*(box.call("count", {}) for _ in range(20)))

    assert most == 2


async def test_terms_come_before_the_tools_own_limits() -> None:
    @tool(timeout_s=60)
    async def wait() -> None:
        await asyncio.Event().wait()

    box = LocalToolbox([wait], terms_of={"wait": Terms(timeout_s=0.05)})

    assert "within 0.05 s" in (await box.call("wait", {})).text


async def test_a_tool_has_its_own_size_of_result() -> None:
    @tool(max_result_chars=500)
    def long() -> str:
        return "x" * 2000

    cut = await LocalToolbox([long]).call("long", {})
    whole = await LocalToolbox([long], max_result_chars=None).call("long", {})

    assert len(cut.text) <= 500
    assert len(whole.text) == 2000


async def test_a_result_of_ten_megabytes_is_truncated_without_blocking() -> None:
    @tool
    def flood() -> list[str]:
        return ["x" * 1000] * 10_000

    result = await LocalToolbox([flood], max_result_chars=None).call("flood", {})

    assert 3_999_000 < len(result.text) <= 4_000_000
    assert result.text.endswith("characters]")


async def test_half_of_a_surrogate_pair_is_replaced() -> None:
    result = await LocalToolbox([_plain("half", lambda: "a\ud83d")]).call("half", {})

    assert result.text == "a?"


async def test_the_log_of_a_failure_shows_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise LookupError("password=hunter2 is wrong")

    with caplog.at_level(logging.ERROR):
        await LocalToolbox([_plain("fail", fail)]).call("fail", {})

    assert "LookupError" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("limits", [{"timeout_s": 0}, {"max_concurrent": -1}])
def test_a_limit_that_is_not_positive_is_a_configuration_error(limits: ToolKeywords) -> None:
    with pytest.raises(ConfigurationError, match="must be positive"):
        tool(name="x", **limits)(lambda: None)


async def test_a_check_of_arguments_that_breaks_is_a_result() -> None:
    def boom(value: int) -> int:
        raise LookupError(value)

    async def checked(number: Annotated[int, AfterValidator(boom)]) -> int:
        return number

    checked.__annotations__["number"] = Annotated[int, AfterValidator(boom)]
    result = await LocalToolbox([tool(checked)]).call("checked", {"number": 1})

    assert result == ToolResult(text="'checked' failed (LookupError).", is_error=True)


async def test_a_machine_without_threads_costs_a_call_and_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    box = LocalToolbox([_plain("work", lambda: "done")], max_threads=1)
    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", refuse)
        assert (await box.call("work", {})).is_error

    assert (await box.call("work", {})).text == "done"
