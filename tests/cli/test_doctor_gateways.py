"""What `doctor` and `health` say of gateways: by their records, their tokens and their answers."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli import main
from spade_llm.cli.doctor_checks import CheckState, check_gateways, check_hosted_gateways
from spade_llm.cli.factory.deployment_spec import read_deployment
from spade_llm.cli.health import HttpRecord, published_http_record, touch_heartbeat
from spade_llm.gateway.gateway_database import GATEWAY_TABLES
from spade_llm.gateway.tokens import TokenStore
from spade_llm.xmpp.servers.data_directory import lock_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that is bound, and answers nobody."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


async def home_in(data: Path, *, tokens: int = 0) -> Path:
    """The folder of a gateway with so many tokens, and an expired one."""
    home = data / "agents" / "gateway@localhost"
    home.mkdir(parents=True)
    database = GATEWAY_TABLES.at(home / "gateway.db")
    await database.open()
    known = TokenStore(database)
    await known.create("old", "ada@localhost", expires=1.0)
    for number in range(tokens):
        await known.create(f"t{number}", "ada@localhost")
    await database.close()
    return home


def record(port: int, *, is_open: bool, local: str | None = None) -> HttpRecord:
    return HttpRecord(url=f"http://127.0.0.1:{port}", is_open=is_open, local_principal=local)


def described(folder: Path, http: str) -> list[DeploymentSpec]:
    (folder / "gateway").mkdir(parents=True)
    text = f'kind = "gateway"\njid = "gateway"\n[http]\n{http}'
    (folder / "gateway" / "agent.toml").write_text(text, encoding="utf-8")
    return list(read_deployment(folder, domain="localhost"))


async def test_a_gateway_that_runs_and_does_not_answer_is_a_failure(
    tmp_path: Path, silent: int
) -> None:
    home = await home_in(tmp_path)

    with (
        lock_directory(home, what="the gateway"),
        published_http_record(home, record(silent, is_open=True)),
    ):
        checks = await check_gateways((), tmp_path)

    assert [(one.name, one.state) for one in checks] == [
        ("http", CheckState.FAILED),
        ("http tokens", CheckState.MISSING),
    ]
    assert "spade-llm token create" in checks[1].remedy


def test_tokens_of_a_gateway_without_a_file_are_in_the_database(tmp_path: Path) -> None:
    home = tmp_path / "gateway" / "agents" / "gateway@localhost"
    home.mkdir(parents=True)

    with published_http_record(home, record(8000, is_open=True)):
        (check,) = check_hosted_gateways(tmp_path)

    assert check.state is CheckState.OK
    assert "PostgreSQL" in check.detail


async def test_the_port_of_a_stopped_gateway_is_checked(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        taken = await check_gateways(described(tmp_path / "taken", f"port = {port}"), tmp_path)
    free = await check_gateways(described(tmp_path / "free", f"port = {port}"), tmp_path)

    assert [one.state for one in (*taken, *free)] == [CheckState.FAILED, CheckState.OK]
    assert "http.port" in taken[0].remedy


@pytest.mark.parametrize(
    ("local", "tokens", "state"),
    [
        ("you@localhost", 1, CheckState.FAILED),
        (None, 0, CheckState.MISSING),
        (None, 2, CheckState.OK),
    ],
)
async def test_a_multi_user_gateway_requires_a_token(
    tmp_path: Path, local: str | None, tokens: int, state: CheckState
) -> None:
    home = await home_in(tmp_path / "gateway", tokens=tokens)

    with published_http_record(home, record(8000, is_open=False, local=local)):
        (check,) = check_hosted_gateways(tmp_path)

    assert check.state is state


async def test_a_gateway_that_does_not_answer_is_not_healthy(
    tmp_path: Path, silent: int, capsys: pytest.CaptureFixture[str]
) -> None:
    home = await home_in(tmp_path)
    touch_heartbeat(home)

    with published_http_record(home, record(silent, is_open=False)):
        assert await asyncio.to_thread(main, ["health", "--data", str(tmp_path)]) == 1
    assert await asyncio.to_thread(main, ["health", "--data", str(tmp_path)]) == 0

    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("gateway@localhost is connected, but does not answer")
    assert said[1] == "gateway@localhost is healthy"
