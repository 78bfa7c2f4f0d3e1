"""Configuration of an MCP server: stdio program or URL, timeouts, back-off."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioServer:
    """A program that we start; it ends with us."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Environment variables in addition to PATH, HOME and the like; values are secrets."""
    cwd: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServer:
    """A server that runs already."""

    url: str
    transport: Literal["http", "sse"] = "http"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values are secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """Configuration of an MCP server: the table `[mcp.NAME]`."""

    name: str
    """Letters, digits and `-`: so `NAME_tool` names one tool of one server."""
    endpoint: StdioServer | HttpServer
    tools: frozenset[str] | None = None
    """The server's own names of those that are offered; None: all."""
    timeout_s: float = 60.0
    """Deadline of a call in seconds, including the listing before it."""
    accepts_new_tools: bool = False
    """Accepts a tool that a known server adds later without review, as its first ones were."""

    @property
    def prefix(self) -> str:
        return f"{self.name}_"

    @property
    def secrets(self) -> frozenset[str]:
        """Secrets to mask in logs: values of variables and headers, and the token after a header's
        scheme."""
        if isinstance(self.endpoint, StdioServer):
            return frozenset(value for value in self.endpoint.env.values() if value)
        values = [value for value in self.endpoint.headers.values() if value]
        tokens = [value.split()[-1] for value in values if value.split()]
        return frozenset((*values, *tokens))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTimeouts:
    connect_timeout_s: float = 45.0
    """Deadline in seconds from the start to the first listing. A program may have to be installed
    first, and the SDK waits 10 s for an old one to decline the newest protocol."""
    poll_interval_s: float = 60.0
    """Interval in seconds at which an idle session is asked for its tools."""
    listing_timeout_s: float = 30.0
    """A listing that takes longer, while no call runs, ends the session."""
    min_backoff_s: float = 0.5
    max_backoff_s: float = 60.0
    """Maximum back-off in seconds before the next start; it doubles each time, with jitter (50 to
    100 %)."""
    backoff_reset_s: float = 30.0
    """A session that lived so long has not failed at its start: the pauses begin anew."""
    outage_grace_s: float = 60.0
    """Its tools are offered so long after it went away: most come back."""
    start_wait_s: float = 10.0
    """A call waits so long for a server that is just starting."""
