"""The folder of agents that `up` starts, and which model an assistant gets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.doctor import check_models
from spade_llm.cli.doctor_checks import CheckState
from spade_llm.cli.factory.agent_options import build_agent_addresses, build_context
from spade_llm.cli.factory.deployment_spec import (
    DeploymentSpec,
    read_deployment,
    standard_deployment,
    start_waves,
)
from spade_llm.cli.factory.model_choice import (
    ModelChoice,
    build_model,
    choose_fallback,
    choose_learning_model,
    choose_model,
)
from spade_llm.context import NoContextManagement, SmartWindowSizeContext, WindowSizeContext
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings import ContextTable, read_prompt
from tests.openai_server import OpenAIServer, running_server

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_model_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)


def agent(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir()
    (folder / name / "agent.toml").write_text(text, encoding="utf-8")


def assistant_with(folder: Path, provider: str) -> DeploymentSpec:
    agent(folder, "ada", f'kind = "assistant"\njid = "ada"\n[provider]\n{provider}')
    return read_deployment(folder, domain="localhost")[0]


def test_the_standard_agents_are_valid_and_use_one_another() -> None:
    found = read_deployment(standard_deployment(), domain="localhost")

    by_kind = {one.settings.kind: one for one in found}
    assert set(by_kind) == {"assistant", "memory", "rag", "tools", "gateway"}
    used = by_kind["assistant"].settings.services
    wanted = [
        by_kind["assistant"].resolve_jid(name)
        for name in (used.memory, used.rag, *used.tools)
        if name
    ]
    assert wanted == [by_kind[kind].jid for kind in ("memory", "rag", "tools")]
    behind = build_agent_addresses(by_kind["gateway"])
    assert set(behind.all) == {one.jid for one in found} - {by_kind["gateway"].jid}
    assert read_prompt(by_kind["assistant"].path, by_kind["assistant"].settings)


def test_agents_start_after_those_that_they_use() -> None:
    waves = start_waves(read_deployment(standard_deployment(), domain="localhost"))

    assert [{one.settings.kind for one in wave} for wave in waves] == [
        {"memory", "rag", "tools"},
        {"assistant"},
        {"gateway"},
    ]


def test_two_agents_with_one_jid_are_refused(tmp_path: Path) -> None:
    agent(tmp_path, "one", 'kind = "memory"\njid = "m"')
    agent(tmp_path, "two", 'kind = "tools"\njid = "m@example.org"')

    with pytest.raises(ConfigurationError, match=r"two/agent\.toml: jid: m@example\.org"):
        read_deployment(tmp_path, domain="example.org")


def test_a_folder_without_agents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--agents"):
        read_deployment(tmp_path, domain="localhost")


def test_each_strategy_is_built_with_its_parameters() -> None:
    smart = build_context(ContextTable(strategy=["smart"], max_messages=7, preserve_initial=2))

    assert isinstance(smart, SmartWindowSizeContext)
    assert (smart.max_messages, smart.preserve_initial) == (7, 2)
    assert isinstance(build_context(ContextTable(strategy=["window"])), WindowSizeContext)
    assert isinstance(build_context(ContextTable(strategy=["none"])), NoContextManagement)


async def test_the_model_of_the_environment_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_MODEL", "some-model")

    choice = await choose_model(assistant_with(tmp_path, 'kind = "auto"'), tmp_path)

    assert choice.description == "some-model at https://api.openai.com/v1"
    assert "sk-secret" not in repr(choice)


async def test_a_local_server_of_the_environment_needs_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_MODEL", "some-model")

    choice = await choose_model(assistant_with(tmp_path, 'kind = "auto"'), tmp_path)
    model = build_model(choice)

    assert (choice.kind, model.name) == ("local", "some-model")
    await model.aclose()


async def test_no_more_calls_than_the_agent_toml_says_are_made_at_once(tmp_path: Path) -> None:
    async with running_server(OpenAIServer(delay_s=0.05)) as server:
        table = f'kind = "vllm"\nmodel = "m"\nbase_url = "{server.base_url}"\nmax_concurrent = 3'
        model = build_model(await choose_model(assistant_with(tmp_path, table), tmp_path))

        await asyncio.gather(
            *(model.complete([{"role": "user", "content": "x"}]) for _ in "1234567")
        )

        assert server.most_at_once == 3
        await model.aclose()


async def test_a_server_of_the_environment_without_a_model_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    with pytest.raises(ConfigurationError, match="OPENAI_MODEL"):
        await choose_model(assistant_with(tmp_path, 'kind = "auto"'), tmp_path)


async def test_openai_without_a_key_is_refused_with_file_and_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"agent\.toml: provider\.kind: .*OPENAI_API_KEY"):
        await choose_model(assistant_with(tmp_path, 'kind = "openai"'), tmp_path)


async def test_a_key_variable_of_ones_own_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine")
    table = (
        'kind = "openai_compatible"\nmodel = "m"\nbase_url = "http://h/v1"\napi_key_env = "MY_KEY"'
    )

    choice = await choose_model(assistant_with(tmp_path, table), tmp_path)

    assert (choice.kind, choice.api_key) == ("openai", "sk-mine")


async def test_a_fallback_has_the_keys_of_a_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine")
    tables = (
        'kind = "ollama"\nmodel = "first"\n[fallback]\nkind = "openai_compatible"\n'
        'model = "second"\nbase_url = "http://h/v1"\napi_key_env = "MY_KEY"'
    )

    choice = await choose_fallback(assistant_with(tmp_path, tables), tmp_path)

    assert choice is not None
    assert (choice.description, choice.api_key) == ("second at http://h/v1", "sk-mine")


async def test_the_doctor_looks_at_the_fallback_too(tmp_path: Path) -> None:
    tables = 'kind = "offline"\n[fallback]\nkind = "offline"'

    checks = await check_models(assistant_with(tmp_path, tables), tmp_path)

    assert [(one.name, one.state) for one in checks] == [
        ("model", CheckState.MISSING),
        ("fallback", CheckState.OK),
    ]


def test_rules_say_that_they_are_rules() -> None:
    assert "rules instead of a model" in ModelChoice(kind="offline").description


def memory_with(folder: Path, learning: str) -> DeploymentSpec:
    agent(folder, "memory", f'kind = "memory"\njid = "memory"\n{learning}')
    return read_deployment(folder, domain="localhost")[0]


@pytest.mark.parametrize(
    "learning",
    [
        "",
        "[learning]\nenabled = true",
        '[learning.provider]\nkind = "offline"',
        '[learning]\nenabled = false\n[learning.provider]\nkind = "ollama"\nmodel = "m"',
    ],
)
async def test_a_memory_learns_by_rules_unless_it_is_given_a_model(
    tmp_path: Path, learning: str
) -> None:
    assert await choose_learning_model(memory_with(tmp_path, learning), tmp_path) is None


async def test_a_memory_learns_with_the_model_of_its_toml(tmp_path: Path) -> None:
    table = '[learning.provider]\nkind = "ollama"\nmodel = "m"'

    choice = await choose_learning_model(memory_with(tmp_path, table), tmp_path)

    assert choice is not None
    assert choice.description == "m at http://localhost:11434/v1"


async def test_missing_options_of_the_learning_model_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"learning\.provider\.kind: .*OPENAI_API_KEY"):
        await choose_learning_model(
            memory_with(tmp_path, '[learning.provider]\nkind = "openai"'), tmp_path
        )
