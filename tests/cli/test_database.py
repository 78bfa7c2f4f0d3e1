"""--database, SPADE_LLM_DATABASE and [storage] database_url: which one holds, and the commands that
use it."""

from __future__ import annotations

import argparse
from asyncio import to_thread
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.middleware.usage_ledger import UsageLedger
from spade_llm.assistant.turn.turn_recorder import UsageTotals
from spade_llm.cli import main
from spade_llm.cli.context import default_database
from spade_llm.cli.doctor_checks import CheckState, check_databases
from spade_llm.cli.factory.deployment_spec import database_of, read_deployment
from spade_llm.core.database import DatabaseUrl
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.postgres import PostgresServer
from spade_llm.core.settings import DATABASE_VARIABLE, load_agent

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from tests.postgres_server import PostgresProcess

URL = "postgresql://ada:herring@db.example.org/agents"


def described(folder: Path, more: str = "", *, kind: str = "assistant") -> DeploymentSpec:
    path = folder / kind / "agent.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f'kind = "{kind}"\njid = "{kind}"\n{more}', encoding="utf-8")
    (spec,) = read_deployment(folder, domain="localhost")
    return spec


def test_an_agent_toml_goes_before_the_option_and_that_before_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATABASE_VARIABLE, "postgresql://variable")
    option = default_database(argparse.Namespace(database="postgresql://option"))
    variable = default_database(argparse.Namespace(database=None))
    own = described(tmp_path / "own", f'[storage]\ndatabase_url = "{URL}"\n')
    others = described(tmp_path / "others", kind="memory")

    found = database_of(own, option)

    assert found is not None
    assert found.url == URL
    assert found.setting.endswith("agent.toml: storage.database_url")
    assert "herring" not in repr(found) + repr(own.settings)
    assert database_of(others, option) == DatabaseUrl("postgresql://option", "--database")
    assert variable == DatabaseUrl("postgresql://variable", DATABASE_VARIABLE)


def test_only_a_rag_agent_has_a_vector_server(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text('kind = "memory"\njid = "m"\n[storage]\nchroma_url = "http://x"\n')

    with pytest.raises(ConfigurationError, match=r"takes no storage\.chroma_url"):
        load_agent(path)


def test_only_a_memory_agent_has_memories(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text('kind = "tools"\njid = "t"\n[storage]\nmemories = "files"\n')

    with pytest.raises(ConfigurationError, match=r"takes no storage\.memories"):
        load_agent(path)


async def test_a_database_that_does_not_answer_is_a_failure_that_names_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spade_llm.core.postgres.OPEN_TIMEOUT_S", 0.1)
    url = "postgresql://ada:herring@127.0.0.1:1/agents"
    spec = described(tmp_path, f'[storage]\ndatabase_url = "{url}"\n')

    (check,) = await check_databases([spec], None)

    assert check.state is CheckState.FAILED
    assert "storage.database_url" in check.detail and "refused" in check.detail
    assert "herring" not in check.detail


@pytest.mark.thorough
async def test_usage_and_doctor_read_the_database(
    tmp_path: Path, postgres: PostgresProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = described(tmp_path / "agents")
    address = DatabaseUrl(postgres.url())
    before = await check_databases([spec], address)
    async with PostgresServer(address, agent=spec.jid) as server, UsageLedger(server) as ledger:
        await ledger.add("ada@x", UsageTotals(turns=3))
    after = await check_databases([spec], address)
    words = ["usage", "--data", str(tmp_path), "--database", postgres.url()]

    assert await to_thread(main, words) == 0
    assert "ada@x" in capsys.readouterr().out
    assert await to_thread(main, [*words, "--agent", "nobody"]) == 1
    assert "no usage record of 'nobody@localhost'" in capsys.readouterr().err
    assert [one.state for one in (*before, *after)] == [CheckState.OK] * 2
    assert [one.detail.partition(": ")[2] for one in (*before, *after)] == [
        "no tables yet",
        "its tables",
    ]


@pytest.mark.parametrize(
    ("arguments", "kind", "more", "reason"),
    [
        (["--replicas", "2"], "assistant", "", "set [storage] database_url"),
        (["--replicas", "2"], "rag", "", "set [storage] database_url"),
        (
            ["--replicas", "2"],
            "rag",
            '[storage]\ndocuments = "files"\n',
            'storage.documents = "files" is of one process: remove the key',
        ),
        (
            ["--replicas", "2"],
            "rag",
            '[storage]\nchroma_url = "http://localhost:8000"\n',
            "storage.chroma_url: replicas keep vectors in PostgreSQL: remove the key",
        ),
        (["--replicas", "2"], "memory", "", "set [storage] database_url"),
        (
            ["--replicas", "2"],
            "memory",
            '[storage]\nmemories = "files"\n',
            'storage.memories = "files" is of one process: remove the key',
        ),
        (["--replicas", "2"], "tools", "", "set [storage] database_url"),
        (["--replicas", "99"], "assistant", "", "99 is not 1 to 16"),
        ([], "rag", "[storage]\nreplicas = 2\n", "set [storage] database_url"),
        ([], "assistant", "[storage]\nreplicas = 2\n", "set [storage] database_url"),
        (
            ["--replicas", "2"],
            "assistant",
            '[human.ada]\njid = "ada@x"\nknows = "all"\n',
            "are of one process",
        ),
    ],
)
def test_replicas_that_cannot_share_their_state_are_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    kind: str,
    more: str,
    reason: str,
) -> None:
    monkeypatch.delenv(DATABASE_VARIABLE, raising=False)
    path = tmp_path / "agent.toml"
    path.write_text(f'kind = "{kind}"\njid = "{kind}@localhost"\n{more}', encoding="utf-8")
    server = ["--server", "127.0.0.1:1", "--domain", "localhost"]

    status = main(["run", str(path), "--data", str(tmp_path / "data"), *server, *arguments])

    assert status == 1
    assert reason in capsys.readouterr().err
