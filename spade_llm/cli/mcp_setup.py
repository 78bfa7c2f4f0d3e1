"""What goes into an MCP client's settings, for it to have `spade-llm mcp`. Starts nothing."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING

from spade_llm.cli.place import absolute, data_directory
from spade_llm.deployment.address import parse_address

if TYPE_CHECKING:
    import argparse

NAME = "spade-llm"
PASSED_ON = ("server", "domain", "tools", "memory", "rag", "tool_agent")


def setup_text(options: argparse.Namespace, key: str) -> str:
    """With absolute paths: clients start programs with another PATH, in another directory."""
    entry = _at_a_url(options) if options.http else _by_a_command(options)
    return json.dumps({key: {NAME: entry}}, indent=2, ensure_ascii=False)


def _by_a_command(options: argparse.Namespace) -> dict[str, object]:
    command, *first = _command()
    arguments = [*first, "mcp", "--data", str(data_directory(options)), *_passed_on(options)]
    return {"type": "stdio", "command": command, "args": arguments}


def _command() -> list[str]:
    found = shutil.which("spade-llm")
    return [found] if found else [sys.executable, "-m", "spade_llm.cli"]


def _passed_on(options: argparse.Namespace) -> list[str]:
    given = {"as": options.person, "ca": absolute(options.ca)}
    given |= {name.replace("_", "-"): vars(options)[name] for name in PASSED_ON}
    arguments = [part for name, value in given.items() if value for part in (f"--{name}", value)]
    agents = [part for agent in options.agent or () for part in ("--agent", agent)]
    return [*map(str, arguments), *agents]


def _at_a_url(options: argparse.Namespace) -> dict[str, object]:
    """TOKEN stands for what the server's token file holds: it is not shown on a terminal."""
    entry: dict[str, object] = {"type": "http", "url": _url(options)}
    if options.no_token:
        return entry
    return {**entry, "headers": {"Authorization": "Bearer TOKEN"}}


def _url(options: argparse.Namespace) -> str:
    from spade_llm.cli.mcp import PORT

    host, port = parse_address(options.http, named="--http", default_port=PORT)
    own = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"http://{options.allow_host[0] if options.allow_host else own}/mcp"
