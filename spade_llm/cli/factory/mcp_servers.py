"""MCP servers of a tool agent from [mcp.NAME] of agent.toml, as tool groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings import variable

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.core.settings import McpTable
    from spade_llm.mcp.client import HttpServer, McpServer, Pins, StdioServer
    from spade_llm.tools.terms import ToolGroup

MAX_CALL_S = 3600.0
"""The tool agent keeps the time limits, which are at most so long."""


def mcp_tool_groups(spec: DeploymentSpec, data: Path) -> list[ToolGroup]:
    """Raises ConfigurationError: a variable is not set, a directory is missing."""
    from spade_llm.mcp.client import Pins

    pins = Pins(pins_path(data, spec.jid))
    return [_group(name, table, spec.path, pins) for name, table in spec.settings.mcp.items()]


def pins_path(data: Path, jid: str) -> Path:
    from spade_llm.mcp.client.pins import PINS_FILE

    return data / "agents" / jid / PINS_FILE


def _group(name: str, table: McpTable, toml: Path, pins: Pins) -> ToolGroup:
    from spade_llm.cli.factory.agent_factory import build_terms
    from spade_llm.mcp.client import McpToolbox
    from spade_llm.tools.terms import ToolGroup

    box = McpToolbox(_server(name, table, toml), pins)
    return ToolGroup(
        name=name, toolbox=box, terms=build_terms(table), resource=box, state=box.state
    )


def _server(name: str, table: McpTable, toml: Path) -> McpServer:
    from spade_llm.mcp.client import McpServer

    return McpServer(
        name=name,
        endpoint=_where(name, table, toml),
        tools=None if table.tools is None else frozenset(table.tools),
        timeout_s=MAX_CALL_S,
        accepts_new_tools=table.new_tools == "accept",
    )


def _where(name: str, table: McpTable, toml: Path) -> StdioServer | HttpServer:
    from spade_llm.mcp.client import HttpServer, StdioServer

    key = f"{toml}: mcp.{name}"
    if table.url is not None:
        headers = {
            header: variable(source, named_in=f"{key}.headers_env")
            for header, source in table.headers_env.items()
        }
        return HttpServer(url=table.url, transport=table.transport, headers=headers)
    return StdioServer(
        command=tuple(table.command or ()),
        env={one: variable(one, named_in=f"{key}.env") for one in table.env},
        cwd=_directory(table.cwd or ".", toml, named_in=f"{key}.cwd"),
    )


def _directory(path: str, toml: Path, *, named_in: str) -> Path:
    found = toml.parent / path
    if not found.is_dir():
        raise ConfigurationError(f"{named_in}: {path!r} is not a folder")
    return found
