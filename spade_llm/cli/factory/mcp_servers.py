"""MCP servers of a tool agent from [mcp.NAME] of agent.toml, as tool groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings import variable

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.core.settings import McpTable
    from spade_llm.mcp.client import HttpEndpoint, StdioEndpoint
    from spade_llm.tools.toolbox import ToolGroup

MAX_CALL_S = 3600.0
"""Maximum duration of a call in seconds; the tool agent enforces shorter limits."""


def mcp_tool_groups(spec: DeploymentSpec, data: Path) -> list[ToolGroup]:
    """Raises ConfigurationError: a variable is not set, a directory is missing."""
    from spade_llm.cli.factory.agent_factory import build_terms
    from spade_llm.mcp.client import McpServerSettings, McpToolbox, Pins
    from spade_llm.mcp.client.pins import PINS_FILE
    from spade_llm.tools.toolbox import ToolGroup

    pins = Pins(data / "agents" / spec.jid / PINS_FILE)
    groups = []
    for name, table in spec.settings.mcp.items():
        server = McpServerSettings(
            name=name,
            endpoint=_endpoint(name, table, spec.path),
            tools=None if table.tools is None else frozenset(table.tools),
            timeout_s=MAX_CALL_S,
            accepts_new_tools=table.new_tools == "accept",
        )
        box = McpToolbox(server, pins)
        terms = build_terms(table)
        groups.append(ToolGroup(name=name, toolbox=box, terms=terms, resource=box, state=box.state))
    return groups


def _endpoint(name: str, table: McpTable, toml: Path) -> StdioEndpoint | HttpEndpoint:
    from spade_llm.mcp.client import HttpEndpoint, StdioEndpoint

    key = f"{toml}: mcp.{name}"
    if table.url is not None:
        headers = {
            header: variable(source, named_in=f"{key}.headers_env")
            for header, source in table.headers_env.items()
        }
        return HttpEndpoint(url=table.url, transport=table.transport, headers=headers)
    directory = toml.parent / (table.cwd or ".")
    if not directory.is_dir():
        raise ConfigurationError(f"{key}.cwd: {table.cwd!r} is not a folder")
    return StdioEndpoint(
        command=tuple(table.command or ()),
        env={one: variable(one, named_in=f"{key}.env") for one in table.env},
        cwd=directory,
    )
