"""A model that does not answer, as the person sees it who runs the assistant."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.doctor import check_models, check_running_models
from spade_llm.cli.doctor_checks import CheckState
from spade_llm.cli.factory.deployment_spec import read_deployment
from spade_llm.cli.factory.model_choice import REMEDIES, ModelChoice
from spade_llm.cli.factory.model_record import ModelRecord, maintain_model_record
from spade_llm.core.errors import ContextTooLong, ModelFailure, ModelUnavailable
from spade_llm.core.settings import load_agent
from spade_llm.providers.fallback import ModelHealth
from spade_llm.xmpp.servers.data_directory import lock_directory
from tests.cli.program import Program, program_in
from tests.openai_server import OpenAIServer, Say, Status, running_server

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from tests.openai_server import Answer

KEY = "sk-secret-of-the-operator"
WITH_KEY = {"MODEL_KEY": KEY}


def with_model(program: Program, base_url: str) -> Program:
    """Its assistant asks this server, and its environment has no key."""
    file = program.agents / "assistant" / "agent.toml"
    table = (
        f'kind = "openai_compatible"\nbase_url = "{base_url}"\n'
        'model = "test"\napi_key_env = "MODEL_KEY"'
    )
    text = file.read_text(encoding="utf-8").replace('kind = "offline"', table)
    file.write_text(text, encoding="utf-8")
    return program


@pytest.mark.timeout(240)
async def test_the_operator_sees_why_the_model_does_not_answer(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    async with running_server(OpenAIServer(api_key="another key")) as server:
        program = program_in(tmp_path, has_prosody=False, port=unused_tcp_port)
        program = with_model(program, server.base_url)
        async with replace(program, variables=WITH_KEY).up("--http", "off") as up:
            await up.ready()
            told = await up.line("model       assistant@localhost: 127.0.0.1")
            failed = await program.run("ask", "hello")
            await program.run("account", "ada")
            other = await program.run("ask", "--as", "ada@localhost", "hello")
            doctor = await program.run("doctor")
            server.api_key = KEY
            answered = await program.run("ask", "hello")
            again = await up.line("model       assistant@localhost: answers again")
            healthy = await program.run("doctor")
        log = "".join(one.read_text() for one in (program.data / "log").iterdir())

    rejected = "does not accept the API key"
    assert rejected in told
    assert (failed.status, failed.output) == (1, "")
    assert failed.errors.startswith("spade-llm ask: Sorry, my language model is not answering")
    # The person of `up` runs the assistant; ada is another one.
    assert rejected in failed.errors
    assert (other.status, rejected in other.errors) == (1, False)
    assert (doctor.status, rejected in doctor.output) == (1, True)
    assert (answered.status, answered.output) == (0, "You said: hello\n")
    assert again
    assert (healthy.status, f"test at {server.base_url}" in healthy.output) == (0, True)
    assert rejected in log
    seen = [told, doctor.output, failed.errors, healthy.output, log]
    assert not [text for text in seen if KEY in text]


@pytest.mark.timeout(240)
async def test_an_answer_of_rules_in_the_place_of_a_model_has_its_own_exit_code(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    async with running_server() as server:
        program = program_in(tmp_path, has_prosody=False, port=unused_tcp_port)
        program = replace(with_model(program, server.base_url), variables=WITH_KEY)
        with (program.agents / "assistant" / "agent.toml").open("a", encoding="utf-8") as file:
            file.write('\n[fallback]\nkind = "offline"\n')
        async with program.up("--http", "off") as up:
            await up.ready()
            by_model = await program.run("ask", "hello")
            server.enqueue(Status(status=401))
            by_rules = await program.run("ask", "hello")
            # Written where the running `up` has its agents.
            changed = await program.run("model", "set", "other", "--url", server.base_url)

    assert by_model.status == 0
    assert load_agent(program.agents / "assistant" / "agent.toml").provider.model == "other"
    assert "running     assistant@localhost uses it now" in changed.output
    assert (by_rules.status, "I follow simple rules" in by_rules.output) == (3, True)
    assert "the language model failed and rules answered" in by_rules.errors


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://no-such-host.invalid/v1", "host name is unknown"),
        ("http://127.0.0.1:9/v1", "refuses connections"),
    ],
)
async def test_the_doctor_tells_unreachable_servers_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, why: str
) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    program = with_model(program_in(tmp_path, has_prosody=False, port=9), url)

    (check,) = await check_models(assistant_of(program), tmp_path)

    assert (check.state, why in check.detail) == (CheckState.FAILED, True)
    assert KEY not in repr(check)


@pytest.mark.parametrize(
    ("answer", "state", "remedy"),
    [
        (Say(text="ready"), CheckState.OK, ""),
        (Status(status=404), CheckState.FAILED, REMEDIES[ModelFailure.UNKNOWN_MODEL]),
        (Status(status=401), CheckState.FAILED, REMEDIES[ModelFailure.WRONG_KEY]),
        (Status(status=429), CheckState.FAILED, REMEDIES[ModelFailure.RATE_LIMIT]),
    ],
)
async def test_the_doctor_calls_the_model_once_and_names_the_remedy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: Answer,
    state: CheckState,
    remedy: str,
) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    async with running_server(OpenAIServer(api_key=KEY)) as server:
        server.enqueue(answer)
        program = with_model(program_in(tmp_path, has_prosody=False, port=9), server.base_url)

        (check,) = await check_models(assistant_of(program), tmp_path)

    assert (check.state, check.remedy) == (state, remedy)
    assert len(server.requests) == 1


def assistant_of(program: Program) -> DeploymentSpec:
    found = read_deployment(program.agents, domain="localhost")
    return next(one for one in found if one.settings.kind == "assistant")


def test_the_doctor_knows_only_assistants_that_run(tmp_path: Path) -> None:
    home = tmp_path / "agents" / "assistant@localhost"
    health = ModelHealth()
    with (
        lock_directory(home, what="it"),
        maintain_model_record(home, ModelRecord(description="m"), health),
    ):
        health.fail(ModelUnavailable("It is away."))
        (while_running,) = check_running_models(tmp_path)
        health.succeed()
        (recovered,) = check_running_models(tmp_path)

    assert "m: It is away. (1 call since" in while_running.detail
    assert recovered.state is CheckState.OK
    assert check_running_models(tmp_path) == []


def test_a_long_conversation_is_no_fault_of_the_model() -> None:
    health = ModelHealth()

    health.fail(ContextTooLong("too long"))

    assert health.fault is None


def test_an_address_is_shown_without_its_password() -> None:
    choice = ModelChoice(kind="local", model="m", base_url="http://me:secret@h:1/v1?key=secret")

    assert choice.description == "m at http://h:1/v1"
