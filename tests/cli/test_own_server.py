"""The server of `up`: which port it takes when others want the same one."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.own_server import running_server
from spade_llm.xmpp.readiness import answers_stream
from spade_llm.xmpp.server import Endpoint, choose_server

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.cli.place import Place
    from spade_llm.xmpp.server import ManagedServer


async def start(stack: AsyncExitStack, kind: str, data: Path, port: int) -> Place:
    def server_on(port: int) -> ManagedServer:
        return choose_server(kind, data, port=port)

    running = running_server(server_on, (port, 0, 0), data, {}, say=lambda _: None)
    return await stack.enter_async_context(running)


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
