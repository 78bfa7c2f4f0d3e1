"""Starting, stopping, dying and coming back, on both servers."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import spade_llm
from spade_llm.core.errors import ConfigurationError, PortInUse
from spade_llm.xmpp.servers.certificates import local_certificates
from spade_llm.xmpp.servers.managed_server import Endpoint, choose_server
from spade_llm.xmpp.servers.prosody import ProsodyServer
from spade_llm.xmpp.servers.server_process import answers_stream
from tests.xmpp import server_holder
from tests.xmpp.client import WAIT_S, Client

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spade_llm.xmpp.servers.embedded.launcher import EmbeddedServer

    Server = EmbeddedServer | ProsodyServer

pytestmark = pytest.mark.thorough
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, or needs PDEATHSIG")


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    """Return once it holds; there is no event to wait for outside our processes."""
    async with asyncio.timeout(2 * WAIT_S):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def delivered_after(server: Server, endpoint: Endpoint) -> str:
    """Log bob in; return the body of the first message that was waiting for him."""
    bob = Client("bob@localhost", "secret")
    await bob.log_in(endpoint)
    body = (await bob.received())["body"]
    await bob.close()
    return str(body)


async def leave_message_for_bob(server: Server, endpoint: Endpoint) -> None:
    for name in ("alice", "bob"):
        await server.create_account(f"{name}@localhost", "secret")
    alice = Client("alice@localhost", "secret")
    await alice.log_in(endpoint)
    alice.send("bob@localhost", "read this later")
    await alice.ping()
    await alice.close()


async def test_accounts_and_waiting_messages_survive_a_restart(own_server: Server) -> None:
    endpoint = await own_server.start()
    await leave_message_for_bob(own_server, endpoint)

    again = await own_server.restart()

    assert again == endpoint
    assert await delivered_after(own_server, again) == "read this later"


async def test_a_killed_server_is_noticed_and_comes_back_with_everything(
    own_server: Server,
) -> None:
    endpoint = await own_server.start()
    await leave_message_for_bob(own_server, endpoint)
    failed = asyncio.create_task(own_server.wait_failed())
    assert own_server.pid is not None

    os.kill(own_server.pid, signal.SIGKILL)

    assert "status -9" in await asyncio.wait_for(failed, WAIT_S)
    assert own_server.pid is None
    assert await own_server.start() == endpoint
    assert await delivered_after(own_server, endpoint) == "read this later"


async def test_a_stopped_server_has_gone_and_is_not_called_failed(own_server: Server) -> None:
    endpoint = await own_server.start()
    failed = asyncio.create_task(own_server.wait_failed())

    await own_server.stop()

    assert not await answers_stream(endpoint)
    assert not failed.done()
    failed.cancel()


async def test_a_watch_begun_before_a_restart_sees_the_next_failure(own_server: Server) -> None:
    await own_server.start()
    failed = asyncio.create_task(own_server.wait_failed())
    await own_server.restart()
    assert own_server.pid is not None

    os.kill(own_server.pid, signal.SIGKILL)

    assert "status -9" in await asyncio.wait_for(failed, WAIT_S)


async def test_stopping_twice_and_before_the_start_does_nothing(own_server: Server) -> None:
    await own_server.stop()
    await own_server.start()

    await own_server.stop()
    await own_server.stop()

    assert own_server.pid is None


async def test_starting_twice_is_refused(own_server: Server) -> None:
    await own_server.start()

    with pytest.raises(ConfigurationError, match="already running"):
        await own_server.start()


async def test_a_port_that_is_taken_is_named(own_server: Server, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = type(own_server)(tmp_path / "other", port=port)

        with pytest.raises(ConfigurationError, match=f"port {port} .* is taken"):
            await server.start()


async def test_another_server_of_our_domain_on_our_port_is_not_taken_for_ours(
    own_server: Server, tmp_path: Path
) -> None:
    endpoint = await own_server.start()
    ours = local_certificates(tmp_path / "ours", "localhost")

    with pytest.raises(PortInUse, match=f"port {endpoint.port} "):
        await answers_stream(replace(endpoint, ca_path=ours.ca_path))


@LINUX
async def test_only_the_ports_for_clients_and_uploads_are_open_and_only_on_loopback(
    own_server: Server,
) -> None:
    endpoint = await own_server.start()
    assert own_server.pid is not None

    addresses = listening_addresses(own_server.pid)

    takes_uploads = isinstance(own_server, ProsodyServer)
    assert len({port for _, port in addresses}) == (2 if takes_uploads else 1)
    assert {address for address, _ in addresses} <= {"127.0.0.1", "::1"}
    assert ("127.0.0.1", endpoint.port) in addresses


async def test_secrets_are_readable_by_their_owner_only(own_server: Server, tmp_path: Path) -> None:
    await own_server.start()
    await own_server.create_account("alice@localhost", "open sesame")

    directory = tmp_path / "server"

    assert directory.stat().st_mode & 0o077 == 0
    for path in (path for path in directory.rglob("*") if path.is_file()):
        assert b"open sesame" not in path.read_bytes(), path
        if path.suffix in (".key", ".db"):
            assert path.stat().st_mode & 0o077 == 0


@LINUX
@pytest.mark.parametrize("kind", ["embedded", pytest.param("prosody", marks=pytest.mark.server)])
async def test_a_server_ends_with_the_process_that_started_it(kind: str, tmp_path: Path) -> None:
    holding, endpoint, pid = await start_holder(kind, tmp_path)

    holding.kill()
    await asyncio.wait_for(holding.wait(), WAIT_S)

    await eventually(lambda: has_closed(endpoint))
    await eventually(lambda: has_ended(pid))


async def test_a_server_left_over_from_an_earlier_run_is_ended_at_the_next_start(
    own_server: Server, tmp_path: Path
) -> None:
    directory = tmp_path / "server"
    directory.mkdir()
    left_over = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "import time; time.sleep(60)", str(directory)
    )
    (directory / "server.pid").write_text(str(left_over.pid))

    await own_server.start()

    assert await asyncio.wait_for(left_over.wait(), WAIT_S) == -signal.SIGTERM


async def test_a_pid_file_of_another_process_is_ignored(own_server: Server, tmp_path: Path) -> None:
    directory = tmp_path / "server"
    directory.mkdir()
    stranger = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "import time; time.sleep(60)"
    )
    (directory / "server.pid").write_text(str(stranger.pid))

    await own_server.start()

    assert stranger.returncode is None
    stranger.kill()
    await stranger.wait()


def test_an_unknown_kind_of_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="auto, embedded, prosody"):
        choose_server("openfire", tmp_path)


def test_without_prosody_on_path_auto_takes_the_embedded_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    server = choose_server("auto", tmp_path)

    assert "no rooms" in server.description


async def test_prosody_asked_for_by_name_and_missing_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ConfigurationError, match="apt install prosody"):
        await choose_server("prosody", tmp_path).start()


@pytest.mark.server
async def test_auto_takes_prosody_where_it_is_installed(tmp_path: Path) -> None:
    assert choose_server("auto", tmp_path).description.startswith("Prosody")


async def test_a_prosody_that_cannot_start_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in ("prosody", "prosodyctl"):
        (tmp_path / program).write_text("#!/bin/sh\necho lua is broken\nexit 3\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    with pytest.raises(ConfigurationError, match="status 3.*lua is broken"):
        await ProsodyServer(tmp_path / "server").start()


async def start_holder(
    kind: str, directory: Path
) -> tuple[asyncio.subprocess.Process, Endpoint, int]:
    root = Path(spade_llm.__file__).parents[1]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", server_holder.__name__, kind, str(directory / "held")),
        stdout=subprocess.PIPE,
        cwd=root,
    )
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), 2 * WAIT_S)
    port, pid = map(int, line.split())
    return process, Endpoint(host="127.0.0.1", port=port, domain="localhost"), pid


async def has_closed(endpoint: Endpoint) -> bool:
    try:
        _, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # It closes at this very moment.
        return False
    writer.close()
    return False


async def has_ended(pid: int) -> bool:
    return is_gone(pid)


def is_gone(pid: int) -> bool:
    """Gone, or a zombie that nobody has fetched: neither holds anything."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


def listening_addresses(pid: int) -> set[tuple[str, int]]:
    """What a process listens on, as the kernel tells."""
    inodes = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    found = set()
    for family, table in ((socket.AF_INET, "tcp"), (socket.AF_INET6, "tcp6")):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                found.add(decoded_address(family, fields[1]))
    return found


def decoded_address(family: int, text: str) -> tuple[str, int]:
    """`0100007F:1466` → ("127.0.0.1", 5222): 32-bit words, each in the machine's order."""
    address, port = text.split(":")
    words = [
        int(address[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(address), 8)
    ]
    return socket.inet_ntop(family, b"".join(words)), int(port, 16)
