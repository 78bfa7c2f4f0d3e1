"""`spade-llm mcp`: serves the agents as MCP tools over stdio or HTTP (bearer token).

Over stdio, standard output belongs to the protocol: messages and logs go to standard error.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.command_line import ALL_TOOL_FAMILIES, DEFAULT_TOOL_FAMILIES, TOOL_FAMILIES
from spade_llm.cli.context import absolute_path, data_directory, find_context, login, person_jid
from spade_llm.cli.logs import log_to_stderr
from spade_llm.cli.signals import run_until_stopped
from spade_llm.core.concurrency import concurrent_task
from spade_llm.core.errors import ConfigurationError, SpadeLLMError
from spade_llm.core.imports import require_extra
from spade_llm.core.settings import read_environment
from spade_llm.core.text import host_in_url
from spade_llm.xmpp.connection.settings import parse_address

if TYPE_CHECKING:
    import argparse

    from spade_llm.agents import ChatAgent
    from spade_llm.cli.context import CliContext
    from spade_llm.mcp.server.http_transport import ListenAddress
    from spade_llm.mcp.server.offered_tools import OfferedTool, ToolRegistry
    from spade_llm.mcp.server.server import RunningCalls
    from spade_llm.messaging import Requester

SERVER_NAME = "spade-llm"
PASSED_OPTIONS = ("server", "domain", "tools", "memory", "rag", "tool_agent")

TOKEN_BYTES = 32
MIN_TOKEN_CHARS = 16
"""Minimum length of a token that cannot be guessed."""

PORT = 8765


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceJids:
    """Bare JIDs of the agents that execute the tools."""

    memory: str
    rag: str
    tools: str
    assistants: tuple[str, ...]


def parse_families(names: str) -> tuple[str, ...]:
    """Raises ConfigurationError."""
    wanted = {name.strip() for name in names.split(",")} - {""}
    if unknown := wanted - {*TOOL_FAMILIES, ALL_TOOL_FAMILIES}:
        known = ", ".join([*TOOL_FAMILIES, ALL_TOOL_FAMILIES])
        raise ConfigurationError(f"--tools: {sorted(unknown)[0]!r} is not one of {known}")
    if not wanted:
        raise ConfigurationError(f"--tools: name at least one of {', '.join(TOOL_FAMILIES)}")
    return tuple(name for name in TOOL_FAMILIES if name in wanted or ALL_TOOL_FAMILIES in wanted)


def build_tool_registry(
    families: tuple[str, ...], requester: Requester, owner: str, peers: ServiceJids
) -> ToolRegistry:
    from spade_llm.mcp.server.network_tools import AgentTools, DocumentTools
    from spade_llm.mcp.server.offered_tools import ForwardedTools, McpMemoryTools, ToolRegistry
    from spade_llm.memory.remote import MemoryClient
    from spade_llm.rag.remote import RagClient
    from spade_llm.tools.remote import ToolsClient

    max_batch = read_environment().memory_batch_max_size
    memory = McpMemoryTools(MemoryClient(requester, peers.memory), owner, max_batch=max_batch)
    services = (peers.memory, peers.rag, peers.tools)
    builders: dict[str, Callable[[], list[OfferedTool]]] = {
        "memory": memory.specified_tools,
        "further": memory.further_tools,
        "owner": memory.owner_tools,
        "documents": DocumentTools(RagClient(requester, peers.rag)).all,
        "ask": AgentTools(requester, peers.assistants, services).all,
    }
    own = [tool for name in families if name in builders for tool in builders[name]()]
    forwarded = ForwardedTools(ToolsClient(requester, peers.tools)) if "tools" in families else None
    return ToolRegistry(own, forwarded)


def client_settings(options: argparse.Namespace, key: str) -> str:
    """JSON for an MCP client's settings. Paths are absolute, because clients start programs with
    another PATH and in another directory."""
    if options.http:
        host, port = parse_address(options.http, named="--http", default_port=PORT)
        reached = options.allow_host[0] if options.allow_host else f"{host_in_url(host)}:{port}"
        entry: dict[str, object] = {"type": "http", "url": f"http://{reached}/mcp"}
        if not options.no_token:
            # A placeholder: the token itself is not shown on a terminal.
            entry["headers"] = {"Authorization": "Bearer TOKEN"}
    else:
        found = shutil.which("spade-llm")
        command, *first = [found] if found else [sys.executable, "-m", "spade_llm.cli"]
        given = {"as": options.person, "ca": absolute_path(options.ca)}
        given |= {name.replace("_", "-"): vars(options)[name] for name in PASSED_OPTIONS}
        arguments = [*first, "mcp", "--data", str(data_directory(options))]
        for name, value in given.items():
            arguments += [f"--{name}", str(value)] if value else []
        for agent in options.agent or ():
            arguments += ["--agent", agent]
        entry = {"type": "stdio", "command": command, "args": arguments}
    return json.dumps({key: {SERVER_NAME: entry}}, indent=2, ensure_ascii=False)


def find_token(options: argparse.Namespace, cli_context: CliContext, owner: str) -> str | None:
    """Token of the server, or None with --no-token. Raises ConfigurationError."""
    if options.no_token:
        return None
    if options.token_env:
        return _validated_token(
            os.environ.get(options.token_env, ""), f"--token-env {options.token_env}"
        )
    path = Path(options.token_file) if options.token_file else token_path(cli_context.data, owner)
    if not options.token_file:
        _create_token(path)
    print(f"token       in {path}", file=sys.stderr)
    try:
        token = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the token file {str(path)!r} cannot be read: {error}") from None
    return _validated_token(token, str(path))


def token_path(data: Path, owner: str) -> Path:
    return data / "mcp-tokens" / owner


def main(options: argparse.Namespace) -> int:
    if options.print_config:
        print(client_settings(options, options.print_config))
        return 0
    require_extra("mcp")
    return run_until_stopped(_serve(options))


def _create_token(path: Path) -> None:
    """Create the token file if it does not exist."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        # O_EXCL: of two servers that start at the same time, only one writes a token.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(TOKEN_BYTES) + "\n")


