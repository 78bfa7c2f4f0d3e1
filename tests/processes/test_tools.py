"""The tool agent in a process of its own, with tools of one's own that misbehave; and killed."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.core.errors import ApprovalRequired, RequestFailed, Unauthorised
from spade_llm.tools.call_log import read_calls
from spade_llm.tools.remote import ToolsClient
from spade_llm.tools.toolbox import CallContext
from tests.openai_server import Call, Say
from tests.processes.deployment import Deployment, running_deployment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spade_llm.tools import ToolResult
    from spade_llm.tools.call_log import LoggedCall

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

OWN = Path(__file__).parent / "own_tools.py"
RULES = """
[python]
tools = ["own.py"]

[tools.for_others]
allowed = ["elsewhere.example"]
"""
CALLS = 60
PARALLEL = 50
ANSWER_S = 60.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    directory = tmp_path_factory.mktemp("tools")
    async with running_deployment(directory, names=()) as running:
        await running.make_agent("tools", more=RULES, files={"own.py": OWN.read_text()})
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tools(deployment: Deployment) -> ToolsClient:
    program = await deployment.program("calling")
    return ToolsClient(program.node.requester, "tools@localhost")


def logged(deployment: Deployment, tool: str) -> Sequence[LoggedCall]:
    folder = deployment.directory / "data" / "agents" / "tools@localhost" / "calls"
    return read_calls(folder, last=1000, wanted=lambda call: call.tool == tool)


async def is_unharmed(tools: ToolsClient) -> bool:
    return (await tools.call("calculator", {"expression": "6 * 7"})).text == "42"


async def test_callers_see_only_the_tools_that_they_may_call(tools: ToolsClient) -> None:
    offered = {spec.name: spec.needs_approval for spec in await tools.list()}

    assert {"calculator", "get_current_datetime", "write_down", "tools_read_more"} <= set(offered)
    assert [name for name, asks in offered.items() if asks] == ["erase"]
    assert "for_others" not in offered
    with pytest.raises(Unauthorised, match="calling@localhost may not call"):
        await tools.call("for_others", {})


async def test_approvals_are_awaited_and_logged_with_the_approver(
    tools: ToolsClient, deployment: Deployment
) -> None:
    with pytest.raises(ApprovalRequired):
        await tools.call("erase", {})
    context = CallContext(on_behalf_of="ada@localhost", approved_by="ada@localhost")
    assert (await tools.call("erase", {}, context=context)).text == "empty"

    asked, done = logged(deployment, "erase")
    assert asked.ended is not None
    assert asked.ended.outcome == "refused: approval-needed"
    assert (done.begun.caller, done.begun.approved_by) == ("calling@localhost", "ada@localhost")


@pytest.mark.parametrize("name", ["hang", "cling", "leave", "leave_at_once", "odd"])
async def test_a_tool_that_misbehaves_is_an_error_result_and_harms_nothing(
    name: str, tools: ToolsClient
) -> None:
    async with asyncio.timeout(10):
        results = await asyncio.gather(*(tools.call(name, {}) for _ in range(3)))

    assert all(result.is_error for result in results)
    assert await is_unharmed(tools)


async def test_ten_megabytes_are_read_in_pages(tools: ToolsClient) -> None:
    first = await tools.call("flood", {})
    id = first.text.partition('result "')[2][:8]
    second = await tools.call("tools_read_more", {"result": id, "page": 2})

    assert not first.is_error
    assert "[page 2 of " in second.text
    assert await is_unharmed(tools)


async def test_fifty_calls_at_once_take_the_time_of_few(tools: ToolsClient, tmp_path: Path) -> None:
    path = str(tmp_path / "lines")

    async def call(number: int) -> ToolResult:
        return await tools.call("write_down", {"path": path, "line": str(number)})

    began = time.perf_counter()
    results = await asyncio.gather(*map(call, range(PARALLEL)))
    taken_s = time.perf_counter() - began

    assert [result.text for result in results] == [str(number) for number in range(PARALLEL)]
    assert taken_s < PARALLEL * 0.2 / 2


async def test_killed_in_the_middle_of_calls_none_runs_twice(
    tools: ToolsClient, deployment: Deployment, tmp_path: Path
) -> None:
    path = tmp_path / "lines"
    path.touch()

    async def call(number: int) -> str:
        line = f"line {number}"
        return (await tools.call("write_down", {"path": str(path), "line": line})).text

    calls = [asyncio.create_task(call(number)) for number in range(CALLS)]
    await _some_lines(path)
    await deployment.kill("tools")
    await deployment.start("tools")
    outcomes = await asyncio.gather(*calls, return_exceptions=True)

    lines = Counter(path.read_text().splitlines())
    assert set(lines.values()) == {1}
    interrupted = {
        f"line {number}": outcome
        for number, outcome in enumerate(outcomes)
        if not isinstance(outcome, str)
    }
    for outcome in interrupted.values():
        assert isinstance(outcome, RequestFailed)
        assert outcome.wire_code == "interrupted"
    assert {f"line {number}" for number in range(CALLS)} - set(lines) <= set(interrupted)
    assert interrupted
    # The call log is written behind the answer log, and the end of a call before its answer leaves:
    # a kill between two of these leaves one call more or less in one of them.
    begun, unended = _begun_and_unended(deployment)
    assert set(lines) <= begun
    assert unended
    assert unended <= set(interrupted)


@pytest.mark.parametrize("ends", ["killed", "stopped"])
async def test_a_tool_runs_once_while_its_assistant_dies_and_the_person_reads_its_answer(
    deployment: Deployment, tmp_path: Path, ends: str
) -> None:
    ledger, receipt = tmp_path / "ledger", tmp_path / "ledger.receipt"
    ledger.touch()
    arguments = {"ledger": str(ledger), "to": "Bob", "amount": 10}
    call = Say(calls=(Call(name="pay", arguments=json.dumps(arguments)),))
    # A model that is asked again may write them in another order.
    again = Say(calls=(Call(name="pay", arguments=json.dumps(arguments, sort_keys=True)),))
    if "assistant" not in deployment.processes:
        await deployment.make_agent("assistant", more="", files={})
    ada = await deployment.person(f"ada-{ends}")
    deployment.model.enqueue(call)
    ada.send("assistant@localhost", "Pay Bob 10.")
    await _some_lines(ledger)

    await (deployment.kill if ends == "killed" else deployment.end)("assistant")
    deployment.model.enqueue(again, Say(text="It is paid."))
    is_resumed = asyncio.create_task(deployment.asked(1))
    await deployment.start("assistant")
    # The first call still runs when the resumed turn repeats it.
    await is_resumed
    receipt.write_text("receipt 4711", encoding="utf-8")
    answer = await asyncio.wait_for(ada.messages.get(), ANSWER_S)

    assert answer["body"].startswith("It is paid.")
    assert "receipt 4711" in str(deployment.model.requests[-1]["messages"])
    assert ledger.read_text().splitlines() == ["Bob 10"]


async def _some_lines(path: Path) -> None:
    """Return when some calls run, and none is answered."""
    async with asyncio.timeout(10):
        while not _is_written(path):  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.01)


def _is_written(path: Path) -> bool:
    return path.stat().st_size > 0


def _begun_and_unended(deployment: Deployment) -> tuple[set[str], set[str]]:
    """The lines that calls were to write; those among them whose call has no end in the log."""
    calls = [(_line(call), call.ended) for call in logged(deployment, "write_down")]
    killed = [(line, ended) for line, ended in calls if line.startswith("line ")]
    return {line for line, _ in killed}, {line for line, ended in killed if ended is None}


def _line(call: LoggedCall) -> str:
    arguments: dict[str, str] = json.loads(call.begun.arguments)
    return arguments["line"]
