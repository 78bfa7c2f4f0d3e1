"""What `doctor --host` finds, on a deployment that runs and on broken ones."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
import pytest_asyncio

from spade_llm.cli.context import CliContext
from spade_llm.cli.doctor_checks import CheckState
from spade_llm.cli.doctor_hosting import (
    check_accounts,
    check_clock,
    check_host,
    check_names,
    check_server,
)
from spade_llm.xmpp.connection.probes import DnsResolver, SrvTarget, probe_login
from spade_llm.xmpp.servers.data_directory import AccountPasswords
from spade_llm.xmpp.servers.managed_server import STANZA_LIMIT_BYTES
from tests.cli.deployment.hosted import DOMAIN, new_deployment
from tests.cli.program import Program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.cli.doctor_checks import Check
    from tests.cli.deployment.hosted import Hosted

MODULE = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hosted(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hosted]:
    deployment = new_deployment(tmp_path_factory.mktemp("hosted"), "memory")
    # A name that this machine can resolve.
    deployment.prepare("--web-url", f"https://localhost:{deployment.web_port}")
    await deployment.make_accounts()
    async with deployment.serving():
        yield deployment


def failed(checks: list[Check]) -> list[str]:
    return [check.name for check in checks if check.state is CheckState.FAILED]


def told(checks: list[Check], what: str) -> str:
    return next(f"{one.state} {one.detail} → {one.remedy}" for one in checks if one.name == what)


@MODULE
@pytest.mark.server
async def test_the_folder_of_a_deployment_says_which_server_is_checked(hosted: Hosted) -> None:
    program = Program(data=hosted.root, agents=hosted.agents, has_prosody=True)

    outcome = await program.run("doctor", "--host", "--json", "--agents", str(hosted.agents))

    checks = {one["name"]: one for one in map(json.loads, outcome.output.splitlines())}
    assert outcome.status == 0, outcome
    assert checks["server"]["detail"] == f"{DOMAIN} at localhost:{hosted.port}"
    assert checks["web address"]["state"] == "ok"
    assert checks[f"you@{DOMAIN}"]["state"] == "ok"


@MODULE
@pytest.mark.server
async def test_a_deployment_that_is_well_has_no_failure(hosted: Hosted) -> None:
    web = f"https://localhost:{hosted.web_port}"

    checks = await check_host(hosted.place, web)

    assert failed(checks) == []
    assert "logs in" in told(checks, f"you@{DOMAIN}")
    assert "200 kB take" in told(checks, f"memory@{DOMAIN}")
    assert "serves websocket" in told(checks, "web address")
    assert "from the server's" in told(checks, "clock")


@MODULE
@pytest.mark.server
async def test_a_certificate_of_an_unknown_ca_is_reported_once_and_prevents_logins(
    hosted: Hosted,
) -> None:
    checks = await check_host(replace(hosted.place, ca=None), None)

    assert failed(checks) == ["certificate"]
    assert "--ca FILE" in told(checks, "certificate")
    assert not any("@" in check.name for check in checks)


@MODULE
@pytest.mark.server
@pytest.mark.parametrize(("days", "state"), [(300, "ok"), (390, "missing"), (400, "FAILED")])
async def test_the_end_of_a_certificate_is_seen_in_time(
    hosted: Hosted, days: int, state: str
) -> None:
    checks = await check_server(hosted.place, now=datetime.now(UTC) + timedelta(days=days))

    assert told(checks, "certificate's end").startswith(state)


@MODULE
@pytest.mark.server
async def test_a_server_of_another_domain_is_not_taken_for_ours(hosted: Hosted) -> None:
    checks = await check_server(replace(hosted.place, domain="elsewhere.example"))

    assert failed(checks) == ["server"]


@MODULE
@pytest.mark.server
async def test_a_password_that_the_server_does_not_know_is_found(
    hosted: Hosted, tmp_path: Path
) -> None:
    AccountPasswords(tmp_path).keep(f"memory@{DOMAIN}", "another one")

    checks = await check_accounts(replace(hosted.place, data=tmp_path))

    assert failed(checks) == [f"memory@{DOMAIN}"]
    assert "docker/accounts.sh" in told(checks, f"memory@{DOMAIN}")


@MODULE
@pytest.mark.server
async def test_a_stanza_that_the_server_does_not_take_ends_the_visit_at_once(
    hosted: Hosted,
) -> None:
    password = hosted.password("memory", "memory")

    async with probe_login(f"memory@{DOMAIN}", password, hosted.place.connection()) as visit:
        carried = await visit.round_trip_s(2 * STANZA_LIMIT_BYTES, within_s=60)

    assert carried is None


@pytest.mark.server
async def test_open_registration_is_a_failure(tmp_path: Path) -> None:
    hosted = new_deployment(tmp_path, "memory")
    hosted.prepare()
    closed = hosted.config.read_text(encoding="utf-8")
    opened = closed.replace('"roster"', '"roster", "register_ibr"')
    hosted.config.write_text(f"allow_registration = true\n{opened}", encoding="utf-8")

    async with hosted.serving():
        checks = await check_server(hosted.place)

    assert failed(checks) == ["registration"]


@pytest.mark.server
async def test_a_server_that_reads_in_small_pieces_is_reported(tmp_path: Path) -> None:
    hosted = new_deployment(tmp_path, "memory")
    hosted.prepare()
    config = hosted.config.read_text(encoding="utf-8")
    slow = config.replace("network_default_read_size = 65536", "network_default_read_size = 512")
    assert slow != config
    hosted.config.write_text(slow, encoding="utf-8")

    async with hosted.serving():
        await hosted.make_accounts()
        checks = await check_accounts(hosted.place)

    assert failed(checks) == []
    # On a machine that is too busy for a fast link, nothing is said of the reads.
    reads = [one for one in checks if one.name == "server's reads"]
    assert all("network_default_read_size" in one.remedy for one in reads)


async def test_an_unreachable_address_is_reported_with_a_fix(tmp_path: Path) -> None:
    nowhere = CliContext(data=tmp_path, host="127.0.0.1", port=1, domain=DOMAIN)

    checks = await check_host(nowhere, None)

    assert failed(checks) == ["server"]
    assert "--server HOST" in told(checks, "server")


@pytest.mark.parametrize(
    ("skew_s", "state"), [(0, "ok"), (-3, "ok"), (60, "FAILED"), (-60, "FAILED")]
)
def test_a_clock_that_is_wrong_is_found(skew_s: int, state: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    assert check_clock(now + timedelta(seconds=skew_s), now).state == state


def test_a_server_without_a_clock_is_no_failure() -> None:
    assert check_clock(None, datetime.now(UTC)).state is CheckState.MISSING


class NameServer(asyncio.DatagramProtocol):
    """Answers SRV questions for one name with these targets (RFC 1035, 2782), others with none."""

    def __init__(self, name: str, *records: tuple[int, int, int, str]) -> None:
        self._name = name
        self._records = records

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # asyncio's own, which does not inherit what it is.
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, sender: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 5
        known = data[12 : end - 4].lower() == labels(self._name)
        answers = [self._answer(record) for record in self._records] if known else []
        head = data[:2] + struct.pack("!HHHHH", 0x8180, 1, len(answers), 0, 0)
        self._transport.sendto(head + data[12:end] + b"".join(answers), sender)

    def _answer(self, record: tuple[int, int, int, str]) -> bytes:
        *numbers, target = record
        body = struct.pack("!HHH", *numbers) + labels(target)
        return b"\xc0\x0c" + struct.pack("!HHIH", 33, 1, 60, len(body)) + body


def labels(name: str) -> bytes:
    parts = name.encode().split(b".")
    return b"".join(bytes([len(part)]) + part for part in parts) + b"\0"


@asynccontextmanager
async def names_from(server: NameServer) -> AsyncIterator[DnsResolver]:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: server, local_addr=("127.0.0.1", 0), family=socket.AF_INET
    )
    try:
        async with DnsResolver(
            nameserver="127.0.0.1", port=transport.get_extra_info("sockname")[1]
        ) as names:
            yield names
    finally:
        transport.close()


def at(domain: str, port: int = 5222) -> CliContext:
    return CliContext(data=Path("/"), host="127.0.0.1", port=port, domain=domain)


async def test_srv_records_are_read_best_first() -> None:
    records = ((20, 0, 5222, "spare.example"), (5, 10, 443, "one.example"))

    async with names_from(NameServer("_xmpp-client._tcp.agents.example", *records)) as names:
        targets = await names.targets("xmpp-client", "agents.example")
        none = await names.targets("xmpp-client", "other.example")

    assert targets == [SrvTarget("one.example", 443), SrvTarget("spare.example", 5222)]
    assert none == []


async def test_a_record_that_names_no_host_is_a_failure() -> None:
    record = (5, 0, 5222, "gone.invalid")

    async with names_from(NameServer("_xmpp-client._tcp.agents.example", record)) as names:
        checks = await check_names(at("agents.example"), names)

    assert failed(checks) == ["names"]
    assert "gone.invalid" in told(checks, "names")


async def test_a_domain_without_an_address_is_told_both_records_that_help() -> None:
    async with names_from(NameServer("")) as names:
        checks = await check_names(at("agents.invalid"), names)

    assert failed(checks) == ["names"]
    assert "SRV 0 5 5222 HOST." in told(checks, "names")


async def test_names_of_one_machine_need_no_dns() -> None:
    async with names_from(NameServer("")) as names:
        assert failed(await check_names(at("agents.localhost"), names)) == []
