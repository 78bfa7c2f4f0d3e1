"""Files by HTTP upload: up on a real server, and down again by what fetches documents."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import NotFound, RequestRefused, Unauthorised
from spade_llm.rag.loading.fetcher import Fetcher
from spade_llm.rag.loading.loader import Loader
from spade_llm.xmpp.agent import AgentOptions, XmppAgent
from spade_llm.xmpp.connection.settings import ConnectionSettings, tls_context
from spade_llm.xmpp.features.uploads import find_upload_service, upload, upload_host
from spade_llm.xmpp.servers.managed_server import UPLOAD_LIMIT_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.conftest import Provisioner


@asynccontextmanager
async def _agent(server: Provisioner) -> AsyncIterator[XmppAgent]:
    jid, password = await server.account("uploader")
    endpoint = server.endpoint
    connection = ConnectionSettings(
        host=endpoint.host, port=endpoint.port, ca_path=endpoint.ca_path
    )
    agent = XmppAgent(jid, password, options=AgentOptions(connection=connection))
    await agent.start()
    try:
        yield agent
    finally:
        await agent.stop()


def _fetcher(directory: Path, agent: XmppAgent) -> Fetcher:
    async def hosts() -> set[str]:
        return {await upload_host(agent)}

    context = tls_context(agent.options.connection.ca_path)
    return Fetcher(directory / "fetched", hosts, context=context)


@pytest.mark.server
async def test_a_document_goes_up_and_comes_down_unchanged(
    prosody: Provisioner, tmp_path: Path
) -> None:
    text = "Herons wade. " * 200_000
    (tmp_path / "a note.md").write_text(text)

    async with _agent(prosody) as agent:
        url = await upload(agent, tmp_path / "a note.md")
        async with _fetcher(tmp_path, agent).fetched(url) as file:
            loaded = await asyncio.to_thread(Loader([]).read, file)

    assert file.source == "a note.md"
    assert loaded.text == text


@pytest.mark.server
async def test_twenty_megabytes_go_up_and_come_down(prosody: Provisioner, tmp_path: Path) -> None:
    content = os.urandom(20_000_000)
    (tmp_path / "a.pdf").write_bytes(content)

    async with _agent(prosody) as agent:
        url = await upload(agent, tmp_path / "a.pdf")
        async with _fetcher(tmp_path, agent).fetched(url) as file:
            assert await asyncio.to_thread(file.path.read_bytes) == content


@pytest.mark.server
async def test_a_file_that_the_server_does_not_take_is_refused_before_it_is_sent(
    prosody: Provisioner, tmp_path: Path
) -> None:
    with (tmp_path / "huge.pdf").open("wb") as file:
        file.truncate(UPLOAD_LIMIT_BYTES + 1)

    async with _agent(prosody) as agent:
        service = await find_upload_service(agent)
        with pytest.raises(RequestRefused, match="split it"):
            await upload(agent, tmp_path / "huge.pdf")

    assert service.max_bytes == UPLOAD_LIMIT_BYTES


@pytest.mark.server
async def test_another_file_or_host_than_the_uploaded_one_is_not_fetched(
    prosody: Provisioner, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("x")

    async with _agent(prosody) as agent:
        url = await upload(agent, tmp_path / "a.md")
        fetcher = _fetcher(tmp_path, agent)
        slot = url.split("/")[-2]
        with pytest.raises(NotFound):
            async with fetcher.fetched(url.replace(slot, "x" * len(slot))):
                pass
        with pytest.raises(Unauthorised):
            async with fetcher.fetched(url.replace("localhost", "127.0.0.1")):
                pass


async def test_the_embedded_server_says_that_it_takes_no_uploads(
    embedded: Provisioner, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("x")

    async with _agent(embedded) as agent:
        with pytest.raises(RequestRefused, match="takes no uploads.*Prosody") as refused:
            await upload(agent, tmp_path / "a.md")

    assert refused.value.wire_code == "no-uploads"
