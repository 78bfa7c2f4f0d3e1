"""The prepared deployment, run here as docker/compose.yaml and the systemd units run it."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.cli import main
from spade_llm.cli.doctor_checks import CheckState
from spade_llm.cli.doctor_hosting import check_accounts
from spade_llm.xmpp.servers.data_directory import AccountPasswords
from spade_llm.xmpp.servers.prosody import write_accounts
from tests.cli.deployment.hosted import DOMAIN, attempt, new_deployment
from tests.cli.program import ROOT
from tests.xmpp.client import WAIT_S, Client
from tests.xmpp.raw_stream import RawStream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.cli.deployment.hosted import Hosted

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

READY_S = 60.0
REGISTER = (
    "<iq type='set' id='r1'><query xmlns='jabber:iq:register'>"
    "<username>mallory</username><password>x</password></query></iq>"
)
PAGE = "<title>Chat</title>"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hosted(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hosted]:
    folder = tmp_path_factory.mktemp("hosted")
    (folder / "pages").mkdir()
    (folder / "pages" / "index.html").write_text(PAGE, encoding="utf-8")
    deployment = new_deployment(folder)
    deployment.prepare("--people", "you,ada", "--web-chat", str(folder / "pages"))
    await deployment.make_accounts()
    async with deployment.serving():
        yield deployment


@asynccontextmanager
async def running(hosted: Hosted, name: str) -> AsyncIterator[None]:
    """As the container of this agent does."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "spade_llm.cli", "run", str(hosted.agents / name / "agent.toml")),
        "--no-download",
        stdin=DEVNULL,
        stdout=PIPE,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SPADE_LLM_DATA": str(hosted.root / name),
            "SPADE_LLM_SERVER": f"127.0.0.1:{hosted.port}",
            "SPADE_LLM_DOMAIN": DOMAIN,
        },
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(READY_S):
            async for line in process.stdout:
                if line.startswith(b"ready"):
                    break
        yield
    finally:
        process.terminate()
        await process.communicate()


async def client_of(hosted: Hosted, name: str) -> Client:
    client = Client(f"{name}@{DOMAIN}", hosted.password("people", name))
    await client.log_in(hosted.endpoint)
    return client


async def https(hosted: Hosted, request: str) -> str:
    """What the server answers: its head, and the body where it has one."""
    context = ssl.create_default_context(cafile=str(hosted.endpoint.ca_path))
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", hosted.web_port, ssl=context, server_hostname=DOMAIN
    )
    writer.write(f"{request}\r\nHost: {DOMAIN}\r\n\r\n".encode())
    async with asyncio.timeout(READY_S):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"Content-Length: (\d+)", head)
        body = await reader.readexactly(int(length[1])) if length else b""
    writer.close()
    return head + body.decode()


async def test_a_person_talks_to_an_agent_that_reads_its_account_and_ca_from_its_folder(
    hosted: Hosted,
) -> None:
    async with running(hosted, "assistant"):
        person = await client_of(hosted, "you")
        person.send(f"assistant@{DOMAIN}", "hello")

        answer = await asyncio.wait_for(person.messages.get(), READY_S)

        assert answer["body"]
        assert await health_says(hosted, "assistant", status=0)
        await person.close()

    assert main(["health", "--data", str(hosted.root / "assistant")]) == 1


async def health_says(hosted: Hosted, name: str, *, status: int) -> bool:
    """The first beat follows the login at once, but not in the same moment."""
    async with asyncio.timeout(READY_S):
        while main(["health", "--data", str(hosted.root / name)]) != status:  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.05)
    return True


async def test_accounts_are_made_once_and_people_keep_the_password_they_chose(
    hosted: Hosted,
) -> None:
    again = await hosted.make_accounts()
    assert again == ""

    AccountPasswords(hosted.root / "people").keep(f"you@{DOMAIN}", "una contraseña nueva")
    assert await hosted.make_accounts() == f"account     you@{DOMAIN}\n"

    person = await client_of(hosted, "you")
    await person.close()


async def test_people_change_their_own_password_in_their_client(hosted: Hosted) -> None:
    jid, first = f"ada@{DOMAIN}", hosted.password("people", "ada")
    ada = await client_of(hosted, "ada")
    ada.xmpp.register_plugin("xep_0077")

    await ada.xmpp["xep_0077"].change_password("chosen by Ada", timeout=WAIT_S)
    # Many clients address the server instead of their own account.
    await ada.xmpp["xep_0077"].change_password("a better one", jid=DOMAIN, timeout=WAIT_S)
    await ada.close()

    assert await hosted.make_accounts() == ""
    outcomes = {}
    for password in (first, "chosen by Ada", "a better one"):
        client = Client(jid, password)
        outcomes[password] = await client.attempt(hosted.endpoint)
        await client.close()
    assert [*outcomes.values()] == ["failed_auth", "failed_auth", "session"]
    checks = await check_accounts(hosted.place)
    assert {one.name: one.state for one in checks}[jid] is CheckState.MISSING


async def test_an_account_of_another_origin_keeps_its_password(
    hosted: Hosted, capsys: pytest.CaptureFixture[str]
) -> None:
    jid = f"bob@{DOMAIN}"
    data = hosted.root / "server" / "data"
    await asyncio.to_thread(write_accounts, data, DOMAIN, {jid: "made by prosodyctl"})

    with pytest.raises(AssertionError):
        hosted.prepare("--people", "you,ada, Bob")

    assert f"{jid} has an account that was not created here" in capsys.readouterr().err
    assert await hosted.make_accounts() == ""
    bob = Client(jid, "made by prosodyctl")
    assert await bob.attempt(hosted.endpoint) == "session"
    await bob.close()


async def test_neither_strangers_nor_people_register_another_account(hosted: Hosted) -> None:
    stranger = await RawStream.open_secure(hosted.endpoint)
    stranger.write(REGISTER)
    refusal = await stranger.read_until("</iq>")
    await stranger.aclose()
    you = await client_of(hosted, "you")
    answer = you.expect_iq("r1")
    you.send_raw(REGISTER)
    error = await answer
    await you.close()

    assert "http://jabber.org/features/iq-register" not in stranger.features
    assert "type='error'" in refusal
    assert error["type"] == "error"
    client = Client(f"mallory@{DOMAIN}", "x")
    assert await client.attempt(hosted.endpoint) == "failed_auth"
    await client.close()


async def test_the_health_script_tells_a_server_that_answers_for_its_domain(hosted: Hosted) -> None:
    port = str(hosted.port)

    assert (await attempt("bash", "prosody-health.sh", DOMAIN, port))[1] == 0
    assert (await attempt("bash", "prosody-health.sh", "other.example", port))[1] == 1
    assert (await attempt("bash", "prosody-health.sh", DOMAIN, "1"))[1] == 1


async def test_the_web_chat_and_its_websocket_are_of_one_origin(hosted: Hosted) -> None:
    page = await https(hosted, "GET /chat/ HTTP/1.1")
    site = await https(hosted, "GET /chat/site.json HTTP/1.1")
    socket = await https(
        hosted,
        "GET /xmpp-websocket HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Protocol: xmpp",
    )

    assert page.endswith(PAGE)
    assert f'{{"domain": "{DOMAIN}"' in site
    assert socket.startswith("HTTP/1.1 101 ")
