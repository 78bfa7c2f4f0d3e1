"""Typical mistakes at the command line: what is wrong and the fix, the exit code, no traceback.

Each row: the command, its exit code, and words of the message on standard error.
"""

from __future__ import annotations

import os
import shlex
import socket
import sys
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.cli import main
from tests.cli.program import Program, program_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

ASSISTANT = 'kind = "assistant"\njid = "assistant"\n'
AGENT_FILES = {
    "broken": "kind = ",
    "key": f'{ASSISTANT}promt_file = "x"',
    "table": f"{ASSISTANT}[limits]\nsecond = 3",
    "type": f"{ASSISTANT}gateways = 3",
    "number": f'{ASSISTANT}[limits]\nseconds = "3"',
    "range": f"{ASSISTANT}[limits]\nseconds = -3",
    "kind": 'kind = "asistant"\njid = "a"',
    "jid": 'kind = "tools"\njid = "a b@c"',
    "nojid": 'kind = "tools"',
    "prompt": f'{ASSISTANT}prompt_file = "away.md"',
    "server": f'{ASSISTANT}[server]\nhost = "x"',
}
WITHOUT_NETWORK = [
    # the command line
    ("tols", 2, ["unknown command 'tols'", "did you mean 'tools'?"]),
    ("frobnicate", 2, ["unknown command 'frobnicate'", "choose one of up, run"]),
    ("ask", 2, ["missing QUESTION"]),
    ("ask ''", 2, ["QUESTION: it is empty"]),
    ("ask hi there", 2, ["unknown argument 'there'"]),
    ("ask hi --timeout 0", 2, ["--timeout", "from 1 to"]),
    ("agents --jsn", 2, ["unknown option '--jsn'", "did you mean '--json'?"]),
    ("memory", 2, ["choose an ACTION: stats, verify"]),
    ("memory exprt f", 2, ["did you mean 'export'?"]),
    ("memory export", 2, ["missing FILE"]),
    ("memory export f --format markdwn", 2, ["--format", "did you mean 'markdown'?"]),
    ("storage", 2, ["choose an ACTION: move"]),
    ("storage move", 2, ["missing --to"]),
    ("storage move --to postgres", 2, ["--to", "choose one of database, files"]),
    ("storage move --to database", 1, ["--database", "SPADE_LLM_DATABASE"]),
    ("usage --days 0", 2, ["--days: '0' is not a number from 1"]),
    ("up --port 70000", 2, ["--port: '70000' is not a number from 1 to 65535"]),
    ("up --data ''", 2, ["--data: it is empty"]),
    ("completion tcsh", 2, ["choose one of bash, zsh, fish"]),
    ("token create phone", 2, ["missing --principal"]),
    ("invite --list --revoke x", 2, ["not allowed with argument --list"]),
    ("mcp --tools memry", 1, ["--tools: 'memry' is not one of memory,"]),
    # the wrong folder, and no network that runs
    ("ask hi", 1, ["nothing runs on the data in", "spade-llm up", "--data"]),
    ("ask hi --data nowhere", 1, ["nowhere", "spade-llm up"]),
    ("chat", 1, ["nothing runs", "spade-llm up"]),
    ("agents", 1, ["nothing runs", "spade-llm up"]),
    ("tools list", 1, ["nothing runs", "spade-llm up"]),
    ("rag add file", 1, ["nothing runs", "spade-llm up"]),
    ("mcp", 1, ["nothing runs", "spade-llm up"]),
    ("account ada", 1, ["nothing runs there", "spade-llm up"]),
    ("invite", 1, ["no file of invitations of 'assistant'", "[admission] allow"]),
    ("token list", 1, ["gateway's state", "after its first start"]),
    ("usage", 1, ["no usage record of 'assistant'", "--data"]),
    ("tools log", 1, ["no log of calls of 'tools'", "--data"]),
    ("memory stats", 1, ["no memory below", "--data"]),
    ("memory stats --agent nobody", 1, ["no memory of nobody below"]),
    ("health", 1, ["no agent has run on the data"]),
    ("health --data file", 1, ["--data", "is a file: name a directory"]),
    ("up --data file", 1, ["--data", "is a file: name a directory"]),
    ("up --data file/inside", 1, ["--data: cannot make the directory", "Not a directory"]),
    # agent.toml
    ("up --agents nowhere", 1, ["--agents: there is no folder 'nowhere'"]),
    ("up --agents folder", 1, ["there is no NAME/agent.toml in 'folder'"]),
    ("up --agents broken", 1, ["broken/one/agent.toml: not valid TOML"]),
    ("up --agents key", 1, ["promt_file: unknown key: did you mean 'prompt_file'?"]),
    ("up --agents table", 1, ["limits.second: unknown key: did you mean 'seconds'?"]),
    ("up --agents type", 1, ["gateways: must be a list"]),
    ("up --agents number", 1, ["limits.seconds: must be a number"]),
    ("up --agents range", 1, ["limits.seconds: must be greater than 0\n"]),
    ("up --agents kind", 1, ["kind: must be one of", "did you mean 'assistant'?"]),
    ("up --agents jid", 1, ["jid/one/agent.toml: jid: 'a b@c' is not a bare JID"]),
    ("up --agents nojid", 1, ["jid: missing: add it"]),
    ("up --agents server", 1, ["server:", "remove the table"]),
    ("run away.toml", 1, ["cannot read 'away.toml': No such file"]),
    ("run folder", 1, ["cannot read 'folder': Is a directory"]),
    ("run binary", 1, ["'binary' is not UTF-8 text"]),
    # servers, ports, addresses
    ("up --http 127.0.0.1:TAKEN", 1, ["--http: cannot listen at", "choose another address"]),
    ("up --http off --port TAKEN", 1, ["is taken by another program", "another port"]),
    ("up --http x:y", 1, ["--http: 'x:y' is not HOST or HOST:PORT"]),
    ("up --http off --server nohost.invalid", 1, ["no password for memory@nohost.invalid"]),
    *(
        pytest.param(line, 1, said, marks=pytest.mark.thorough)  # each waits for 8 s
        for line, said in (
            ("ask hi --server 127.0.0.1:1", ["no XMPP server answers", "(Connection refused)"]),
            ("ask hi --server nohost.invalid --as you@127.0.0.1", ["nohost.invalid"]),
        )
    ),
    ("ask hi --server 127.0.0.1:1 --ca away.pem", 1, ["away.pem"]),
    ("ask hi --server 127.0.0.1:1 --as 'a b@c'", 1, ["'a b@c' is not a bare JID"]),
    ("ask hi --server 127.0.0.1:1 --as ada", 1, ["no password for ada@127.0.0.1", "write it"]),
    # files
    ("memory import away --agent new@localhost", 1, ["'away' cannot be read", "No such file"]),
    ("memory import binary --agent new@localhost", 1, ["'binary'"]),
    ("memory export file --agent here", 1, ["'file' already exists: choose another name"]),
    ("memory export no/such/folder --agent here", 1, ["cannot be written"]),
    ("memory stats --agent here", 1, ["memory.db"]),
    ("host prepare --to root --domain 'x y'", 1, ["'you@x y' is not a bare JID"]),
    ("host prepare --to file/x --domain x.org", 1, ["--to:", "cannot be written"]),
    ("host prepare --to root --domain x.org --certificates folder", 1, ["fullchain.pem"]),
]
WITH_NETWORK = [
    ("ask hi --to nobody", 1, ["nobody@localhost"]),
    ("ask hi --as ada", 1, ["no password for ada@localhost"]),
    ("tools list --agent nobody", 1, ["nobody@localhost did not list its tools"]),
    ("rag list --for nobody", 1, ["no password for nobody@localhost"]),
    ("rag add away", 1, ["away"]),
    ("rag add fake.pdf", 1, ["fake.pdf"]),
    ("rag delete nothing", 1, ["nothing"]),
    ("rag add file --size 3", 1, ["size"]),
    ("memory reindex", 1, ["already running", "stop the agent first"]),
    ("account you", 1, ["has an account already: --reset"]),
    ("token revoke nothing", 1, ["no token named 'nothing'", "token list"]),
    ("token create x --principal assistant", 1, ["--principal: assistant@localhost is an agent"]),
    ("up --http off", 1, ["already running"]),
]


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another program listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def _prepare(folder: Path) -> None:
    (folder / "file").write_text("text")
    (folder / "fake.pdf").write_text("no PDF")
    (folder / "binary").write_bytes(b"\xff\xfe\x00\xd8")
    (folder / "folder").mkdir()
    for name, text in AGENT_FILES.items():
        (folder / name / "one").mkdir(parents=True)
        (folder / name / "one" / "agent.toml").write_text(text)
    home = folder / "spade-llm-data" / "agents" / "here@localhost"
    home.mkdir(parents=True)
    (home / "memory.db").write_text("no database")
    accounts = folder / "spade-llm-data" / "accounts"
    accounts.mkdir()
    (accounts / "you@127.0.0.1").write_text("secret\n")
    (accounts / "you@127.0.0.1").chmod(0o600)


