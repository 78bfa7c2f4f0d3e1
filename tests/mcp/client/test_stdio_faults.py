"""Servers that hang, die, flood and lie: what a caller sees, and what we keep."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import resource
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from spade_llm.mcp.client import guard
from spade_llm.mcp.client.flow_control import MAX_LINE_BYTES
from spade_llm.mcp.server_configs import ServerTimeouts
from spade_llm.tools.toolbox import ToolResult
from tests.mcp.client.conftest import START_S, Servers, command, eventually

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough
DONE = ToolResult(text="done")
MEGABYTE = 1024 * 1024


async def test_a_server_that_never_answers_is_away_and_does_not_hold_up_the_start(
    servers: Servers,
) -> None:
    loop = asyncio.get_running_loop()
    started = loop.time()
    box = await servers.toolbox(
        "hostile", "hang", patience=ServerTimeouts(connect_timeout_s=1, min_backoff_s=60)
    )
    start_s = loop.time() - started

    result = await box.call("srv_work", {})

    assert start_s < 1
    assert result.is_error
    assert "'srv' is unavailable (it did not answer in time)" in result.text


async def test_a_program_that_is_not_there_is_away(servers: Servers) -> None:
    box = await servers.toolbox(
        "hostile", "no_such_mode", patience=ServerTimeouts(min_backoff_s=60)
    )

    result = await box.call("srv_work", {})

    assert "'srv' is unavailable (it exited with status 1)" in result.text


async def test_a_server_that_dies_in_a_call_says_so_and_comes_back(
    servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="spade_llm")
    box = await servers.toolbox("hostile", "die")

    died = await box.call("srv_work", {})

    async def is_back() -> bool:
        return box.state() == "1 tool"

    assert died.is_error
    assert "was lost during the call" in died.text
    await eventually(is_back, timeout_s=START_S)
    assert "it exited with status 3" in caplog.text
    assert "out of cheese" in caplog.text


async def test_tools_stay_offered_through_a_short_absence(servers: Servers) -> None:
    box = await servers.toolbox("hostile", "die", patience=ServerTimeouts(min_backoff_s=60))

    await box.call("srv_work", {})
    later = await box.call("srv_work", {})

    assert "'srv' is unavailable (it exited with status 3)" in later.text
    assert [spec.name for spec in await box.list()] == ["srv_work"]


async def test_tools_are_withdrawn_after_a_long_absence(servers: Servers) -> None:
    patience = ServerTimeouts(min_backoff_s=60, outage_grace_s=0.1)
    box = await servers.toolbox("hostile", "die", patience=patience)
    await box.call("srv_work", {})

    async def is_withdrawn() -> bool:
        return not await box.list()

    await eventually(is_withdrawn)
    assert "unavailable" in box.state()


async def test_a_server_that_stops_reading_is_started_again(servers: Servers) -> None:
    patience = ServerTimeouts(
        connect_timeout_s=START_S, listing_timeout_s=0.5, poll_interval_s=0.5, min_backoff_s=60
    )
    box = await servers.toolbox("hostile", "sulk", patience=patience, timeout_s=1)

    late = await box.call("srv_work", {})

    async def is_away() -> bool:
        return "it stopped answering" in box.state()

    assert "did not finish within 1 s" in late.text
    await eventually(is_away, timeout_s=START_S)


async def test_garbage_between_the_answers_is_left_out(servers: Servers) -> None:
    box = await servers.toolbox("hostile", "chatter")

    results = [await box.call("srv_work", {}) for _ in range(3)]

    assert results == [DONE] * 3


async def test_an_answer_that_is_too_large_is_said_to_be(servers: Servers) -> None:
    box = await servers.toolbox("hostile", "boast")

    large = await box.call("srv_work", {})

    assert large.is_error
    assert f"longer than {MAX_LINE_BYTES} bytes" in large.text
    assert await box.call("srv_work", {}) == DONE


@pytest.mark.parametrize("mode", ["flood", "gush", "badger"])
async def test_a_flood_neither_grows_our_memory_nor_starves_others(
    servers: Servers, mode: str
) -> None:
    box = await servers.toolbox("hostile", mode, timeout_s=2)
    before, cpu = _peak_bytes(), _cpu_s()

    await box.call("srv_work", {})
    lags = await _lags(seconds=2.0)

    assert _peak_bytes() - before < 64 * MEGABYTE
    assert _cpu_s() - cpu < 2.0
    assert sorted(lags)[len(lags) // 2] < 0.05


async def test_standard_error_of_a_server_is_bounded_and_masked(
    servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="spade_llm")
    box = await servers.toolbox("hostile", "shout", env={"SECRET": "swordfish"})

    assert await box.call("srv_work", {}) == DONE

    lines = [record.getMessage() for record in caplog.records]
    assert "MCP server srv: line 0 ***" in lines
    assert "swordfish" not in caplog.text
    assert len(lines) < 200


async def test_a_server_that_repeats_its_secret_does_not_bring_it_into_log_or_status(
    servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="spade_llm")
    once = ServerTimeouts(min_backoff_s=60, start_wait_s=START_S)
    box = await servers.toolbox("hostile", "betray", env={"SECRET": "swordfish"}, patience=once)

    result = await box.call("srv_work", {})

    assert "no access with ***" in result.text
    assert "no access with ***" in box.state()
    assert "swordfish" not in caplog.text


async def test_requests_of_a_server_are_declined(servers: Servers, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    box = await servers.toolbox("hostile", "demand", str(heard))

    assert await box.call("srv_work", {}) == DONE

    said = [json.loads(line) for line in heard.read_text(encoding="utf-8").splitlines()]
    declined = [message for message in said if message.get("id", 0) >= 1000]
    assert [message["id"] for message in declined] == [1000, 1001, 1002]
    assert all("error" in message for message in declined)


async def test_a_stubborn_server_ends_with_its_whole_family(
    servers: Servers, tmp_path: Path
) -> None:
    note = tmp_path / "pids"
    box = await servers.toolbox("hostile", "family", str(note))
    await box.call("srv_work", {})
    pids = [int(pid) for pid in note.read_text(encoding="utf-8").split()]

    await box.__aexit__(None, None, None)

    assert not any(map(_lives, pids))


async def test_processes_that_left_the_process_group_are_ended_too(
    servers: Servers, tmp_path: Path
) -> None:
    note = tmp_path / "pids"
    box = await servers.toolbox("hostile", "daemons", str(note))
    await box.call("srv_work", {})
    pids = [int(pid) for pid in note.read_text(encoding="utf-8").split()]
    assert len(pids) == 3
    assert all(map(_lives, pids))

    await box.__aexit__(None, None, None)

    assert not any(map(_lives, pids))


async def test_a_guard_that_is_told_to_end_takes_the_whole_family_along(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    lifeline, ours = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", guard.__file__, str(lifeline)),
        *command("hostile", "family", str(note)),
        stdin=asyncio.subprocess.PIPE,
        pass_fds=(lifeline,),
        start_new_session=True,
    )

    async def is_running() -> bool:
        return note.exists() and len(note.read_text(encoding="utf-8").split()) == 2

    await eventually(is_running, timeout_s=START_S)
    process.terminate()
    await asyncio.wait_for(process.wait(), START_S)
    os.close(ours)
    os.close(lifeline)

    assert not any(_lives(int(pid)) for pid in note.read_text(encoding="utf-8").split())


async def test_a_server_does_not_outlive_a_kill_minus_nine_of_ours(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    process = await _program_with_server(note, tmp_path)

    async def is_running() -> bool:
        return note.exists() and len(note.read_text(encoding="utf-8").split()) == 2

    await eventually(is_running, timeout_s=START_S)
    pids = [int(pid) for pid in note.read_text(encoding="utf-8").split()]
    process.send_signal(signal.SIGKILL)
    await process.wait()

    async def are_gone() -> bool:
        return not any(map(_lives, pids))

    await eventually(are_gone, timeout_s=10)


_PROGRAM = """
import asyncio, sys
from pathlib import Path
from spade_llm.tools.mcp import McpServer, McpToolbox, Pins, StdioServer

async def main():
    server = McpServer(name="srv", endpoint=StdioServer(command=tuple(sys.argv[2:])))
    async with McpToolbox(server, Pins(Path(sys.argv[1]))):
        await asyncio.sleep(1000)

asyncio.run(main())
"""


async def _program_with_server(note: Path, directory: Path) -> asyncio.subprocess.Process:
    arguments = (str(directory / "mcp.db"), *command("hostile", "family", str(note)))
    return await asyncio.create_subprocess_exec(sys.executable, "-c", _PROGRAM, *arguments)


async def _lags(*, seconds: float) -> list[float]:
    """How late the loop comes back to somebody else's work."""
    loop = asyncio.get_running_loop()
    end, lags = loop.time() + seconds, []
    while (now := loop.time()) < end:
        await asyncio.sleep(0.01)
        lags.append(loop.time() - now - 0.01)
    return lags


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
