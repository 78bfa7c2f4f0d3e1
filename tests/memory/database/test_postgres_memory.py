"""Memory in PostgreSQL: what the contract tests do not show."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Unpack

import psycopg
import pytest

from spade_llm.core import postgres as postgres_module
from spade_llm.core.database import DatabaseUrl
from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.core.postgres import PostgresServer
from spade_llm.memory import MemoryDraft, PostgresMemoryBackend, SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryChange, SearchResult
from spade_llm.memory.database import (
    index_cache,
    index_rows,
    maintenance,
    postgres_connection,
    queries,
)
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, SearchMode, SortBy
from tests.memory.contract import NOON, hits, said
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.memory import OwnedMemory
    from spade_llm.memory.database.backend import BackendOptions
    from spade_llm.memory.database.connection import SqlRow, SqlValue, Transaction
    from tests.postgres_server import PostgresProcess

OWNER, OTHER = "assistant@localhost", "someone.else@localhost"
PATIENCE_S = 30.0
WORDS = ("tea", "green", "Ana", "sister", "Madrid", "red", "bag", "moved", "likes", "dog")


@asynccontextmanager
async def process(
    postgres: PostgresProcess, agent: str, **options: Unpack[BackendOptions]
) -> AsyncIterator[PostgresMemoryBackend]:
    """Memory of an agent, as one process has it: connections and caches of its own."""
    async with (
        PostgresServer(DatabaseUrl(postgres.url()), agent=agent) as server,
        PostgresMemoryBackend(server, **options) as backend,
    ):
        yield backend


async def found(store: OwnedMemory, text: str) -> set[str]:
    return {hit.entry.content for hit in await hits(store, text)}


@pytest.mark.quick
async def test_memories_are_kept_found_and_forgotten_in_postgresql(
    postgres: PostgresProcess,
) -> None:
    address = DatabaseUrl(postgres.url())
    async with PostgresServer(address, agent="memory-smoke@example.org") as server:
        async with PostgresMemoryBackend(server) as backend:
            store = backend.for_owner(OWNER)
            entry = await store.add(MemoryDraft(content="Ada likes tea"), key="k")
            await store.observe("c", [said("1")])
        async with PostgresMemoryBackend(server) as backend:
            store = backend.for_owner(OWNER)

            assert (await store.list()).entries == (entry,)
            assert [hit.entry for hit in await hits(store, "tea")] == [entry]
            assert await store.history("c") == [said("1")]
            assert (await store.add(MemoryDraft(content="Ada likes tea"), key="k")).id == entry.id
            assert await hits(backend.for_owner(OTHER), "tea") == ()
            assert await store.forget([entry.id]) == 1
            assert await hits(store, "tea") == ()


@pytest.mark.thorough
async def test_what_another_process_writes_is_in_the_next_search(
    postgres: PostgresProcess,
) -> None:
    agent = "memory-two@example.org"
    async with process(postgres, agent) as one, process(postgres, agent) as two:
        ours, theirs = one.for_owner(OWNER), two.for_owner(OWNER)
        first = await ours.add(MemoryDraft(content="apple 1"))
        assert await found(theirs, "apple") == {"apple 1"}

        for number in range(2, 6):
            writer = (ours, theirs)[number % 2]
            await writer.add(MemoryDraft(content=f"apple {number}"))
            for store in (ours, theirs):
                assert len(await found(store, "apple")) == number
        await theirs.update(MemoryChange(id=first.id, content="pear"))
        assert await found(ours, "pear") == {"pear"}
        await ours.forget([first.id])
        assert await found(theirs, "pear") == set()
        assert await found(two.for_owner(OTHER), "apple") == set()


async def test_what_another_process_forgets_leaves_the_ram_without_a_search(
    postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_cache, "FOLLOW_EVERY_S", 0.05)
    agent = "memory-ram@example.org"
    async with process(postgres, agent) as one, process(postgres, agent) as two:
        ours, theirs = one.for_owner(OWNER), two.for_owner(OWNER)
        entry = await ours.add(MemoryDraft(content="apple"))
        assert await found(theirs, "apple") == {"apple"}
        await ours.forget([entry.id])

        async with asyncio.timeout(PATIENCE_S):
            while two.ranker.cached_rows(OWNER):  # noqa: ASYNC110
                await asyncio.sleep(0.02)


@pytest.mark.thorough
async def test_vectors_are_computed_where_a_row_was_written_and_the_rest_by_the_one_with_the_jobs(
    postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "SCAN_EVERY_S", 0.2)
    agent, embedder = "memory-vectors@example.org", BagOfWords()
    async with process(postgres, agent) as one:  # Without an embedder.
        left = await one.for_owner(OWNER).add(MemoryDraft(content="red bag"))
    async with (
        process(postgres, agent, embedder=embedder, is_replica=True) as one,
        process(postgres, agent, embedder=embedder, is_replica=True) as two,
    ):
        ours, theirs = one.for_owner(OWNER), two.for_owner(OWNER)
        await ours.add(MemoryDraft(content="green tea"))
        semantic = MemoryQuery(text="green tea", mode=SearchMode.SEMANTIC, limit=1)
        at_once = await theirs.search(semantic)
        await asyncio.gather(one.wait_idle(), two.wait_idle())
        before = (await ours.stats()).without_vector
        async with maintenance.replica_jobs(two, None), asyncio.timeout(PATIENCE_S):
            while (await ours.stats()).without_vector:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

        assert [hit.entry.content for hit in at_once.hits] == ["green tea"]
        assert before <= 1
        assert left.id in {entry.id for entry in (await theirs.list()).entries}


@pytest.mark.thorough
async def test_an_index_that_is_behind_by_more_than_is_kept_is_read_anew(
    postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connection, "KEPT_VERSIONS", 4)
    agent = "memory-behind@example.org"
    async with process(postgres, agent) as one, process(postgres, agent) as two:
        ours, theirs = one.for_owner(OWNER), two.for_owner(OWNER)
        assert await found(ours, "apple") == set()
        for number in range(10):
            await theirs.add(MemoryDraft(content=f"apple {number}"))
        assert await found(ours, "apple") == {f"apple {number}" for number in range(10)}

        monkeypatch.setattr(postgres_connection, "MAX_LOGGED_KEYS", 1)
        await theirs.add_many([MemoryDraft(content=f"apple {n}") for n in (10, 11)])
        changes = await one.read(lambda tx: index_rows.changes_since(tx, OWNER, 9))

        assert changes is not None and changes.keys is None
        assert len(await found(ours, "apple")) == 10  # The most that one search returns.
        assert (await ours.list()).total == 12


@pytest.mark.thorough
async def test_uses_in_one_process_count_for_the_ranking_of_another(
    postgres: PostgresProcess,
) -> None:
    agent = "memory-uses@example.org"
    by_use = MemoryQuery(text="apple", mode=SearchMode.KEYWORD, sort_by=SortBy.IMPORTANCE)
    async with process(postgres, agent) as one, process(postgres, agent) as two:
        ours, theirs = one.for_owner(OWNER), two.for_owner(OWNER)
        await ours.add(MemoryDraft(content="apple a"))
        used = await ours.add(MemoryDraft(content="apple b"))
        await theirs.search(by_use)
        for _ in range(5):
            await ours.get(used.id)
        await one.access_counter.flush()

        assert (await theirs.search(by_use)).hits[0].entry.id == used.id


@pytest.mark.thorough
async def test_both_databases_return_the_same_results_in_the_same_order(
    postgres: PostgresProcess, tmp_path: Path
) -> None:
    drafts = [
        MemoryDraft(
            content=" ".join(WORDS[(number * step) % len(WORDS)] for step in (1, 2, 3, 5)),
            subject=f"person{number % 3}@localhost",
            tags=("even",) if number % 2 == 0 else (),
        )
        for number in range(60)
    ]
    queries = [
        MemoryQuery(text=text, mode=mode, limit=20, which=which)
        for text in ("who likes green tea", "sister Ana moved", "red bag")
        for mode in (SearchMode.KEYWORD, SearchMode.SEMANTIC, SearchMode.HYBRID, SearchMode.RECALL)
        for which in (MemoryFilter(), MemoryFilter(subject="person1@localhost", tags=("even",)))
    ]

    async def results(backend: SQLiteMemoryBackend | PostgresMemoryBackend) -> list[SearchResult]:
        store = backend.for_owner(OWNER)
        for number, draft in enumerate(drafts):
            await store.add(draft, key=str(number))
            await store.observe("c", [said(str(number), draft.content)], subject=draft.subject)
        await backend.wait_idle()
        return [await store.search(query) for query in queries]

    def ranking(result: SearchResult) -> list[tuple[str, float]]:
        return [(hit.entry.content, hit.score) for hit in result.hits]

    async with SQLiteMemoryBackend(
        tmp_path / "m.db", embedder=BagOfWords(), now=lambda: NOON
    ) as file:
        expected = await results(file)
    async with (
        PostgresServer(DatabaseUrl(postgres.url()), agent="memory-same@example.org") as server,
        PostgresMemoryBackend(server, embedder=BagOfWords(), now=lambda: NOON) as backend,
    ):
        given = await results(backend)

    assert [(one.outcome, ranking(one)) for one in given] == [
        (one.outcome, ranking(one)) for one in expected
    ]
    assert all(one.hits for one in expected)


@pytest.mark.thorough
async def test_a_server_that_restarts_costs_no_failure_and_one_that_is_gone_a_clear_one(
    own_postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with process(own_postgres, "memory-outage@example.org") as backend:
        store = backend.for_owner(OWNER)
        await store.add(MemoryDraft(content="apple 1"))
        own_postgres.shut_down()
        waiting = asyncio.create_task(store.add(MemoryDraft(content="apple 2")))
        done, _ = await asyncio.wait({waiting}, timeout=0.1)
        own_postgres.start()
        async with asyncio.timeout(PATIENCE_S):
            await waiting
        assert not done
        assert await found(store, "apple") == {"apple 1", "apple 2"}

        own_postgres.shut_down()
        for module in (postgres_module, postgres_connection):
            monkeypatch.setattr(module, "STATEMENT_TIMEOUT_S", 0.2)
        for failing in (store.add(MemoryDraft(content="apple 3")), store.list()):
            with pytest.raises(StorageFailed, match="the memory cannot be used"):
                await failing
        monkeypatch.undo()
        own_postgres.start()
        own_postgres.wait_until_ready()
        await store.add(MemoryDraft(content="apple 4"))

        assert await found(store, "apple") == {"apple 1", "apple 2", "apple 4"}


@pytest.mark.thorough
async def test_a_server_that_hangs_fails_reads_and_writes_at_their_deadline(
    own_postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with process(own_postgres, "memory-frozen@example.org") as backend:
        store = backend.for_owner(OWNER)
        await store.add(MemoryDraft(content="apple 1"))
        await found(store, "apple")
        own_postgres.signal(signal.SIGSTOP)
        monkeypatch.setattr(postgres_connection.BoundedConnection, "answer_timeout_s", 0.3)
        began = time.monotonic()
        outcomes = await asyncio.gather(
            *(store.add(MemoryDraft(content=f"pear {n}")) for n in range(20)),
            *(store.search(MemoryQuery(text="apple")) for _ in range(3)),
            return_exceptions=True,
        )
        seconds = time.monotonic() - began
        own_postgres.signal(signal.SIGCONT)
        monkeypatch.undo()

        assert {type(one).__mro__[1] for one in outcomes} == {StorageFailed}
        assert seconds < 5.0
        async with asyncio.timeout(PATIENCE_S):
            assert await found(store, "apple") == {"apple 1"}


@pytest.mark.thorough
async def test_a_killed_server_leaves_nothing_half_done_and_loses_nothing_acknowledged(
    own_postgres: PostgresProcess,
) -> None:
    acknowledged: set[str] = set()
    is_over, written = asyncio.Event(), asyncio.Semaphore(0)

    async def write(writer: int, store: OwnedMemory) -> None:
        number = 0
        while not is_over.is_set():
            texts = [f"apple {writer} {number} {half}" for half in ("a", "b")]
            with suppress(StorageFailed):
                await store.add_many([MemoryDraft(content=text) for text in texts])
                acknowledged.update(texts)
                written.release()
            number += 1

    async with process(own_postgres, "memory-killed@example.org") as backend:
        store = backend.for_owner(OWNER)
        writers = [asyncio.create_task(write(writer, store)) for writer in range(4)]
        for _ in range(3):
            async with asyncio.timeout(PATIENCE_S):
                for _ in range(20):
                    await written.acquire()
            await asyncio.to_thread(own_postgres.kill)
            own_postgres.start()
            await asyncio.to_thread(own_postgres.wait_until_ready)
        is_over.set()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*writers)
        kept = {content for (content,) in await backend.read(_contents)}

    assert acknowledged <= kept
    assert {text[:-1] + "a" for text in kept} == {text for text in kept if text.endswith("a")}
    assert {text[:-1] + "b" for text in kept} == {text for text in kept if text.endswith("b")}


def _contents(tx: Transaction) -> list[SqlRow]:
    return tx.all("SELECT content FROM entry")


@pytest.mark.thorough
async def test_what_is_forgotten_leaves_no_dead_row(postgres: PostgresProcess) -> None:
    agent = "memory-forgotten@example.org"
    async with process(postgres, agent) as backend:
        store = backend.for_owner(OWNER)
        entry = await store.add(MemoryDraft(content="the code is swordfish"))
        await store.forget([entry.id])
        async with await psycopg.AsyncConnection.connect(postgres.url()) as connection:
            size = await connection.execute(f"SELECT pg_relation_size('\"{agent}\".entry')")
            assert await size.fetchone() == (0,)


@pytest.mark.thorough
async def test_two_processes_that_write_the_same_at_once_store_it_once(
    postgres: PostgresProcess,
) -> None:
    agent = "memory-race@example.org"
    async with process(postgres, agent) as one, process(postgres, agent) as two:
        stores = [one.for_owner(OWNER), two.for_owner(OWNER)]
        await asyncio.gather(
            *(store.add(MemoryDraft(content=f"apple {n}")) for n in range(20) for store in stores)
        )

        assert (await stores[0].list()).total == 20


@pytest.mark.thorough
async def test_rows_of_a_search_are_read_by_their_numbers_and_not_by_their_owner(
    postgres: PostgresProcess,
) -> None:
    which: dict[str, SqlValue] = {"owner": OWNER, "now": 0, "entries": "[1, 2]"}
    async with process(postgres, "memory-plans@example.org") as backend:
        drafts = [MemoryDraft(content=f"apple {number}") for number in range(1000)]
        await backend.for_owner(OWNER).add_many(drafts)
        plan = await backend.read(lambda tx: tx.all(f"EXPLAIN {queries.SELECT_BY_KEYS}", which))

    assert "entry_pkey" in str(plan)


@pytest.mark.thorough
async def test_memories_in_a_file_are_not_lost_from_sight(
    postgres: PostgresProcess, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "memory.db"
    async with process(postgres, "memory-unused@example.org") as backend:
        await backend.check_unused_file(path)
        async with SQLiteMemoryBackend(path) as file:
            await backend.check_unused_file(path)
            await file.for_owner(OWNER).observe("c", [said("1")])
        with pytest.raises(ConfigurationError, match="storage move --to database"):
            await backend.check_unused_file(path)
        assert "is not used" not in caplog.text

        await backend.for_owner(OWNER).observe("c", [said("1")])
        await backend.check_unused_file(path)

        assert "is not used" in caplog.text
        path.write_bytes(b"no database" * 100)
        with pytest.raises(ConfigurationError, match="cannot be read"):
            await backend.check_unused_file(path)