def _validated_token(text: str, where: str) -> str:
    token = text.strip()
    if (
        len(token) < MIN_TOKEN_CHARS
        or not token.isascii()
        or not token.isprintable()
        or " " in token
    ):
        raise ConfigurationError(
            f"{where}: a token needs at least {MIN_TOKEN_CHARS} ASCII characters without spaces"
        )
    return token


async def _serve(options: argparse.Namespace) -> int:
    log_to_stderr()
    families = parse_families(options.tools or DEFAULT_TOOL_FAMILIES)
    cli_context = find_context(options)
    owner = person_jid(options, cli_context)
    address = _address(options, cli_context, owner) if options.http else None
    peers = ServiceJids(
        memory=cli_context.jid(options.memory or "memory"),
        rag=cli_context.jid(options.rag or "rag"),
        tools=cli_context.jid(options.tool_agent or "tools"),
        assistants=tuple(map(cli_context.jid, options.agent or ["assistant"])),
    )
    async with login(owner, cli_context) as client:
        from spade_llm.mcp.server.server import RunningCalls

        registry = build_tool_registry(families, client.node.requester, owner, peers)
        await _run_until_disconnected(client, _transport(RunningCalls(registry), owner, address))
    return 0


def _address(options: argparse.Namespace, cli_context: CliContext, owner: str) -> ListenAddress:
    """Raises ConfigurationError."""
    from spade_llm.mcp.server.http_transport import ListenAddress

    host, port = parse_address(options.http, named="--http", default_port=PORT)
    address = ListenAddress(
        host=host,
        port=port,
        names=tuple(options.allow_host or ()),
        token=find_token(options, cli_context, owner),
    )
    address.check()
    return address


async def _transport(calls: RunningCalls, owner: str, address: ListenAddress | None) -> None:
    from spade_llm.mcp.server.server import build_server

    server = build_server(calls, owner)
    if address is None:
        from spade_llm.mcp.server.stdio_transport import serve_stdio

        if sys.stdin.isatty():
            hint = "this command is started by an MCP client: see spade-llm mcp --print-config"
            print(hint, file=sys.stderr)
        await serve_stdio(server)
        return
    from spade_llm.mcp.server.http_transport import serve_http

    await serve_http(server, address, calls, lambda url: print(f"ready       {url}", flush=True))


async def _run_until_disconnected(client: ChatAgent, work: Coroutine[object, object, None]) -> None:
    """Raises SpadeLLMError if our connection ends for good."""
    assert client.connection is not None  # we are logged in
    gone = client.connection.closed_for_good
    async with concurrent_task(work) as serving:
        gone.add_done_callback(lambda _: serving.cancel())
        await asyncio.wait([serving])
        if gone.done():
            raise SpadeLLMError(f"{client.jid} lost its connection for good: {gone.result()}")
        await serving
