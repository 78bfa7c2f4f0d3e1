"""`spade-llm run` of a gateway beside an `up` that has none, and its tokens while it runs."""

from __future__ import annotations

import asyncio
import re
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
import pytest
import pytest_asyncio

from spade_llm.cli import main
from tests.cli.program import READY_S, STOP_S, Program, program_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(240)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    program: Program
    url: str

    async def token(self, *words: str) -> int:
        """The exit code of `spade-llm token`."""
        return await asyncio.to_thread(main, ["token", *words, "--data", str(self.program.data)])

    async def status(self, token: str) -> int:
        """Of a request with this token."""
        bearer = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(trust_env=False, timeout=READY_S) as client:
            return (await client.get(f"{self.url}/no-such-page", headers=bearer)).status_code


@asynccontextmanager
async def running_gateway(program: Program) -> AsyncIterator[list[str]]:
    """Its lines up to `ready`."""
    toml = str(program.agents / "gateway" / "agent.toml")
    process = await asyncio.create_subprocess_exec(
        *program.command("run", toml), stdin=DEVNULL, stdout=PIPE, env=program.environment
    )
    assert process.stdout is not None
    lines: list[str] = []
    try:
        async with asyncio.timeout(READY_S):
            while not lines or not lines[-1].startswith("ready"):
                lines.append((await process.stdout.readline()).decode().rstrip())
                assert not process.stdout.at_eof(), lines
        yield lines
    finally:
        process.terminate()
        await asyncio.wait_for(process.communicate(), STOP_S)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    folder = tmp_path_factory.mktemp("gateway")
    program = program_in(folder, has_prosody=False, port=0)
    async with program.up("--http", "off") as up:
        await up.ready()
        assert not any(line.startswith("web") for line in up.lines)
        async with running_gateway(program) as lines:
            web = next(line for line in lines if line.startswith("web"))
            url = re.sub(r"web +(http://\S+)/console", r"\1", web)
            yield Served(program=program, url=url)


async def test_it_answers_at_the_address_that_it_says(served: Served) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=READY_S) as client:
        answer = await client.get(f"{served.url}/health")

    assert (answer.status_code, answer.json()) == (200, {"status": "healthy"})


async def test_tokens_hold_from_the_next_request_on_until_they_are_revoked(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await served.token("create", "ci", "--principal", "ada", "--days", "30") == 0
    made = capsys.readouterr()
    token = made.out.strip()

    assert (await served.status("slm_another"), await served.status(token)) == (401, 404)
    assert "for ada@localhost until" in made.err
    assert await served.token("list") == 0
    listed = capsys.readouterr().out
    assert re.fullmatch(r"ci +ada@localhost +until .+ UTC +used .+ UTC\n", listed)
    assert token not in listed

    assert await served.token("revoke", "ci") == 0
    assert await served.status(token) == 401


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("create", "a", "--principal", "memory"), "memory@localhost is an agent"),
        (("create", "a", "--principal", "GATEWAY@localhost"), "gateway@localhost is an agent"),
        (("create", "a b", "--principal", "ada"), "name: 'a b' is invalid"),
        (("create", "a", "--principal", "ada@localhost/phone"), "is not a bare JID"),
        (("revoke", "nobody"), "there is no token named 'nobody'"),
        (("list", "--agent", "other"), "no gateway's state of 'other'"),
    ],
)
async def test_impossible_combinations_are_reported(
    served: Served, words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await served.token(*words) == 1

    said = capsys.readouterr()
    assert said.out == ""
    assert complaint in said.err


async def test_a_token_name_is_taken_once(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses = [
        await served.token("create", "twice", "--principal", "ada", "--admin"),
        await served.token("create", "twice", "--principal", "eve"),
        await served.token("list"),
    ]

    said = capsys.readouterr()
    assert statuses == [0, 1, 0]
    assert "there is a token 'twice'" in said.err
    assert re.search(r"^twice +ada@localhost  admin  for good  never used$", said.out, re.M)