@pytest.mark.parametrize(("line", "status", "said"), WITHOUT_NETWORK)
def test_a_mistake_is_named_with_its_fix(
    line: str,
    status: int,
    said: list[str],
    tmp_path: Path,
    taken: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in [one for one in os.environ if one.startswith("SPADE_LLM_")]:
        monkeypatch.delenv(name)
    if line.startswith("memory stats") and "here" not in line or line == "health":
        monkeypatch.setenv("SPADE_LLM_DATA", "elsewhere")

    try:
        ended: object = main(shlex.split(line.replace("TAKEN", str(taken))))
    except SystemExit as exit:
        ended = exit.code

    error = capsys.readouterr().err
    assert ended == status, error
    assert error.startswith("spade-llm")
    assert error.count("\n") == 1, error
    assert [words for words in said if words not in error] == [], error


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agent.toml").touch(mode=0o000)
    monkeypatch.chdir(tmp_path)

    assert main(["run", "agent.toml"]) == 1

    assert "cannot read 'agent.toml': Permission denied" in capsys.readouterr().err


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    tmp_path_factory: pytest.TempPathFactory, unused_tcp_port_factory: Callable[[], int]
) -> AsyncIterator[Program]:
    folder = tmp_path_factory.mktemp("running")
    program = program_in(folder, has_prosody=False, port=unused_tcp_port_factory())
    _prepare(folder)
    async with program.up() as up:
        await up.ready()
        yield program


@pytest.mark.thorough
@pytest.mark.timeout(240)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("line", "status", "said"), WITH_NETWORK)
async def test_a_mistake_beside_a_running_network(
    line: str, status: int, said: list[str], running: Program
) -> None:
    names = {"away", "fake.pdf", "file"}
    folder = running.data.parent
    words = [str(folder / word) if word in names else word for word in shlex.split(line)]

    outcome = await running.run(*words)

    assert outcome.status == status, outcome
    assert "Traceback" not in outcome.errors
    assert len(outcome.errors.splitlines()) == 1, outcome
    assert [one for one in said if one not in outcome.errors] == [], outcome
