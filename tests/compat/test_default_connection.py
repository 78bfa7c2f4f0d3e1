"""Programs that name no server: the environment names it, or the `up` that runs on their data."""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from spade.agent import Agent, AuthenticationFailure

from spade_llm import ChatAgent, LLMAgent, ScriptedProvider
from spade_llm.agents.constructor_arguments import default_connection
from spade_llm.core.errors import AuthenticationRejected, ConfigurationError
from spade_llm.xmpp.servers.data_directory import (
    AccountPasswords,
    RunRecord,
    create_account,
    lock_directory,
)
from spade_llm.xmpp.servers.managed_server import choose_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from spade_llm.xmpp.servers.managed_server import Endpoint

pytestmark = pytest.mark.thorough
PASSWORD = "correct horse"


@pytest_asyncio.fixture
async def up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Endpoint]:
    """A server of ours with a record, as `spade-llm up` leaves it while it runs."""
    monkeypatch.setenv("SPADE_LLM_DATA", str(tmp_path))
    server = choose_server("embedded", tmp_path)
    endpoint = await server.start()
    with _held(tmp_path, endpoint, server.kind):
        yield endpoint
    await server.stop()


@contextmanager
def _held(data: Path, endpoint: Endpoint, kind: str) -> Iterator[None]:
    with lock_directory(data, what="up"):
        RunRecord(
            pid=os.getpid(),
            host=endpoint.host,
            port=endpoint.port,
            domain=endpoint.domain,
            ca=endpoint.ca_path,
            server=kind,
            agents=("tools@localhost",),
            person="you@localhost",
        ).write(data)
        yield


async def test_an_account_that_is_missing_is_an_error_that_names_the_command(up: Endpoint) -> None:
    with pytest.raises(AuthenticationRejected, match="spade-llm account"):
        await ChatAgent("ada@localhost", PASSWORD).start()


async def test_a_program_makes_its_account_where_it_may_and_talks(
    up: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPADE_LLM_REGISTER", "1")
    heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    assistant = LLMAgent("echo@localhost", PASSWORD, ScriptedProvider.echo())
    ada = ChatAgent(
        "ada@localhost",
        PASSWORD,
        "echo@localhost",
        display_callback=lambda text, sender: heard.put_nowait((text, sender)),
        verify_security=False,
    )
    await assistant.start()
    await ada.start()

    ada.send_message("hello")
    is_answered = await ada.wait_for_response(10)
    text, sender = await asyncio.wait_for(heard.get(), 10)
    await ada.stop()
    await assistant.stop()

    assert is_answered
    assert "hello" in text
    assert sender.startswith("echo@localhost/")


async def test_an_existing_account_is_not_taken_over(
    up: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPADE_LLM_REGISTER", "1")
    own = await create_account(tmp_path, "eve@localhost")

    for jid in ("eve@localhost", "you@localhost", "tools@localhost"):
        with pytest.raises(AuthenticationRejected):
            await ChatAgent(jid, "a guess").start()
    kept = AccountPasswords(tmp_path).get("eve@localhost")

    assert kept == own


@pytest.mark.parametrize(
    "name", ["eve@localhost", "EVE@localhost", " Eve@LocalHost. ", "Ｅve@localhost"]
)
async def test_an_account_that_exists_is_reset_only_on_request(
    up: Endpoint, tmp_path: Path, name: str
) -> None:
    first = await create_account(tmp_path, "eve@localhost")

    with pytest.raises(ConfigurationError, match="eve@localhost has an account already: --reset"):
        await create_account(tmp_path, name)
    unchanged = AccountPasswords(tmp_path).get(name)
    second = await create_account(tmp_path, name, is_reset=True)
    eve = ChatAgent("eve@localhost", second)
    await eve.start()
    await eve.stop()

    assert unchanged == first
    assert second == AccountPasswords(tmp_path).get("eve@localhost") != first
    assert [path.name for path in (tmp_path / "accounts").iterdir()] == ["eve@localhost"]


async def test_an_agent_with_a_password_from_its_file_is_not_reset(
    up: Endpoint, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="tools@localhost is an agent: --reset"):
        await create_account(tmp_path, "Tools@localhost")
    with pytest.raises(ConfigurationError, match="from its agent.toml"):
        await create_account(tmp_path, "Tools@localhost", is_reset=True)


async def test_the_environment_names_a_server_and_its_ca(
    up: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_account(tmp_path, "ada@localhost", PASSWORD)
    monkeypatch.setenv("SPADE_LLM_DATA", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("SPADE_LLM_SERVER", f"{up.host}:{up.port}")
    monkeypatch.setenv("SPADE_LLM_CA", str(up.ca_path))

    ada = ChatAgent("ada@localhost", PASSWORD)
    await ada.start()
    is_there = ada.is_alive()
    await ada.stop()

    assert is_there


async def test_without_any_of_it_the_domain_of_the_jid_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPADE_LLM_DATA", str(tmp_path))

    connection = await default_connection("ada@example.org", PASSWORD)

    assert connection.host is None


async def test_registering_on_an_external_server_is_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nothing runs there; start `spade-llm up`"):
        await create_account(tmp_path, "ada@localhost")


async def test_a_plain_spade_agent_logs_in_with_the_account_that_was_made_for_it(
    up: Endpoint, tmp_path: Path
) -> None:
    with pytest.raises(AuthenticationFailure):
        await Agent("clerk@localhost", PASSWORD, port=up.port).start()

    await create_account(tmp_path, "clerk@localhost", PASSWORD)
    clerk = Agent("clerk@localhost", PASSWORD, port=up.port)
    await clerk.start()
    is_there = clerk.is_alive()
    await clerk.stop()

    assert is_there
