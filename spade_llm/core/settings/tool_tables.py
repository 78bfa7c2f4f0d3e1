"""Tables `[python]`, `[mcp.NAME]` and `[human.NAME]`: sources of tools, and their terms."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from spade_llm.core.settings.table import Count, Name, Table

MAX_HUMAN_SECONDS_OF_TOOLS = 570
"""A tool agent works on one request for 600 s at most."""
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
HumanName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,40}$")]


class TermsTable(Table):
    """Access and limits of tools. Omitted keys take the value of the next wider table."""

    allowed: list[Name] | None = None
    """JIDs and domains of callers; `*`: all; empty: no caller. Default: the agent's own domain."""
    approval: Literal["never", "ask"] | None = None
    """`ask`: a person must say yes to each call."""
    timeout_s: float | None = Field(default=None, gt=0, le=600)
    """Time limit of one call; at most the time that an agent works on one request."""
    max_concurrent: Count | None = None
    """Calls of one tool that run at the same time."""
    max_result_chars: int | None = Field(default=None, ge=500, le=50_000)
    """A longer result is given in pages of this size."""


class HumanTable(Table):
    """`[human.NAME]`: a person that a model may ask by chat while it works, with `ask_NAME`."""

    jid: Name
    """A name without `@` is on our own domain."""
    knows: str = ""
    """Topics to ask this person about, for the model."""
    seconds: float = Field(default=300.0, gt=0, le=86_400)
    """Maximum wait for the person's answer; at most 570 for a tool agent."""


class PythonTable(Table):
    """`[python]`: tools of your own."""

    tools: list[Name] = []
    """`file.py`, relative to the toml, `package.module`, or either with `:name`."""


class McpTable(TermsTable):
    """`[mcp.NAME]`: an MCP server; its tools become `NAME_tool`."""

    command: list[Name] | None = Field(default=None, min_length=1)
    """A program that is started, with its arguments: it speaks MCP on its standard streams."""
    env: list[Name] = []
    """Names of environment variables that are passed on to it."""
    cwd: Name | None = None
    """Its working directory, relative to the toml."""
    url: Name | None = None
    """A server that runs already."""
    transport: Literal["http", "sse"] = "http"
    headers_env: dict[Name, Name] = {}
    """HTTP headers, each with the name of the environment variable that holds its value."""
    tools: list[Name] | None = None
    """The server's own names of the tools that are offered. Without it: all."""
    new_tools: Literal["review", "accept"] = "review"
    """Policy for tools that the server adds later. `review`: an operator must accept them."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> McpTable:
        if (self.command is None) == (self.url is None):
            raise ValueError("give command (a program to start) or url (a server that runs)")
        of_other = {"env", "cwd"} if self.command is None else {"transport", "headers_env"}
        if idle := self.model_fields_set & of_other:
            given = "url" if self.command is None else "command"
            raise ValueError(f"with {given} leave {', '.join(sorted(idle))} out")
        if self.url is not None:
            _check_url(self.url, has_secrets=bool(self.headers_env))
        return self


def _checked_server_name(name: str) -> str:
    # No `_`, which ends the name in NAME_tool: no two servers can claim one tool name.
    if not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9-]{0,23}", name):
        raise ValueError(
            f"{name!r}: a server's name has 1 to 24 letters, digits and '-',"
            " so that NAME_tool is a tool's name everywhere"
        )
    return name


McpName = Annotated[str, AfterValidator(_checked_server_name)]


def _check_url(url: str, *, has_secrets: bool) -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"url: {url!r} is no http:// or https:// address")
    if parts.username or parts.password:
        raise ValueError("url: no secrets in files: use headers_env")
    # A token in clear text can be read by everybody on the way.
    if has_secrets and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ValueError("url: secrets of headers_env need https:// beyond this machine")
