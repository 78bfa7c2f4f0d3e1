"""PostgreSQL as the place of an agent's small databases: rights, tables, outages and crashes."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import psycopg
import pytest

from spade_llm.assistant.middleware.usage_ledger import UsageLedger
from spade_llm.assistant.turn.turn_recorder import UsageTotals
from spade_llm.core import postgres as postgres_module
from spade_llm.core.database import DatabaseUrl, DialectSql, StoreTables
from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.core.postgres import PostgresServer, schema_name
from spade_llm.messaging import Performative, PersistentAnswerLog
from tests.conftest import PASSWORD
from tests.messaging.node_harness import request

if TYPE_CHECKING:
    from spade_llm.core.database import Database
    from tests.postgres_server import PostgresProcess

PATIENCE_S = 30.0
SCHEMA = "CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;"
PUT = """INSERT INTO notes(name, text) VALUES (?1, ?2)
    ON CONFLICT (name) DO UPDATE SET text = ?2"""
ALL = "SELECT name, text FROM notes ORDER BY name"


def notes_in(server: PostgresServer, schema: str = SCHEMA) -> Database:
    return StoreTables(name="notes", what="the notes", schema=schema).at(server)


@pytest.mark.quick
async def test_an_answer_log_and_a_ledger_work_in_postgresql(postgres: PostgresProcess) -> None:
    asked = request("hello", id="1")
    async with (
        PostgresServer(DatabaseUrl(postgres.url()), agent="smoke@example.org") as server,
        PersistentAnswerLog(server) as log,
        UsageLedger(server) as ledger,
    ):
        await log.start(asked)
        await log.finish(asked, asked.reply(Performative.INFORM, '{"entry": {"id": "7"}}'))
        await log.scrub("$.entry.id", ["7"], peer=None)
        row = await log.find(asked)
        await ledger.add("ada@x", UsageTotals(turns=1), groups=["@x", "*"])
        spent = await ledger.of_today_together("@x")

    assert row is not None and row.answer is not None
    assert row.answer.performative is Performative.REFUSE
    assert spent.turns == 1


@pytest.mark.thorough
async def test_each_agent_has_tables_of_its_own_and_any_text_comes_back(
    postgres: PostgresProcess,
) -> None:
    async with (
        PostgresServer(DatabaseUrl(postgres.url()), agent="own-a@example.org") as ada,
        PostgresServer(DatabaseUrl(postgres.url()), agent="own-b@example.org") as bob,
    ):
        notes, others = notes_in(ada), notes_in(bob)
        await notes.open()
        await others.open()
        await notes.execute(PUT, "50 % of ½", "a\0b 'c' \"d\" \\ % ? :name 🙂")

        assert await notes.execute(ALL) == [("50 % of ½", "a\ufffdb 'c' \"d\" \\ % ? :name 🙂")]
        assert await others.execute(ALL) == []


@pytest.mark.thorough
async def test_processes_that_start_together_create_the_tables_once(
    postgres: PostgresProcess,
) -> None:
    async def start() -> None:
        async with PostgresServer(
            DatabaseUrl(postgres.url()), agent="together@example.org"
        ) as server:
            await notes_in(server).open()

    await asyncio.gather(*(start() for _ in range(8)))


@pytest.mark.thorough
async def test_a_transaction_that_fails_leaves_nothing(postgres: PostgresProcess) -> None:
    async with PostgresServer(DatabaseUrl(postgres.url()), agent="whole@example.org") as server:
        notes = notes_in(server)
        await notes.open()
        with pytest.raises(StorageFailed):
            async with notes.transaction() as execute:
                await execute(PUT, "a", "1")
                await execute(DialectSql("SELECT 1", "SELECT 1/0"))
        with pytest.raises(ZeroDivisionError):
            async with notes.transaction() as execute:
                await execute(PUT, "b", "1")
                raise ZeroDivisionError

        assert await notes.execute(ALL) == []


@pytest.mark.thorough
async def test_submitted_statements_keep_their_order(postgres: PostgresProcess) -> None:
    async with PostgresServer(DatabaseUrl(postgres.url()), agent="ordered@example.org") as server:
        notes = notes_in(server)
        await notes.open()
        for number in range(20):
            notes.submit(PUT, "a", str(number))
        await server.written_down()

        assert await notes.execute(ALL) == [("a", "19")]


@pytest.mark.thorough
async def test_tables_of_a_later_version_are_refused_and_new_columns_added(
    postgres: PostgresProcess,
) -> None:
    async with PostgresServer(DatabaseUrl(postgres.url()), agent="later@example.org") as server:
        known = StoreTables(name="notes", what="the notes", schema=SCHEMA, version=2)
        await known.at(server).open()
        with pytest.raises(ConfigurationError, match="later version"):
            await replace(known, version=1).at(server).open()
        longer = replace(known, added_columns=("notes at REAL",)).at(server)
        await longer.open()

        assert await longer.execute("SELECT at FROM notes") == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://ada:herring@host/db", "not the URL of a PostgreSQL database"),
        ("postgresql://ada:herr%ing@host/db", "percent-encode"),
        ("postgresql://ada@host/db?nonsense=herring", "not a valid URL"),
    ],
)
async def test_a_url_that_is_none_names_the_setting_and_no_password(url: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as raised:
        PostgresServer(DatabaseUrl(url), agent="a@x")

    assert "[storage] database_url" in str(raised.value)
    assert "herr" not in str(raised.value)


@pytest.mark.thorough
async def test_a_role_for_work_needs_no_right_to_create_and_a_missing_right_is_named(
    postgres: PostgresProcess, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    agent, secret = "roles@example.org", PASSWORD.replace(" ", "%20")
    async with PostgresServer(DatabaseUrl(postgres.url()), agent=agent) as server:
        await notes_in(server).open()
    owner = await psycopg.AsyncConnection.connect(postgres.url(), autocommit=True)
    async with owner:
        await owner.execute(f"CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'")
        await owner.execute(f'GRANT USAGE ON SCHEMA "{agent}" TO app')
        await owner.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{agent}" TO app')
        url = postgres.url(user="app", password=secret)
        async with PostgresServer(DatabaseUrl(url), agent=agent) as server:
            with pytest.raises(ConfigurationError, match="lacks DELETE on notes, INSERT on notes"):
                await notes_in(server).open()
        rights = "INSERT, UPDATE, DELETE"
        await owner.execute(f'GRANT {rights} ON ALL TABLES IN SCHEMA "{agent}" TO app')
        async with PostgresServer(DatabaseUrl(url), agent=agent) as server:
            notes = notes_in(server)
            await notes.open()
            await notes.execute(PUT, "a", "1")
            await notes.erase_deleted()
            assert await notes.execute(ALL) == [("a", "1")]
        wrong = postgres.url(user="app", password="wrong-" + secret)
        with pytest.raises(ConfigurationError, match="password authentication failed") as raised:
            await PostgresServer(DatabaseUrl(wrong), agent=agent).__aenter__()
        async with PostgresServer(DatabaseUrl(url), agent="another@example.org") as server:
            with pytest.raises(ConfigurationError, match="permission denied for database"):
                await notes_in(server).open()

    assert "wrong-" not in str(raised.value) + caplog.text


@pytest.mark.thorough
async def test_statements_wait_for_a_server_that_restarts_and_fail_clearly_for_one_that_is_gone(
    own_postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with PostgresServer(
        DatabaseUrl(own_postgres.url()), agent="outage@example.org"
    ) as server:
        notes = notes_in(server)
        await notes.open()
        # Several idle connections, all of which the server will close.
        await asyncio.gather(*(notes.execute(PUT, f"n{n}", "before") for n in range(8)))
        own_postgres.shut_down()
        waiting = asyncio.create_task(notes.execute(PUT, "waited", "yes"))
        done, _ = await asyncio.wait({waiting}, timeout=0.1)
        own_postgres.start()
        async with asyncio.timeout(PATIENCE_S):
            await waiting
        assert not done
        # None of the old connections costs a failure.
        await asyncio.gather(*(notes.execute(PUT, f"n{n}", "after") for n in range(8)))

        own_postgres.shut_down()
        monkeypatch.setattr(postgres_module, "STATEMENT_TIMEOUT_S", 0.2)
        with pytest.raises(StorageFailed, match="the notes cannot be used"):
            await notes.execute(PUT, "lost", "yes")
        assert notes.is_failing
        monkeypatch.undo()
        own_postgres.start()
        async with asyncio.timeout(PATIENCE_S):
            names = [name for name, _ in await notes.execute(ALL)]

    assert names == [*(f"n{n}" for n in range(8)), "waited"]


@pytest.mark.thorough
async def test_a_server_that_hangs_fails_statements_at_their_deadline_and_holds_no_caller(
    own_postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with PostgresServer(
        DatabaseUrl(own_postgres.url()), agent="frozen@example.org"
    ) as server:
        notes = notes_in(server)
        await notes.open()
        own_postgres.signal(signal.SIGSTOP)
        monkeypatch.setattr(postgres_module, "STATEMENT_TIMEOUT_S", 0.2)
        began = time.monotonic()
        with pytest.raises(StorageFailed):
            await notes.execute(PUT, "a", "1")
        with pytest.raises(StorageFailed):
            async with notes.transaction() as execute:
                await execute(PUT, "b", "1")
        monkeypatch.undo()
        stopped = asyncio.create_task(notes.execute(PUT, "c", "1"))
        await asyncio.sleep(0)
        stopped.cancel()
        await asyncio.wait({stopped})
        seconds = time.monotonic() - began
        own_postgres.signal(signal.SIGCONT)
        async with asyncio.timeout(PATIENCE_S):
            names = {str(name) for name, _ in await notes.execute(ALL)}

    assert seconds < 4.0
    assert names <= {"a", "c"}


@pytest.mark.thorough
async def test_a_killed_server_leaves_nothing_half_done_and_work_goes_on(
    own_postgres: PostgresProcess,
) -> None:
    async def spend(ledger: UsageLedger, peer: str) -> None:
        while not is_over.is_set():
            # Fails clearly, or counts in both tables.
            with suppress(StorageFailed):
                await ledger.add(peer, UsageTotals(turns=1), groups=["@x"])
                counted.set()

    is_over, counted = asyncio.Event(), asyncio.Event()
    async with (
        PostgresServer(DatabaseUrl(own_postgres.url()), agent="crash@example.org") as server,
        UsageLedger(server) as ledger,
    ):
        spending = [asyncio.create_task(spend(ledger, f"p{n}@x")) for n in range(16)]
        for _ in range(3):
            counted.clear()
            async with asyncio.timeout(PATIENCE_S):
                await counted.wait()
            own_postgres.kill()
            own_postgres.start()
        counted.clear()
        async with asyncio.timeout(PATIENCE_S):
            await counted.wait()
        is_over.set()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*spending)
        own = [day.spent.turns for day in await ledger.of_all(days=2)]
        together = await ledger.of_today_together("@x")

    assert together.turns == sum(own) > 0


def test_schemas_are_named_by_the_agent_within_postgresql_s_limit() -> None:
    long = ["a" * 60 + f"{n}@example.org" for n in range(2)]

    assert schema_name("Ada@Example.org") == "ada@example.org"
    assert len({schema_name(one) for one in long}) == 2
    assert all(len(schema_name(one).encode()) <= 63 for one in long)
