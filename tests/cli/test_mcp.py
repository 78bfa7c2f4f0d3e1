"""`spade-llm mcp`: what is chosen, where it listens, and what goes into a client's settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spade_llm.cli.command_line import DEFAULT_TOOL_FAMILIES, TOOL_FAMILIES, build_parser, main
from spade_llm.cli.mcp import parse_families
from spade_llm.core.errors import ConfigurationError
from spade_llm.mcp.server.http_transport import ListenAddress


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> Any:
        assert main(["mcp", *arguments]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def test_families_are_taken_in_their_own_order_and_once() -> None:
    assert parse_families(" ask, memory,ask,") == ("memory", "ask")
    assert parse_families("all") == tuple(TOOL_FAMILIES)
    assert parse_families(DEFAULT_TOOL_FAMILIES) == ("memory", "documents", "ask")


@pytest.mark.parametrize("names", ["", " , ", "everything", "memory;ask"])
def test_unknown_tool_families_are_refused(names: str) -> None:
    with pytest.raises(ConfigurationError, match="--tools"):
        parse_families(names)


def test_a_clients_settings_start_us_from_anywhere(printed: Any, tmp_path: Path) -> None:
    settings = printed("--print-config", "--data", str(tmp_path), "--as", "ada", "--agent", "bob")

    server = settings["mcpServers"]["spade-llm"]
    assert server["type"] == "stdio"
    assert Path(server["command"]).is_absolute()
    start = server["args"].index("mcp")
    assert build_parser().parse_args(server["args"][start:]).person == "ada"
    assert server["args"][start:] == [
        "mcp",
        "--data",
        str(tmp_path),
        "--as",
        "ada",
        "--agent",
        "bob",
    ]


def test_paths_are_made_absolute_and_options_are_kept(
    printed: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    server = printed(
        "--print-config", "servers", "--server", "x.example:5223", "--ca", "ca.pem",
        "--tools", "memory", "--tool-agent", "t", "--domain", "d",
    )["servers"]["spade-llm"]  # fmt: skip

    start = server["args"].index("mcp")
    parsed = build_parser().parse_args(server["args"][start:])
    assert (parsed.server, parsed.ca) == ("x.example:5223", str(tmp_path / "ca.pem"))
    assert (parsed.tools, parsed.tool_agent, parsed.domain) == ("memory", "t", "d")
    assert parsed.data == str(tmp_path / "spade-llm-data")


def test_the_settings_for_http_show_where_and_not_the_token(printed: Any) -> None:
    plain = printed("--print-config", "--http", "127.0.0.1")
    named = printed("--print-config", "--http", "0.0.0.0:80", "--allow-host", "mcp.example.org")
    free = printed("--print-config", "--http", "[::1]:9000", "--no-token")

    assert plain["mcpServers"]["spade-llm"] == {
        "type": "http",
        "url": "http://127.0.0.1:8765/mcp",
        "headers": {"Authorization": "Bearer TOKEN"},
    }
    assert named["mcpServers"]["spade-llm"]["url"] == "http://mcp.example.org/mcp"
    assert free["mcpServers"]["spade-llm"] == {"type": "http", "url": "http://[::1]:9000/mcp"}


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.9", "::1"])
def test_only_on_this_machine_may_a_token_be_missing(host: str) -> None:
    ListenAddress(host=host, port=1).check()


@pytest.mark.parametrize("host", ["10.0.0.7", "example.org", "::", "0.0.0.0", "localhost.example"])
def test_elsewhere_a_token_is_needed(host: str) -> None:
    with pytest.raises(ConfigurationError, match="without a token"):
        ListenAddress(host=host, port=1).check()
    ListenAddress(host=host, port=1, names=("mcp.example.org",), token="t").check()
