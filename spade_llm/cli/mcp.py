"""`spade-llm mcp`: the network as an MCP server, on standard streams or over HTTP.

On standard streams, standard output belongs to the protocol: whatever is to be said goes to stderr.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from spade_llm.cli.logs import log_to_stderr
from spade_llm.cli.mcp_choices import DEFAULT_FAMILIES
from spade_llm.cli.mcp_families import Peers, chosen, offer_of
from spade_llm.cli.mcp_setup import setup_text
from spade_llm.cli.mcp_token import find_token
from spade_llm.cli.person import logged_in, person_jid
from spade_llm.cli.place import find_place
from spade_llm.cli.stopping import run_until_stopped
from spade_llm.core.extras import require_extra
from spade_llm.deployment.address import parse_address
from spade_llm.errors import SpadeLLMError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Coroutine

    from spade_llm.agent import ChatAgent
    from spade_llm.cli.place import Place
    from spade_llm.mcp_server.http import Address
    from spade_llm.mcp_server.server import Calls

PORT = 8765


def main(options: argparse.Namespace) -> int:
    if options.print_config:
        print(setup_text(options, options.print_config))
        return 0
    require_extra("mcp")
    return run_until_stopped(_serve(options))


async def _serve(options: argparse.Namespace) -> int:
    log_to_stderr()
    families = chosen(options.tools or DEFAULT_FAMILIES)
    place = find_place(options)
    owner = person_jid(options, place)
    address = _address(options, place, owner) if options.http else None
    async with logged_in(owner, place) as person:
        from spade_llm.mcp_server.server import Calls

        offer = offer_of(families, person.node.requester, owner, _peers(options, place))
        await _until_gone(person, _transport(Calls(offer), owner, address))
    return 0


def _peers(options: argparse.Namespace, place: Place) -> Peers:
    return Peers(
        memory=place.jid(options.memory or "memory"),
        rag=place.jid(options.rag or "rag"),
        tools=place.jid(options.tool_agent or "tools"),
        assistants=tuple(map(place.jid, options.agent or ["assistant"])),
    )


def _address(options: argparse.Namespace, place: Place, owner: str) -> Address:
    """Raises ConfigurationError."""
    from spade_llm.mcp_server.http import Address

    host, port = parse_address(options.http, named="--http", default_port=PORT)
    address = Address(
        host=host,
        port=port,
        names=tuple(options.allow_host or ()),
        token=find_token(options, place, owner),
    )
    address.check()
    return address


async def _transport(calls: Calls, owner: str, address: Address | None) -> None:
    from spade_llm.mcp_server.server import build_server

    server = build_server(calls, owner)
    if address is None:
        from spade_llm.mcp_server.stdio import serve_stdio

        if sys.stdin.isatty():
            print("an MCP client starts this: see spade-llm mcp --print-config", file=sys.stderr)
        await serve_stdio(server)
        return
    from spade_llm.mcp_server.http import serve_http

    await serve_http(server, address, calls, lambda url: print(f"ready       {url}", flush=True))


async def _until_gone(person: ChatAgent, work: Coroutine[object, object, None]) -> None:
    """Raises SpadeLLMError if our connection ends for good."""
    assert person.link is not None  # we are logged in
    serving = asyncio.create_task(work)
    gone = person.link.gone
    gone.add_done_callback(lambda _: serving.cancel())
    try:
        await asyncio.wait([serving])
        if gone.done():
            raise SpadeLLMError(f"{person.jid} lost its connection for good: {gone.result()}")
        await serving
    finally:
        serving.cancel()
        await asyncio.wait([serving])
