"""`spade-llm tools`: what is offered to whom, and what was called. With tools of one's own."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from typing import TYPE_CHECKING

import pytest

from spade_llm.tools.call_log import CallEnded, JsonLinesCallLog, new_call_record
from spade_llm.tools.toolbox import CallContext
from tests.cli.program import Program, modest_agents, program_in

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]

OWN = '''
from spade_llm.tools import tool

@tool(needs_approval=True)
def open_gate() -> str:
    """Open the gate.

    Both wings."""
    return "open"
'''
TOML = """
[python]
tools = ["own.py"]

[tools.calculator]
allowed = ["somebody@else.example"]
"""

SLOW = """
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("shop", log_level="ERROR")

@server.tool()
def stock(item: str) -> str:
    return "3"

while not Path(__file__).with_name("go").exists():
    time.sleep(0.02)
server.run()
"""


@pytest.fixture
def program(tmp_path: Path, unused_tcp_port: int) -> Program:
    return program_in(tmp_path, has_prosody=False, port=unused_tcp_port)


def change(program: Program, toml: str, own: str = OWN) -> None:
    folder = program.agents / "tools"
    (folder / "own.py").write_text(own, encoding="utf-8")
    with (folder / "agent.toml").open("a", encoding="utf-8") as file:
        file.write(toml)


async def test_it_lists_what_the_person_may_call(program: Program) -> None:
    change(program, TOML)
    async with program.up() as up:
        await up.ready()
        listed = await program.run("tools", "list")
        away = await program.run("tools", "list", "--agent", "nobody")

    lines = listed.output.splitlines()
    assert [line[:33].split()[-1] for line in lines] == [
        *("get_current_datetime", "open_gate", "tools_read_more"),
    ]
    assert lines[1].startswith("ask open_gate ")
    assert lines[1].endswith("Open the gate.")
    assert away.status == 1
    assert "nobody@localhost did not list its tools" in away.errors


async def test_a_listing_waits_for_an_mcp_server_that_is_starting(program: Program) -> None:
    (program.data / "shop.py").write_text(SLOW, encoding="utf-8")
    script = json.dumps([sys.executable, str(program.data / "shop.py")])
    change(program, f"[mcp.shop]\ncommand = {script}")
    async with program.up() as up:
        await up.ready()
        assert any(line.endswith("2 local; shop: starting") for line in up.lines)
        listing = await asyncio.create_subprocess_exec(
            *program.command("tools", "list"), stdout=PIPE, stderr=PIPE, env=program.environment
        )
        assert listing.stderr is not None
        told = await listing.stderr.readline()
        (program.data / "go").touch()
        output, _ = await listing.communicate()

    assert told == b"waiting for MCP servers that are starting: shop\n"
    assert b"shop_stock " in output


@pytest.mark.parametrize(
    ("toml", "complaint"),
    [
        ('[python]\ntools = ["none.py"]', "python.tools: there is no file"),
        ("[tools.calculater]\nallowed = []", "[tools.calculater]: unknown tool"),
        ("[calls]\ntimeout_s = 0", "calls.timeout_s"),
        ('[calls]\napproval = "maybe"', "calls.approval"),
    ],
)
async def test_a_wrong_toml_ends_the_start_and_says_why(
    toml: str, complaint: str, program: Program
) -> None:
    change(program, toml)

    outcome = await program.run("up", *program.up_arguments, "--no-chat")

    assert outcome.status == 1
    assert complaint in outcome.errors


async def logged(data: Path) -> None:
    context = CallContext(on_behalf_of="ada@x", approved_by="bob@x")
    async with JsonLinesCallLog(data / "agents" / "tools@localhost" / "calls") as log:
        one = new_call_record("assistant@localhost", "add", {"a": 1, "token": "hunter2"}, context)
        log.begun(one)
        log.ended(CallEnded(id=one.id, outcome="done", duration_ms=12.4, result_chars=3))
        log.begun(new_call_record("eve@y", "erase\x1b[2J", {}, CallContext()))


async def test_the_call_log_shows_caller_tool_and_outcome(tmp_path: Path) -> None:
    program = Program(
        data=tmp_path / "data", agents=modest_agents(tmp_path / "a"), has_prosody=False
    )
    await logged(program.data)

    shown = await program.run("tools", "log")
    one = await program.run("tools", "log", "--caller", "ada@x", "--json")
    none = await program.run("tools", "log", "--tool", "other")

    first, second = shown.output.splitlines()
    assert "add: done, 12 ms  (assistant@localhost for ada@x, approved by bob@x)" in first
    assert '{"a": 1, "token": "***"}' in first
    assert "not ended" in second
    assert "\x1b" not in second
    assert json.loads(one.output)["outcome"] == "done"
    assert (none.status, none.output) == (0, "no calls\n")


async def test_without_a_log_it_says_where_it_looked(tmp_path: Path) -> None:
    program = Program(
        data=tmp_path / "data", agents=modest_agents(tmp_path / "a"), has_prosody=False
    )
    await logged(program.data)

    outcome = await program.run("tools", "log", "--agent", "other")

    assert outcome.status == 1
    assert "no log of calls of 'other'" in outcome.errors
    assert "known: tools@localhost" in outcome.errors
