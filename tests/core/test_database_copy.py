"""A copy of a store's tables: equal rows, only what differs is written, nothing foreign is lost."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.history.memory_outbox import OUTBOX_TABLES
from spade_llm.cli.storage import STORES
from spade_llm.core.database import DatabaseUrl, StoreTables
from spade_llm.core.database_copy import (
    PAGE_ROWS,
    TableLayout,
    copy_store,
    refuse_unfinished_copy,
    table_state,
    tables_of,
)
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.postgres import PostgresServer
from spade_llm.gateway.gateway_database import GATEWAY_TABLES
from spade_llm.messaging.answer_log import ANSWER_TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.core.database import DatabasePlace
    from tests.conftest import PlaceOf
    from tests.postgres_server import PostgresProcess

ROWS = 2 * PAGE_ROWS + 17
NOTES = StoreTables(
    name="notes",
    what="the notes",
    schema="CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, text TEXT UNIQUE)"
    " WITHOUT ROWID;",
)


def some_value(number: int, at: int, kind: str) -> object:
    """A value of this SQL type that is another one in each row."""
    match kind:
        case "INTEGER":
            return number + at
        case "REAL":
            return number + at / 8
        case "BLOB":
            return bytes([0, 255, at]) + number.to_bytes(4, "big")
    return f"{number}: 50 % of ½ '🙂' \\ {at}"


async def fill(store: StoreTables, place: DatabasePlace, rows: int = ROWS) -> None:
    """Insert rows with values in a random order of their keys."""
    database = store.at(place)
    await database.open()
    numbers = random.Random(3).sample(range(10_000), rows)
    for table in tables_of(store):
        kinds = await database.execute(f"SELECT name, type FROM pragma_table_info('{table.name}')")
        marks = ", ".join("?" * len(kinds))
        async with database.transaction() as execute:
            for number in numbers:
                values = [some_value(number, at, str(kind)) for at, (_, kind) in enumerate(kinds)]
                await execute(f"INSERT INTO {table.name} VALUES ({marks})", *values)
    await database.close()


async def states(store: StoreTables, place: DatabasePlace) -> dict[str, tuple[int, str]]:
    database = store.at(place)
    await database.open()
    found = {one.name: await table_state(database, one) for one in tables_of(store)}
    await database.close()
    return {name: (state.rows, state.digest) for name, state in found.items()}


async def put_notes(place: DatabasePlace, *notes: tuple[str, str]) -> None:
    database = NOTES.at(place)
    await database.open()
    await database.execute("DELETE FROM notes")
    for note in notes:
        await database.execute("INSERT INTO notes VALUES (?, ?)", *note)
    await database.close()


def test_the_tables_of_a_store_are_read_from_its_sql() -> None:
    assert tables_of(ANSWER_TABLES)[0].key == ("sender", "id", "fingerprint")
    assert "asker" in tables_of(ANSWER_TABLES)[0].columns
    assert tables_of(OUTBOX_TABLES) == [
        TableLayout(
            name="observations",
            columns=("id", "conversation", "subject", "messages"),
            key=("id",),
            number="id",
        )
    ]
    answers = next(one for one in tables_of(GATEWAY_TABLES) if one.name == "answers")
    assert (answers.columns[-1], answers.key) == ("rowid", ("principal", "key"))


@pytest.mark.parametrize(
    "store",
    [store for store in STORES if not store.is_created_elsewhere],
    ids=lambda store: store.name,
)
async def test_every_store_comes_back_as_it_was(
    store: StoreTables, place_of: PlaceOf, tmp_path: Path
) -> None:
    source, back = tmp_path / "source.db", tmp_path / "back" / "back.db"
    back.parent.mkdir()
    await fill(store, source)
    middle = place_of("middle.db")

    there = await copy_store(store, source, middle)
    again = await copy_store(store, source, middle)
    returned = await copy_store(store, middle, back)

    assert all(one.is_verified and one.written == one.rows == ROWS for one in there)
    assert all(one.is_verified and one.written == 0 for one in again)
    assert all(one.is_verified for one in returned)
    assert await states(store, back) == await states(store, source)


async def test_new_rows_are_numbered_behind_the_copied_ones(
    place_of: PlaceOf, tmp_path: Path
) -> None:
    await fill(OUTBOX_TABLES, tmp_path / "source.db")
    await copy_store(OUTBOX_TABLES, tmp_path / "source.db", place_of("target.db"))
    target = OUTBOX_TABLES.at(place_of("target.db"))
    await target.open()

    new = """INSERT INTO observations(conversation, subject, messages) VALUES ('c', 's', 'm')
        RETURNING id"""
    ((number,),) = await target.execute(new)
    ((before,),) = await target.execute("SELECT max(id) FROM observations WHERE subject <> 's'")
    await target.close()

    assert int(str(number)) > int(str(before))


async def test_a_second_copy_writes_the_pages_that_have_changed(
    place_of: PlaceOf, tmp_path: Path
) -> None:
    source, target = tmp_path / "source.db", place_of("target.db")
    await put_notes(source, *((f"{n:04}", f"text {n}") for n in range(ROWS)))
    await copy_store(NOTES, source, target)
    # A text moves to a key of an earlier page, a row goes away, and one comes behind the last.
    changed = {f"{n:04}": f"text {n}" for n in range(1, ROWS)} | {"9999": "last"}
    changed["0001"], changed["0410"] = changed["0410"], changed["0001"]
    await put_notes(source, *changed.items())

    (planned,) = await copy_store(NOTES, source, target, is_dry_run=True)
    (done,) = await copy_store(NOTES, source, target)

    assert 0 < planned.written == done.written <= ROWS
    assert not planned.is_verified
    assert done.is_verified
    assert await states(NOTES, target) == await states(NOTES, source)


async def test_a_copy_that_was_interrupted_is_finished_by_another(
    place_of: PlaceOf, tmp_path: Path
) -> None:
    class Interrupted(Exception):
        pass

    # In a folder of its own, since a record stands beside the files that were copied.
    own = tmp_path / "own"
    own.mkdir()
    source, target = own / "source.db", place_of("target.db")
    server = target if isinstance(target, PostgresServer) else None
    await fill(GATEWAY_TABLES, source)

    def stop_in_the_third_table(done: int, _total: int) -> None:
        if done > 2 * ROWS:
            raise Interrupted

    def stop_at_the_end(done: int, total: int) -> None:
        if done == total:
            raise Interrupted

    await refuse_unfinished_copy(server, tmp_path)
    with pytest.raises(Interrupted):
        await copy_store(GATEWAY_TABLES, source, target, progress=stop_in_the_third_table)
    with pytest.raises(ConfigurationError, match="a copy was not finished .*storage move"):
        await refuse_unfinished_copy(server, tmp_path)
    rest = await copy_store(GATEWAY_TABLES, source, target)
    await refuse_unfinished_copy(server, tmp_path)
    await put_notes(own / "notes.db", ("a", "1"))
    with pytest.raises(Interrupted):
        await copy_store(NOTES, own / "notes.db", target, progress=stop_at_the_end)
    with pytest.raises(ConfigurationError, match="tables notes"):
        await refuse_unfinished_copy(server, tmp_path)
    (last,) = await copy_store(NOTES, own / "notes.db", target)
    await refuse_unfinished_copy(server, tmp_path)

    assert [one.written for one in rest[:2]] == [0, 0]
    assert 0 < rest[2].written < ROWS
    assert all(one.is_verified for one in rest)
    assert (last.written, last.is_verified) == (0, True)


async def test_rows_that_no_copy_has_written_are_kept_unless_they_may_be_replaced(
    place_of: PlaceOf, tmp_path: Path
) -> None:
    source, target = tmp_path / "source.db", place_of("target.db")
    await put_notes(source, ("a", "1"), ("b", "2"))
    await put_notes(target, ("c", "own"))

    with pytest.raises(ConfigurationError, match=r"the notes: .* no copy has written.*--replace"):
        await copy_store(NOTES, source, target)
    kept = await states(NOTES, target)
    await copy_store(NOTES, source, target, may_replace=True)
    replaced = await states(NOTES, target)
    await put_notes(target, ("a", "1"), ("b", "newer"))
    with pytest.raises(ConfigurationError, match="changed since they were copied"):
        await copy_store(NOTES, source, target)

    assert kept["notes"][0] == 1
    assert replaced == await states(NOTES, source)


@pytest.mark.thorough
async def test_a_role_that_may_not_read_the_record_of_copies_is_told_the_right(
    postgres: PostgresProcess, tmp_path: Path
) -> None:
    await put_notes(tmp_path / "source.db", ("a", "1"))
    agent = "granted@example.org"
    async with PostgresServer(DatabaseUrl(postgres.url()), agent=agent) as server:
        await copy_store(NOTES, tmp_path / "source.db", server)
        async with server.connection() as connection:
            await connection.execute(
                "CREATE ROLE granted LOGIN PASSWORD 'p'; GRANT USAGE ON SCHEMA"
                f' "{agent}" TO granted; GRANT SELECT ON "{agent}".store_versions TO granted'
            )

    url = postgres.url(user="granted", password="p")
    async with PostgresServer(DatabaseUrl(url), agent=agent) as server:
        with pytest.raises(ConfigurationError, match="needs SELECT on its table copied_tables"):
            await refuse_unfinished_copy(server, None)


@pytest.mark.thorough
async def test_a_text_that_postgresql_cannot_hold_is_verified_as_what_it_becomes(
    postgres: PostgresProcess, tmp_path: Path
) -> None:
    await put_notes(tmp_path / "source.db", ("a", "1\0 2"))
    async with PostgresServer(DatabaseUrl(postgres.url()), agent="nul@example.org") as server:
        (done,) = await copy_store(NOTES, tmp_path / "source.db", server)

    assert done.is_verified
