"""`spade-llm up` and its companions, as a person uses them: real processes, real servers."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
import pytest_asyncio

from spade_llm.xmpp.servers.data_directory import AccountPasswords
from tests.cli.hanging_server import hanging_server
from tests.cli.program import ROOT, STOP_S, Program, command_of, processes_of, program_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.cli.program import Up
    from tests.conftest import Provisioner

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]

NO_WEB = ("--http", "off")
"""For tests that are not about all of it: a gateway is a quarter of a start."""


@pytest.fixture(params=["embedded", pytest.param("prosody", marks=pytest.mark.server)])
def program(request: pytest.FixtureRequest, tmp_path: Path, unused_tcp_port: int) -> Program:
    return program_in(tmp_path, has_prosody=request.param == "prosody", port=unused_tcp_port)


@pytest.fixture
def alone(tmp_path: Path, unused_tcp_port: int) -> Program:
    """On a machine without Prosody."""
    return program_in(tmp_path, has_prosody=False, port=unused_tcp_port)


async def test_up_answers_and_stops_without_leaving_anything(program: Program) -> None:
    """Its lines hold what another client needs to log in; somebody new gets an account, too."""
    async with program.up() as up:
        assert "assistant@localhost" in await up.ready()
        password = (program.data / "accounts" / "you@localhost").read_text().strip()
        made = await program.run("account", "ada")
        new = await program.run("ask", "--as", "ada@localhost", "what is 12 * 12?")

        answer = await program.run("ask", "what is 12 * 12?")
        doctor = await program.run("doctor", "--agents", str(program.agents))
        (program.data / "agents" / "retired@localhost").mkdir()
        health = await program.run("health")
        (web,) = json.loads((program.data / "run.json").read_text())["web"]
        async with httpx.AsyncClient(trust_env=False, timeout=STOP_S) as client:
            page = await client.get(f"{web}/console", follow_redirects=True)
        status = await up.stop()

    assert (answer.status, "144" in answer.output) == (0, True)
    assert doctor.status == 0
    assert (health.status, "retired" in health.output) == (0, False), health.output
    assert all(f"{name}@localhost" in doctor.output for name in ("assistant", "memory", "rag"))
    assert f"{web} answers" in doctor.output
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert f"web         {web}/console" in up.lines
    login = next(line for line in up.lines if line.startswith("your login"))
    assert all(part in login for part in ("you@localhost", password, "127.0.0.1", "port", "ca.pem"))
    assert (made.status, made.output.startswith("ada@localhost can log in")) == (0, True)
    assert (new.status, "144" in new.output) == (0, True)
    assert status == 0
    assert processes_of(program.data) == {}
    assert not (program.data / "run.json").exists()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    tmp_path_factory: pytest.TempPathFactory, unused_tcp_port_factory: Callable[[], int]
) -> AsyncIterator[tuple[Program, Up]]:
    """One `up` for all who only ask it something."""
    folder, port = tmp_path_factory.mktemp("running"), unused_tcp_port_factory()
    program = program_in(folder, has_prosody=False, port=port)
    async with program.up() as up:
        await up.ready()
        yield program, up


@pytest.mark.asyncio(loop_scope="module")
async def test_a_second_up_on_the_same_data_is_told_that_one_runs(
    running: tuple[Program, Up],
) -> None:
    program, up = running

    second = await program.run("up", *program.up_arguments)

    assert second.status == 1
    assert f"already running (pid {up.pid}): `spade-llm chat` opens" in second.errors


@pytest.mark.asyncio(loop_scope="module")
async def test_a_script_chats_by_lines(running: tuple[Program, Up]) -> None:
    program, _ = running

    chat = await program.run("chat", stdin="My name is Ada.\n\nWhat is my name?\n/quit\nnever\n")

    assert chat.status == 0
    assert chat.output.count("Ada") >= 2


@pytest.mark.asyncio(loop_scope="module")
async def test_the_agents_and_their_tools_are_listed(running: tuple[Program, Up]) -> None:
    program, _ = running

    listed = await program.run("agents")

    assert listed.status == 0
    for kind in ("assistant", "memory", "rag", "tools", "gateway"):
        assert re.search(rf"^{kind}@localhost +{kind} ", listed.output, re.MULTILINE)
    assert "urn:spade-llm:tools:1" in listed.output
    assert re.search(r"^ +tool +calculator: ", listed.output, re.MULTILINE)


@pytest.mark.asyncio(loop_scope="module")
async def test_one_agent_runs_on_the_server_of_another_up(
    running: tuple[Program, Up], tmp_path: Path
) -> None:
    program, _ = running
    toml = program.agents / "tools" / "agent.toml"
    other = tmp_path / "agent.toml"
    other.write_text(toml.read_text().replace('jid = "tools"', 'jid = "other"'))

    again = await program.run("run", str(toml))
    stranger = await program.run("run", str(other))

    assert (again.status, stranger.status) == (1, 1)
    assert "tools@localhost with this data is already running" in again.errors
    assert "there is no password for other@localhost" in stranger.errors


@pytest.mark.asyncio(loop_scope="module")
async def test_an_unknown_address_is_an_error_and_not_an_answer(
    running: tuple[Program, Up],
) -> None:
    program, _ = running

    outcome = await program.run("ask", "anybody there?", "--to", "nobody@localhost")

    assert (outcome.status, outcome.output) == (1, "")
    assert "nobody@localhost" in outcome.errors


async def test_facts_are_known_after_a_restart(alone: Program) -> None:
    async with alone.up(*NO_WEB) as up:
        await up.ready()
        await alone.run("ask", "My name is Ada.")
        await up.stop()

    async with alone.up(*NO_WEB) as up:
        await up.ready()
        answer = await alone.run("ask", "What is my name?")

    assert "Ada" in answer.output


async def test_a_hanging_model_does_not_block_the_start_and_its_question_is_answered_later(
    alone: Program,
) -> None:
    toml = alone.agents / "assistant" / "agent.toml"
    offline = toml.read_text()
    async with hanging_server() as model:
        slow = f'kind = "openai_compatible"\nmodel = "slow"\nbase_url = "{model.url}"'
        toml.write_text(offline.replace('kind = "offline"', slow))
        async with alone.up(*NO_WEB) as up:
            await up.ready()
            question = asyncio.create_task(alone.run("ask", "My name is Ada."))
            await model.wait_asked("My name is Ada.")

            assert await up.stop() == 0
        question.cancel()
        await asyncio.wait([question])

    toml.write_text(offline)
    async with alone.up(*NO_WEB) as up:
        await up.ready()
        answer = await alone.run("ask", "What is my name?")

    assert "Ada" in answer.output


async def test_ctrl_c_reaches_every_process_and_up_still_ends_in_order(program: Program) -> None:
    async with program.up("--processes") as up:
        await up.ready()

        status = await up.stop(signal.SIGINT, group=True)
        await up.all_gone()

    assert status == 0
    log = (program.data / "log" / "assistant.log").read_text()
    assert "not back yet" not in log


async def test_the_key_of_a_model_is_in_the_processes_that_may_call_one(program: Program) -> None:
    with_key = replace(program, variables={"OPENAI_API_KEY": "sk-secret"})
    folder = program.agents / "tools"
    with (folder / "agent.toml").open("a") as settings:
        settings.write('[python]\ntools = ["own.py"]\n')
    (folder / "own.py").write_text(
        "import os, pathlib\n"
        "from spade_llm.tools import tool\n"
        "pathlib.Path(__file__).with_name('seen').write_text(str(sorted(os.environ)))\n"
        "@tool\ndef hello() -> str:\n    'Say hello.'\n    return 'hello'\n"
    )

    async with with_key.up("--processes", *NO_WEB) as up:
        # The assistant's model is set to be rules; answers about documents may come from a model.
        rag = await up.line("agent       rag@")
        await up.ready()
        others = [pid for pid in processes_of(program.data) if pid != up.pid]
        having = [pid for pid in others if b"sk-secret" in _environment_of(pid)]

    assert "answers by passages" not in rag
    assert "PATH" in (folder / "seen").read_text()
    assert "OPENAI" not in (folder / "seen").read_text()
    assert others
    assert not having


async def test_a_disk_that_is_full_is_said_in_one_line(alone: Program) -> None:
    """As full as a limit on the size of files makes it."""
    limit = "import os, resource, sys\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    become = "os.execv(sys.argv[1], sys.argv[1:])"
    on_full = replace(alone, tracer=(sys.executable, "-c", limit + become))

    outcome = await on_full.run("up", *alone.up_arguments, *NO_WEB)

    assert outcome.status == 1
    assert outcome.errors == "spade-llm up: no space left: File too large\n"


@pytest.mark.quick
async def test_an_agent_that_is_killed_comes_back(alone: Program) -> None:
    async with alone.up("--processes", *NO_WEB) as up:
        await up.ready()
        (victim,) = _running(alone, "assistant/agent.toml")

        os.kill(victim, signal.SIGKILL)
        await up.line("agent       assistant has died")
        answer = await alone.run("ask", "what is 12 * 12?")

        assert "144" in answer.output
        assert _running(alone, "assistant/agent.toml") != [victim]


async def test_agents_come_back_when_the_process_that_starts_them_is_killed(
    alone: Program,
) -> None:
    async with alone.up("--processes", *NO_WEB) as up:
        await up.ready()
        (fork_server,) = [pid for pid in _children(up.pid) if "fork server" in command_of(pid)]

        os.kill(fork_server, signal.SIGKILL)
        await up.line("agent       assistant has died")
        answer = await alone.run("ask", "what is 12 * 12?")

        assert "144" in answer.output
        assert await up.stop() == 0
        await up.all_gone()


async def test_a_server_that_is_killed_comes_back_and_the_agents_with_it(alone: Program) -> None:
    async with alone.up(*NO_WEB) as up:
        await up.ready()
        (server,) = _running(alone, "spade_llm.xmpp.servers.embedded.main")

        os.kill(server, signal.SIGKILL)
        await up.line("server      is running again")
        answer = await alone.run("ask", "what is 12 * 12?")

    assert "144" in answer.output


async def test_an_agent_logs_in_with_a_reset_password(alone: Program) -> None:
    kept = alone.data / "accounts" / "assistant@localhost"
    async with alone.up(*NO_WEB) as up:
        await up.ready()
        first = kept.read_text()

        refused = await alone.run("account", "Assistant")
        reset = await alone.run("account", " Assistant@LOCALHOST ", "--reset")
        (server,) = _running(alone, "spade_llm.xmpp.servers.embedded.main")
        os.kill(server, signal.SIGKILL)
        await up.line("server      is running again")
        answer = await alone.run("ask", "what is 12 * 12?")

    assert refused.status == 1
    assert "assistant@localhost is an agent: --reset" in refused.errors
    assert (reset.status, "assistant@localhost can log in" in reset.output) == (0, True)
    assert kept.read_text() != first
    assert "144" in answer.output


async def test_nothing_outlives_an_up_that_is_killed(alone: Program) -> None:
    async with alone.up("--processes") as up:
        await up.ready()

        await up.stop(signal.SIGKILL)
        await up.all_gone()


async def test_an_agent_that_cannot_start_ends_up_with_the_reason(alone: Program) -> None:
    toml = alone.agents / "assistant" / "agent.toml"
    toml.write_text(toml.read_text().replace("prompt.md", "away.md"))

    for arguments in (NO_WEB, (*NO_WEB, "--processes")):
        outcome = await alone.run("up", *alone.up_arguments, *arguments)

        assert outcome.status == 1
        assert "prompt_file" in outcome.errors
        assert processes_of(alone.data) == {}


async def test_a_script_is_asked_before_a_tool_runs_and_its_next_line_answers(
    alone: Program,
) -> None:
    toml = alone.agents / "tools" / "agent.toml"
    toml.write_text(f'{toml.read_text()}\n[tools.calculator]\napproval = "ask"\n')
    sums = "What is 12 * 12?\nyes\nWhat is 13 * 13?\nno\n"
    async with alone.up(*NO_WEB) as up:
        await up.ready()

        chat = await alone.run("chat", stdin=sums)

    assert chat.output.count("May I run this tool?") == 2
    assert 'expression = "12*12"' in chat.output
    assert "144" in chat.output
    assert "said no" in chat.output
    assert "169" not in chat.output


async def test_without_up_a_question_says_what_to_start(alone: Program) -> None:
    outcome = await alone.run("ask", "anybody there?")

    assert (outcome.status, outcome.output) == (1, "")
    assert "spade-llm up" in outcome.errors


async def test_an_external_server_needs_existing_accounts(alone: Program) -> None:
    outcome = await alone.run("up", *alone.up_arguments, "--server", "127.0.0.1:9")

    assert outcome.status == 1
    assert "there is no password for memory@127.0.0.1" in outcome.errors


async def test_agents_run_on_an_external_server_with_existing_accounts(
    alone: Program, embedded: Provisioner
) -> None:
    endpoint = embedded.endpoint
    accounts = AccountPasswords(alone.data)
    for name in ("assistant", "memory", "rag", "tools", "gateway", "you"):
        jid = f"{name}@{endpoint.domain}"
        await embedded.server.create_account(jid, accounts.get_or_make(jid))
    address = f"{endpoint.host}:{endpoint.port}"
    there = ("--server", address, "--domain", endpoint.domain, "--ca", str(endpoint.ca_path))

    async with alone.up(*there) as up:
        await up.ready()
        answer = await alone.run("ask", "what is 12 * 12?")
        status = await up.stop()

    assert ("144" in answer.output, status) == (True, 0)
    assert not (alone.data / "embedded").exists()


def test_on_a_terminal_up_opens_a_chat_and_leaving_it_ends_everything(alone: Program) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "spade_llm.cli", "up", "--data", str(alone.data)]
    process = subprocess.Popen(
        [*command, *alone.up_arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**alone.environment, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
    )
    os.close(slave)
    try:
        after = _see(master, "you>")
        os.write(master, b"what is 12 * 12?\r")
        after = _see(master, "144", after)
        _see(master, "you>", after)
        os.write(master, b"/quit\r")
        status = process.wait(timeout=STOP_S)
    finally:
        process.kill()
        process.wait()
        os.close(master)

    assert status == 0
    assert processes_of(alone.data) == {}
    assert "12 * 12" in (alone.data / "chat-history").read_text()


def test_help_costs_no_heavy_import() -> None:
    code = (
        "import sys; from spade_llm.cli.command_line import build_parser; build_parser();"
        "print(sorted({'pydantic', 'asyncio', 'spade', 'openai'} & set(sys.modules)))"
    )

    output = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout

    assert output == "[]\n"


def _environment_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _running(program: Program, what: str) -> list[int]:
    return [pid for pid, command in processes_of(program.data).items() if what in command]


def _see(master: int, text: str, seen: str = "") -> str:
    """Read the terminal until the text has appeared; what was read beyond it, for the next."""
    deadline = time.monotonic() + 60
    while text not in seen:
        assert select.select([master], [], [], deadline - time.monotonic())[0], seen
        seen += os.read(master, 65536).decode(errors="replace")
    return seen.partition(text)[2]
