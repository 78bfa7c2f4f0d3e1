"""The server of `up`: the port of our own, the accounts on another one."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.cli.xmpp_server import register_accounts, run_server
from spade_llm.core.errors import AuthenticationRejected, RegistrationThrottled
from spade_llm.xmpp.connection.probes import probe_login
from spade_llm.xmpp.servers.managed_server import Endpoint, choose_server
from spade_llm.xmpp.servers.server_process import answers_stream
from tests.cli.deployment.hosted import DOMAIN, new_deployment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.cli.context import CliContext
    from spade_llm.xmpp.servers.managed_server import ManagedServer

PAUSED = """\
allow_registration = true
registration_allowlist = {}
registration_throttle_max = 1
registration_throttle_period = 2
"""


async def start(stack: AsyncExitStack, kind: str, data: Path, port: int) -> CliContext:
    def server_on(port: int) -> ManagedServer:
        return choose_server(kind, data, port=port)

    running = run_server(server_on, (port, 0, 0), data, {}, say=lambda _: None)
    return await stack.enter_async_context(running)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["embedded", pytest.param("prosody", marks=pytest.mark.server)])
async def test_two_that_start_in_the_same_moment_take_two_ports(
    kind: str, tmp_path: Path, unused_tcp_port: int
) -> None:
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
    async with AsyncExitStack() as stack:
        places = await asyncio.gather(
            *(start(stack, kind, folder, unused_tcp_port) for folder in folders)
        )

        assert unused_tcp_port in {place.port for place in places}
        assert len({place.port for place in places}) == 2
        for place in places:
            here = Endpoint(host=place.host, port=place.port, domain=place.domain, ca_path=place.ca)
            assert await answers_stream(here)


@pytest_asyncio.fixture
async def registering(tmp_path: Path) -> AsyncIterator[CliContext]:
    """A server that lets everybody register, one account in two seconds."""
    hosted = new_deployment(tmp_path, "memory")
    hosted.prepare()
    closed = hosted.config.read_text(encoding="utf-8")
    opened = closed.replace('"roster"', '"roster", "register_ibr", "register_limits"')
    hosted.config.write_text(PAUSED + opened, encoding="utf-8")
    async with hosted.serving():
        yield replace(hosted.place, may_register=True)


@pytest.mark.server
async def test_accounts_are_registered_over_the_pauses_of_the_server(
    registering: CliContext,
) -> None:
    passwords = {f"{name}@{DOMAIN}": f"of {name}" for name in ("you", "memory")}
    lines: list[str] = []

    await register_accounts(registering, passwords, lines.append, every_s=0.1)

    closed = replace(registering, may_register=False)
    for jid, password in passwords.items():
        async with probe_login(jid, password, closed.connection()):
            pass
    assert {line.split(";")[0] for line in lines} == {
        f"account     memory@{DOMAIN} (2 of 2): the server limits registrations"
    }


@pytest.mark.server
async def test_a_pause_and_a_taken_name_are_told_apart(registering: CliContext) -> None:
    async with probe_login(f"you@{DOMAIN}", "first", registering.connection()):
        pass

    with pytest.raises(RegistrationThrottled, match="policy-violation"):
        async with probe_login(f"memory@{DOMAIN}", "x", registering.connection()):
            pass
    with pytest.raises(AuthenticationRejected, match=r"does not register it \(conflict\)"):
        await register_accounts(
            registering, {f"you@{DOMAIN}": "second"}, lambda _: None, every_s=0.1
        )
