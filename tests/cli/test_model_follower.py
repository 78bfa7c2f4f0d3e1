"""A model that is set while the agents run: they use it without a restart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.program import Program, program_in
from tests.openai_server import running_server

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.program import Outcome


def with_auto(program: Program) -> Program:
    """Its assistant and its documents follow the same setting."""
    file = program.agents / "assistant" / "agent.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('kind = "offline"', 'kind = "auto"'), encoding="utf-8")
    return program


@pytest.mark.timeout(240)
@pytest.mark.parametrize("mode", [(), ("--processes",)], ids=["one process", "processes"])
async def test_running_agents_take_a_new_model_over(
    tmp_path: Path, unused_tcp_port: int, mode: tuple[str, ...]
) -> None:
    program = with_auto(program_in(tmp_path, has_prosody=False, port=unused_tcp_port))
    async with (
        running_server() as server,
        running_server() as second,
        program.up("--http", "off", *mode) as up,
    ):
        await up.ready()
        by_rules = await program.run("ask", "hello")
        done = await program.run("model", "set", "one", "--url", server.base_url)
        told = await up.line("model       assistant@localhost: now")
        by_model = await program.run("ask", "hello")
        agents = await program.run("agents")
        second.api_key = "another key"
        failed = await program.run("model", "set", "two", "--url", second.base_url)
        kept = await up.line("model       assistant@localhost: keeps")
        doctor = await program.run("doctor", "--json")
        still = await program.run("ask", "hello again")
        second.api_key = ""
        again = await program.run("model", "set", "two", "--url", second.base_url)
        told_again = await up.line("model       assistant@localhost: now")
        by_second = await program.run("ask", "hello third")
        rules = await program.run("model", "set", "offline")
        by_rules_again = await program.run("ask", "hello")

    assert "I follow simple rules" in by_rules.output
    assert "running     assistant@localhost uses it now, without a restart" in done.output
    assert told.endswith(f"now one at {server.base_url}")
    assert by_model.output == "You said: hello\n"
    assert "answers with one" in agents.output
    assert failed.status == 1
    assert f"keeps one at {server.base_url}: after the fix, set it again" in failed.output
    assert f"keeps one at {server.base_url}; two at {second.base_url} failed" in kept
    assert refused_models(doctor)
    assert still.output == "You said: hello again\n"
    assert "uses it now" in again.output
    assert told_again.endswith(f"now two at {second.base_url}")
    assert by_second.output == "You said: hello third\n"
    assert [one["model"] for one in second.requests][-1] == "two"
    assert "uses it now" in rules.output
    assert "I can remember things" in by_rules_again.output


def refused_models(doctor: Outcome) -> list[dict[str, str]]:
    """Checks of the doctor that name a refused model."""
    checks = map(json.loads, doctor.output.splitlines())
    return [one for one in checks if one["name"] == "model" and "failed" in one["detail"]]
