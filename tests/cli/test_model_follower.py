"""A model that is set while the agents run: they use it without a restart."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.factory.model_choice import MODEL_FILE, configured_choice, write_provider
from spade_llm.cli.factory.model_follower import followed_model
from spade_llm.core.settings import ProviderTable
from tests.cli.program import Program, program_in
from tests.openai_server import running_server

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.cli.factory.model_follower import Choices, ModelChange
    from tests.cli.program import Outcome

CHANGE_S = 30.0


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
    # What the rules can do was told with their first greeting of this conversation.
    assert by_rules_again.output == "Hello!\n"


def refused_models(doctor: Outcome) -> list[dict[str, str]]:
    """Checks of the doctor that name a refused model."""
    checks = map(json.loads, doctor.output.splitlines())
    return [one for one in checks if one["name"] == "model" and "failed" in one["detail"]]


async def test_each_change_of_the_settings_is_tested(tmp_path: Path) -> None:
    """Rules are refused where a guardrail needs a model; the model stays, and so it does while the
    file cannot be read."""
    file = tmp_path / MODEL_FILE
    changes: asyncio.Queue[ModelChange] = asyncio.Queue()

    async def choose() -> Choices:
        return (await configured_choice(ProviderTable(), file, key="provider", data=tmp_path),)

    async def next_change() -> tuple[str, bool, str]:
        async with asyncio.timeout(CHANGE_S):
            change = await changes.get()
        reason = change.refused.text if change.refused else ""
        return change.choice.model, change.is_replaced, reason

    async with running_server() as server:
        one = {"kind": "vllm", "model": "one", "base_url": server.base_url}
        write_provider(file, one)
        follower = followed_model(choose, [file], rules_refused="a guardrail needs a model")
        async with follower as followed, followed.following():
            followed.on_change.append(changes.put)
            write_provider(file, {**one, "model": "two"})
            replaced = await next_change()
            write_provider(file, {"kind": "offline"})
            by_rules = await next_change()
            file.write_text("[provider", encoding="utf-8")
            unreadable = await next_change()
            write_provider(tmp_path / "mended", {**one, "model": "two"})
            (tmp_path / "mended").replace(file)
            same = await next_change()
            answer = await followed.model.complete([{"role": "user", "content": "hello"}])

    assert replaced == ("two", True, "")
    assert by_rules == ("two", False, "a guardrail needs a model")
    assert (unreadable[:2], "not valid TOML" in unreadable[2]) == (("two", False), True)
    assert same == ("two", False, "")
    assert answer.text == "You said: hello"
    # One test of the new model only, and then the question.
    assert [body["model"] for body in server.requests] == ["two", "two"]
