"""MCP server configurations: settings of a server, and the classes by which programs give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from spade_llm.core.errors import ConfigurationError
from spade_llm.providers.model import safe_name


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioEndpoint:
    """Program that the agent starts and stops, connected by stdio."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Environment variables in addition to PATH, HOME and the like; values are secrets."""
    cwd: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpEndpoint:
    """Running server, connected over HTTP."""

    url: str
    transport: Literal["http", "sse"] = "http"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values are secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerSettings:
    """Settings of an MCP server: the table `[mcp.NAME]`, or a converted MCPServerConfig."""

    name: str
    """Letters, digits and `-`, so that `NAME_tool` is unambiguous."""
    endpoint: StdioEndpoint | HttpEndpoint
    tools: frozenset[str] | None = None
    """Names of the offered tools, as the server calls them; None: all."""
    timeout_s: float = 60.0
    """Deadline of a call in seconds, including the listing before it."""
    accepts_new_tools: bool = False
    """True if tools that the server adds later are accepted without review."""

    @property
    def prefix(self) -> str:
        """Beginning of its tools' names."""
        return f"{self.name}_"

    @property
    def secrets(self) -> frozenset[str]:
        """Secrets to mask in logs: values of variables and headers, and the token after a header's
        scheme."""
        if isinstance(self.endpoint, StdioEndpoint):
            return frozenset(value for value in self.endpoint.env.values() if value)
        values = [value for value in self.endpoint.headers.values() if value]
        tokens = [value.split()[-1] for value in values if value.split()]
        return frozenset((*values, *tokens))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTimeouts:
    """Timeouts and back-off of the connection to an MCP server."""

    connect_timeout_s: float = 45.0
    """Deadline in seconds from the start to the first listing. A program may have to be installed
    first, and the SDK waits 10 s for an old one to decline the newest protocol."""
    poll_interval_s: float = 60.0
    """Interval in seconds at which an idle session is asked for its tools."""
    listing_timeout_s: float = 30.0
    """A listing that takes longer, while no call runs, ends the session."""
    min_backoff_s: float = 0.5
    max_backoff_s: float = 60.0
    """Maximum back-off in seconds before a start; it doubles, with jitter (50 to 100 %)."""
    backoff_reset_s: float = 30.0
    """Lifetime in seconds of a session after which the back-off starts again at its minimum."""
    outage_grace_s: float = 60.0
    """Seconds for which an unavailable server's tools are still offered: most come back."""
    start_wait_s: float = 10.0
    """Time in seconds for which a call waits for a server that is starting."""


CALL_TIMEOUT_S = 60.0
"""Minimum deadline of a call in seconds: these configurations' timeouts are of single reads."""
MAX_NAME = 40


@dataclass(frozen=True)
class MCPServerConfig:
    """Base of the configurations by which programs name an MCP server (as in spade_llm 0.3)."""

    name: str
    """Prefix of its tools: `name_tool`."""
    cache_tools: bool = False

    @property
    def where(self) -> StdioEndpoint | HttpEndpoint:
        """Address of the server. Raises ConfigurationError: this base class has none."""
        raise ConfigurationError(
            "MCPServerConfig: use StdioServerConfig, SseServerConfig or StreamableHttpServerConfig"
        )

    @property
    def call_timeout_s(self) -> float:
        """Deadline of a tool call in seconds."""
        return CALL_TIMEOUT_S


@dataclass(frozen=True)
class StdioServerConfig(MCPServerConfig):
    """Program that is started once and ends with the agent."""

    command: str = ""
    args: Sequence[str] = ()
    env: Mapping[str, str] | None = field(default=None, repr=False)
    """Environment variables in addition to PATH, HOME and the like; values are secrets."""
    cwd: str | Path | None = None
    encoding: str = "utf-8"
    encoding_error_handler: str = "strict"
    read_timeout_seconds: float = 5.0
    working_directory: str | Path | None = None
    """Another name of `cwd`."""

    def __post_init__(self) -> None:
        if not self.command:
            raise ConfigurationError(f"StdioServerConfig {self.name!r}: command is missing")
        if self.encoding.lower().replace("_", "-") not in {"utf-8", "utf8"}:
            raise ConfigurationError(
                f"StdioServerConfig {self.name!r}: encoding: MCP uses UTF-8 only"
            )

    @property
    def where(self) -> StdioEndpoint:
        folder = self.cwd or self.working_directory
        return StdioEndpoint(
            command=(self.command, *self.args),
            env=dict(self.env or {}),
            cwd=Path(folder) if folder else None,
        )

    @property
    def call_timeout_s(self) -> float:
        return max(CALL_TIMEOUT_S, self.read_timeout_seconds)


@dataclass(frozen=True)
class _UrlConfig(MCPServerConfig):
    url: str = ""
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    """Values are secrets."""

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"{type(self).__name__} {self.name!r}: url: give an http:// or https:// address"
            )


@dataclass(frozen=True)
class SseServerConfig(_UrlConfig):
    """Running server with MCP's older HTTP transport (server-sent events)."""

    timeout: float = 5.0
    sse_read_timeout: float = 300.0

    @property
    def where(self) -> HttpEndpoint:
        return HttpEndpoint(url=self.url, transport="sse", headers=dict(self.headers or {}))


@dataclass(frozen=True)
class StreamableHttpServerConfig(_UrlConfig):
    """Running server with the streamable HTTP transport."""

    timeout: float = 30.0
    sse_read_timeout: float = 300.0
    terminate_on_close: bool = True

    @property
    def where(self) -> HttpEndpoint:
        return HttpEndpoint(url=self.url, headers=dict(self.headers or {}))

    @property
    def call_timeout_s(self) -> float:
        return max(CALL_TIMEOUT_S, self.timeout)


def mcp_server(config: MCPServerConfig) -> McpServerSettings:
    """Convert the configuration. Tools that the server adds later are accepted without review, as
    in 0.3, because the program's owner has chosen the server; tools that it *changes* are not."""
    name = safe_name(config.name, max_chars=MAX_NAME)
    if not name:
        raise ConfigurationError(f"{type(config).__name__}: name is missing")
    return McpServerSettings(
        name=name, endpoint=config.where, timeout_s=config.call_timeout_s, accepts_new_tools=True
    )


def mcp_servers(configs: Sequence[MCPServerConfig]) -> list[McpServerSettings]:
    """Convert the configurations. Raises ConfigurationError if prefixes of tools are ambiguous."""
    servers = [mcp_server(config) for config in configs]
    for number, one in enumerate(servers):
        for other in servers[:number]:
            # Names keep their `_` here: `a` and `a_b` could both claim a tool `a_b_c`.
            if one.prefix.startswith(other.prefix) or other.prefix.startswith(one.prefix):
                raise ConfigurationError(
                    f"mcp_servers: the tool names of {one.name!r} and {other.name!r} would be"
                    " ambiguous; rename one"
                )
    return servers
