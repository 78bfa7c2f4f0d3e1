"""`spade-llm model`: the model in use, its test call, and setting another one."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.factory.model_choice import REMEDIES, write_provider
from spade_llm.cli.model import PROVIDERS, WantedModel
from spade_llm.core.errors import ConfigurationError, ModelError, ModelFailure
from spade_llm.core.settings import ProviderTable, load_agent, load_network_model
from spade_llm.core.settings.environment import secret_variables
from tests.cli.program import ROOT, Program, program_in
from tests.cli.terminal import on_terminal
from tests.openai_server import Call, Hang, OpenAIServer, Raw, Say, Status, running_server

if TYPE_CHECKING:
    from pathlib import Path

    from tests.openai_server import Answer

KEY = "sk-secret-of-the-operator"
LIST = '{"data": [{"id": "qwen3", "max_model_len": 32768}, {"id": "llama3"}]}'


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """On the standard agents, whose assistant has kind = "auto"."""
    program = program_in(tmp_path, has_prosody=False, port=9)
    return replace(program, variables={"OLLAMA_HOST": "127.0.0.1:9"})


async def test_a_model_is_set_tested_and_shown(program: Program) -> None:
    async with running_server() as server:
        server.models = Status(status=200, body=LIST)
        server.enqueue(Say(calls=(Call(name="report_ready", arguments='{"status": "ready"}'),)))
        before = await program.run("model")
        done = await program.run("model", "set", "vllm/qwen3", "--url", server.base_url)
        shown = await program.run("model", "--json")

    assert (before.status, "rules instead of a model" in before.output) == (1, True)
    assert "spade-llm model set" in before.output
    assert done.status == 0, done.errors
    written = program.data / "model.toml"
    assert f"written     {written}" in done.output
    assert "streams; calls tools; context 32768 tokens" in done.output
    table = ProviderTable(kind="vllm", model="qwen3", base_url=server.base_url)
    assert load_network_model(written) == table
    report = json.loads(shown.output)
    assert (report["model"], report["answers"], report["tools"]) == ("qwen3", True, "ignored")
    assert 0 < report["first_s"] <= report["total_s"]


async def test_an_own_agent_toml_keeps_its_comments_and_order(program: Program) -> None:
    """The agents of --agents are written themselves, RAG agents with the same model too."""
    path = program.agents / "assistant" / "agent.toml"
    before = path.read_text(encoding="utf-8")
    async with running_server() as server:
        place = ("--url", server.base_url, "--agents", str(program.agents))
        done = await program.run("model", "set", "vllm/Qwen/Qwen3-8B", *place)

    assert done.status == 0, done.errors
    after = path.read_text(encoding="utf-8")
    new = f'model = "Qwen/Qwen3-8B"\nbase_url = "{server.base_url}"\n'
    assert after.replace('kind = "vllm"', 'kind = "offline"').replace(new, "") == before
    assert load_agent(path).provider.model == "Qwen/Qwen3-8B"
    assert not (program.data / "model.toml").exists()


def test_other_keys_of_the_table_stay(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(
        'kind = "assistant"\njid = "a"\n[provider]  # mine\nkind = "openai" # old\nmodel = "m"\n'
        'timeout_s = 9.0\napi_key_env = "K"\n# end\n[limits]\nseconds = 9\n',
        encoding="utf-8",
    )

    write_provider(path, {"kind": "ollama", "model": "qwen3"})

    assert path.read_text(encoding="utf-8") == (
        'kind = "assistant"\njid = "a"\n[provider]  # mine\nkind = "ollama" # old\n'
        'model = "qwen3"\ntimeout_s = 9.0\n# end\n[limits]\nseconds = 9\n'
    )


@pytest.mark.parametrize(
    ("text", "url", "table"),
    [
        ("ollama/qwen3:4b", None, {"kind": "ollama", "model": "qwen3:4b"}),
        ("lmstudio/a/b", None, {"kind": "lm_studio", "model": "a/b"}),
        ("openai/gpt-5-mini", None, {"kind": "openai", "model": "gpt-5-mini"}),
        (
            "groq/llama",
            None,
            {
                "kind": "openai_compatible",
                "model": "llama",
                "base_url": "https://api.groq.com/openai/v1",
            },
        ),
        ("vllm/m", "http://h/v1", {"kind": "vllm", "model": "m", "base_url": "http://h/v1"}),
        (
            "Qwen/Qwen3",
            "http://h/v1",
            {"kind": "openai_compatible", "model": "Qwen/Qwen3", "base_url": "http://h/v1"},
        ),
        (
            "openai_compatible/openai/gpt-oss",
            "http://h/v1",
            {"kind": "openai_compatible", "model": "openai/gpt-oss", "base_url": "http://h/v1"},
        ),
        ("auto", None, {"kind": "auto"}),
    ],
)
def test_a_model_is_named_by_provider_and_name_or_by_url(
    text: str, url: str | None, table: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)

    assert WantedModel.parse(text, url).table({}) == table
    ProviderTable.model_validate(table)


@pytest.mark.parametrize(
    ("text", "url", "why"),
    [
        ("qwen3", None, "names no provider"),
        ("ollama/", None, "names no provider"),
        ("m", "localhost:8000/v1", "base_url"),
        ("m", "http://me:secret@h/v1", "no secrets"),
    ],
)
def test_an_unclear_model_is_refused_with_the_fix(text: str, url: str | None, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as refused:
        WantedModel.parse(text, url)

    assert "secret@" not in str(refused.value)


@pytest.mark.parametrize(
    ("answer", "cause", "said"),
    [
        (Status(status=401), ModelFailure.WRONG_KEY, "does not accept the API key"),
        (Status(status=403), ModelFailure.WRONG_KEY, "does not allow this API key"),
        (Status(status=404), ModelFailure.UNKNOWN_MODEL, "has no model 'qwen'"),
        (
            Status(status=429, headers={"Retry-After": "20"}),
            ModelFailure.RATE_LIMIT,
            "a pause of 20 s",
        ),
        (Status(status=500), ModelFailure.SERVER_ERROR, "HTTP 500"),
        (Raw(b"<html>login</html>", "text/html"), ModelFailure.INCOMPATIBLE, "usually /v1"),
    ],
)
@pytest.mark.thorough
async def test_the_causes_of_a_failure_are_told_apart(
    program: Program, answer: Answer, cause: ModelFailure, said: str
) -> None:
    async with running_server() as server:
        server.models = Status(status=200, body=LIST)
        server.enqueue(answer)
        done = await program.run("model", "set", "qwen", "--url", server.base_url, "--json")

    report = json.loads(done.output)
    assert (done.status, report["cause"], said in report["error"]) == (1, cause, True), report
    assert report["remedy"] == REMEDIES[cause]
    assert report["retry_after_s"] == (20 if cause is ModelFailure.RATE_LIMIT else None)
    if cause is ModelFailure.UNKNOWN_MODEL:
        assert "for instance: qwen3" in report["error"]


@pytest.mark.parametrize(
    ("url", "cause"),
    [
        ("http://no-such-host.invalid/v1", ModelFailure.UNKNOWN_HOST),
        ("http://127.0.0.1:9/v1", ModelFailure.CONNECTION_REFUSED),
    ],
)
@pytest.mark.thorough
async def test_unreachable_servers_are_told_apart(
    program: Program, url: str, cause: ModelFailure
) -> None:
    done = await program.run("model", "set", "m", "--url", url, "--json")

    assert json.loads(done.output)["cause"] == cause


async def test_a_path_that_is_not_the_api_is_no_unknown_model(program: Program) -> None:
    async with running_server() as server:
        url = server.base_url.removesuffix("/v1")
        done = await program.run("model", "set", "m", "--url", url, "--json")

    assert json.loads(done.output)["cause"] == ModelFailure.INCOMPATIBLE


async def test_a_key_file_is_closed_to_others_and_never_shown(program: Program) -> None:
    path = program.data / "key"
    path.write_text(f"{KEY}\n", encoding="utf-8")
    path.chmod(0o644)
    async with running_server(OpenAIServer(api_key=KEY)) as server:
        place = ("--url", server.base_url, "--key-file", str(path))
        done = await program.run("model", "set", "m", *place)
        server.api_key = "another"
        failed = await program.run("model")

    assert done.status == 0, done.output
    assert "644" in done.errors
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    # Below the data directory it is named relative to it.
    assert load_network_model(program.data / "model.toml").api_key_file == "key"
    assert (failed.status, "does not accept the API key" in failed.output) == (1, True)
    seen = [done.output, done.errors, failed.output, failed.errors]
    assert not [text for text in seen if KEY in text]


@pytest.mark.thorough
async def test_a_key_is_named_by_its_variable(program: Program) -> None:
    with_key = replace(program, variables={"MY_KEY": KEY})
    async with running_server(OpenAIServer(api_key=KEY)) as server:
        place = ("--url", server.base_url, "--key-env", "MY_KEY")
        done = await with_key.run("model", "set", "m", *place)
        unset = await program.run("model", "set", "m", *place)

    assert done.status == 0, done.output
    assert (unset.status, "MY_KEY is not set" in unset.errors) == (1, True)


async def test_a_provider_with_keys_needs_one_where_nobody_can_be_asked(program: Program) -> None:
    done = await program.run("model", "set", "openai/gpt-5-mini")

    assert (done.status, "OPENAI_API_KEY" in done.errors) == (1, True)
    assert "--key-file" in done.errors
    assert not (program.data / "model.toml").exists()


@pytest.mark.thorough
async def test_a_rejected_key_is_asked_for_in_a_terminal(program: Program) -> None:
    """What is typed is not shown; it is kept in a private file."""
    async with running_server(OpenAIServer(api_key=KEY)) as server:
        words = program.command("model", "set", "m", "--url", server.base_url)
        async with on_terminal(words, program.environment, is_typed=True) as terminal:
            await terminal.shows("API key for 127.0.0.1 (not shown):")
            terminal.type(f"{KEY}\n")
            await terminal.shows("answers: begins after")
            assert await terminal.ended() == 0

    assert KEY not in terminal.text
    path = program.data / "keys" / "127.0.0.1"
    assert path.read_text(encoding="utf-8").strip() == KEY
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_network_model(program.data / "model.toml").api_key_file == "keys/127.0.0.1"


async def test_a_slow_model_is_waited_for_within_a_bound(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from spade_llm.providers.openai.model import OpenAIModel

    async with running_server() as server:
        server.enqueue(Hang())
        async with OpenAIModel(
            base_url=server.base_url, api_key="x", settings={"model": "m"}
        ) as model:
            with pytest.raises(ModelError, match=r"did not answer in 0\.1 s") as slow:
                await model.check(within_s=0.1)

    assert slow.value.cause is ModelFailure.TIMEOUT


def test_the_variable_of_a_network_s_key_is_for_the_agents_that_call_the_model(
    tmp_path: Path,
) -> None:
    network = ProviderTable(
        kind="openai_compatible", model="m", base_url="http://h/v1", api_key_env="MY_KEY"
    )
    names = {}
    for kind in ("assistant", "rag", "tools"):
        path = tmp_path / f"{kind}.toml"
        path.write_text(f'kind = "{kind}"\njid = "{kind}"\n', encoding="utf-8")
        names[kind] = "MY_KEY" in secret_variables(load_agent(path), network)

    assert names == {"assistant": True, "rag": True, "tools": False}


@pytest.mark.thorough
async def test_of_several_assistants_one_is_named(program: Program) -> None:
    second = program.agents / "second"
    second.mkdir()
    (second / "agent.toml").write_text('kind = "assistant"\njid = "second"\n', encoding="utf-8")
    words = ("set", "offline", "--agents", str(program.agents))

    unclear = await program.run("model", *words)
    done = await program.run("model", *words, "--agent", "second")

    assert (unclear.status, "second@localhost" in unclear.errors) == (1, True)
    assert (done.status, load_agent(second / "agent.toml").provider.kind) == (0, "offline")


def test_every_provider_and_cause_is_documented() -> None:
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")

    assert [name for name in PROVIDERS if f"`{name}" not in page] == []
    assert [cause for cause in ModelFailure if f"`{cause}`" not in page] == []
    assert set(REMEDIES) == set(ModelFailure)
